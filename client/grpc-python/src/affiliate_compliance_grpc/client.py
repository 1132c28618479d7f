"""Calls operations and opens streams, with tokens, deadlines and retries."""

import collections
import logging
import queue
import random
import re
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self, TypeAlias, TypeVar

import grpc
from google.protobuf.message import Message

from compliance.v1 import affiliate_sync_pb2, observations_pb2

from .channel import open_channel
from .errors import Refusal, refusal
from .operations import STREAMS, Operation, operations, position

Token: TypeAlias = str | Callable[[], str]
"""A token, or a function that returns a valid token. The client calls the function for each request."""

LOG = logging.getLogger("affiliate_compliance_grpc")

Item = TypeVar("Item", bound=Message)

# Status codes that the client retries. A stream that can resume also retries DEADLINE_EXCEEDED, but not twice in a row.
AGAIN = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED)
# Seconds before the second attempt. The wait doubles with each attempt, up to LONGEST_WAIT, with random jitter.
FIRST_WAIT = 0.1
LONGEST_WAIT = 5.0
# Observations per message. Batches of several hundred to two thousand are fastest.
OBSERVATIONS = 500
# Affiliates per sync message.
AFFILIATES = 1000
# Maximum size of a message with several items, in bytes. By default, the service accepts 64 MiB.
MESSAGE = 4 << 20
# Maximum number of unacknowledged chunks. The service saves one chunk while the next one is in transit.
CHUNKS = 2


# RFC 6750
TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")


def checked_token(text: str | None) -> str:
    """Returns the token without surrounding whitespace, such as a trailing newline. Errors never contain the token."""
    token = (text or "").strip()
    if not TOKEN.fullmatch(token):
        raise ValueError("the token is empty" if not token else "the token is invalid: it contains a space (omit `Bearer`), a line break or another invalid character")
    return token


def batches(items: Iterable[Item], most: int) -> Iterator[list[Item]]:
    """Yields the items in batches of at most `most` items and MESSAGE bytes. An item that is larger is alone in its batch."""
    batch: list[Item] = []
    size = 0
    for item in items:
        if batch and size + item.ByteSize() > MESSAGE:
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += item.ByteSize()
        if len(batch) == most:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


class Client:
    """Calls the service on behalf of a token's company. `target` is `host:port` or `https://host:port`.

    If the service is busy or unreachable, or the company exceeds its rate limit, the client retries the call. It makes at most `tries`
    attempts, which take more than a minute by default. `call` also stops after `deadline` seconds. A stream counts only attempts since the
    last message. If the service rejects a token from a function, the client calls the function again, and retries the call once. Threads
    can share a client.

    A failed call raises `Refusal`. Its `reason`, such as `ETAG_MISMATCH`, comes from the service. If `is_retry` is true, an earlier attempt may
    have made the change. Invalid addresses and tokens raise ValueError.
    """

    def __init__(self, target: str | grpc.Channel, token: Token, *, deadline: float = 60, tries: int = 30, **certificates: Any) -> None:
        self.channel = open_channel(target, **certificates) if isinstance(target, str) else target
        self._token = token if callable(token) else checked_token(token)
        self._deadline = deadline
        self._tries = tries
        self._operations = operations()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.channel.close()

    def call(self, request: Message, *, deadline: float | None = None) -> Any:
        """Calls the request's operation, and returns the response: a `ComplianceUrl` for a `GetComplianceUrlRequest`."""
        operation = self._operation(request, is_stream=False)
        send = self.channel.unary_unary(
            operation.path, request_serializer=type(request).SerializeToString, response_deserializer=operation.response.FromString
        )
        end = time.monotonic() + (self._deadline if deadline is None else deadline)
        attempts = Attempts(self._tries, callable(self._token))
        while True:
            try:
                return send(request, timeout=max(0, end - time.monotonic()), metadata=self._metadata())
            except grpc.RpcError as error:
                attempts.again(refusal(error), end)

    def messages(self, request: Message) -> Iterator[Any]:
        """Yields a stream's messages, and resumes the stream after a lost connection. To resume after your program restarts, save the last ID
        of each message. A stream that ends without an error is complete."""
        operation, stream = self._operation(request, is_stream=True), STREAMS[request.DESCRIPTOR.name]
        send = self.channel.unary_stream(
            operation.path, request_serializer=type(request).SerializeToString, response_deserializer=operation.response.FromString
        )
        request, last = type(request).FromString(request.SerializeToString()), -1
        attempts = Attempts(self._tries, callable(self._token))
        while True:
            try:
                # A list has no deadline. Keepalive detects a lost connection.
                for message in send(request, metadata=self._metadata()):
                    reached = position(message, stream.last)
                    # A list that always starts at its first record makes progress only with new records.
                    if stream.after or (reached is not None and reached > last):
                        attempts = Attempts(self._tries, callable(self._token))
                    if not stream.after:
                        received = [record for record in getattr(message, stream.records) if record.id <= last]
                        del getattr(message, stream.records)[: len(received)]
                    yield message
                    last = last if reached is None else max(last, reached)
                    if stream.after and last >= 0:
                        setattr(request, stream.after, last)
                return
            except grpc.RpcError as error:
                attempts.again(refusal(error))

    def records(self, request: Message) -> Iterator[Any]:
        """Yields a stream's records: affiliates for a `ListAffiliatesRequest`, pages of changes for a `WatchChangesRequest`."""
        for message in self.messages(request):
            records = getattr(message, STREAMS[request.DESCRIPTOR.name].records)
            yield from [records] if isinstance(records, Message) else records

    def observe(self, observations: Iterable[observations_pb2.UrlObservation]) -> Iterator[observations_pb2.ObservationResult]:
        """Saves observations as they arrive, and yields one result for each, in order."""
        for batch in batches(observations, OBSERVATIONS):
            yield from self.call(observations_pb2.ObserveUrlsRequest(observations=batch)).results

    def stream_observations(
        self, observations: Iterable[observations_pb2.UrlObservation]
    ) -> Iterator[observations_pb2.ObservationResult]:
        """Saves many observations over one stream, and yields one result for each, in order.

        After a lost connection, or when the service ends the stream at its time limit, resends unacknowledged observations on a new stream.
        Waits for 500 observations before it sends them. If your observations arrive slowly, use `observe`."""
        observed = batches(observations, OBSERVATIONS)
        send = self._exchange(observations_pb2.StreamUrlObservationsRequest)
        waiting: collections.deque[Message] = collections.deque()
        attempts = Attempts(self._tries, callable(self._token))
        while True:
            # gRPC's thread takes requests from this queue, so only the caller's thread uses the iterator. None ends the stream.
            requests: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
            stream = send(iter(requests.get, None), metadata=self._metadata())
            try:
                for request in waiting:
                    requests.put(request)
                while True:
                    while len(waiting) < CHUNKS and (batch := next(observed, None)):
                        waiting.append(observations_pb2.StreamUrlObservationsRequest(observations=batch))
                        requests.put(waiting[-1])
                    if not waiting:
                        requests.put(None)
                        # Only the service's status remains.
                        yield from stream
                        return
                    results = next(stream).results
                    waiting.popleft()
                    attempts = Attempts(self._tries, callable(self._token))
                    yield from results
            except grpc.RpcError as error:
                attempts.again(refusal(error))
            finally:
                requests.put(None)
                stream.cancel()

    def sync_affiliates(
        self,
        affiliates: Iterable[affiliate_sync_pb2.AffiliateSync],
        *,
        report_absent: bool = False,
        absent_status: str | None = None,
        max_absent: int | None = None,
        validate_only: bool = False,
    ) -> tuple[list[affiliate_sync_pb2.AffiliateSyncResult], list[affiliate_sync_pb2.AbsentAffiliate]]:
        """Updates the stored affiliates from a complete list. Returns one result per item and, on request, the absent affiliates.

        After a lost connection, resends the whole list."""
        chunks = [
            affiliate_sync_pb2.SyncAffiliatesRequest(affiliates=batch, validate_only=validate_only) for batch in batches(affiliates, AFFILIATES)
        ]
        last = affiliate_sync_pb2.SyncAffiliatesRequest(report_absent=report_absent, absent_status=absent_status, max_absent=max_absent)
        last.validate_only = validate_only
        send = self._exchange(affiliate_sync_pb2.SyncAffiliatesRequest)
        attempts = Attempts(self._tries, callable(self._token), resumes=False)
        while True:
            try:
                responses = list(send(iter([*chunks, last]), metadata=self._metadata()))
            except grpc.RpcError as error:
                attempts.again(refusal(error))
            else:
                results = [result for response in responses for result in response.results]
                return results, [absent for response in responses for absent in response.absent]

    def _exchange(self, request: type[Message]) -> grpc.StreamStreamMultiCallable:
        operation = self._operations[request.DESCRIPTOR.full_name]
        return self.channel.stream_stream(
            operation.path, request_serializer=request.SerializeToString, response_deserializer=operation.response.FromString
        )

    def _operation(self, request: Message, *, is_stream: bool) -> Operation:
        name = request.DESCRIPTOR.full_name
        operation = self._operations.get(name)
        if (
            operation is None
            or operation.takes_stream
            or operation.is_stream != is_stream
            or (is_stream and request.DESCRIPTOR.name not in STREAMS)
        ):
            raise TypeError(f"{name} is not a request for {'a stream of records' if is_stream else 'an operation with one response'}")
        return operation

    def _metadata(self) -> list[tuple[str, str]]:
        token = checked_token(self._token()) if callable(self._token) else self._token
        return [("authorization", f"Bearer {token}")]


class Attempts:
    """Counts a call's attempts, and waits between them."""

    def __init__(self, tries: int, may_renew: bool, *, resumes: bool = True) -> None:
        self.failed, self.tries, self.may_renew, self.may_resume = 0, tries, may_renew, resumes

    def again(self, refused: Refusal, end: float | None = None) -> None:
        """Waits before the next attempt, or raises the error."""
        if refused.code == grpc.StatusCode.UNAUTHENTICATED and self.may_renew:
            # The token may have expired in transit.
            self.may_renew = False
            return
        refused.is_retry = self.failed > 0
        self.failed += 1
        # The service ends a long stream at its own time limit. Without progress, another attempt would only end there again.
        is_over = refused.code == grpc.StatusCode.DEADLINE_EXCEEDED
        may_retry = self.may_resume if is_over else refused.code in AGAIN and not refused.is_permanent
        self.may_resume &= not is_over
        wait = refused.retry_after + min(FIRST_WAIT * 2 ** (self.failed - 1), LONGEST_WAIT) * random.uniform(0.5, 1)
        is_late = end is not None and time.monotonic() + wait >= end
        if not may_retry or self.failed >= self.tries or is_late:
            raise refused from None
        LOG.info("%s; retrying in %.1f s", refused, wait)
        time.sleep(wait)
