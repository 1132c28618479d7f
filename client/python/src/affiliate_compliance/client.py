"""Implements the client, with every operation of the interface."""

import json
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self, Unpack

from . import stream
from .calls import Result, check_filters
from .case_work import CaseWork
from .models import (
    Affiliate,
    AffiliateCreate,
    AffiliateFilters,
    AffiliateRosterItem,
    AffiliateUpdate,
    BatchSyncAffiliatesResponse,
    Change,
    EraseAffiliateResponse,
    Overview,
    VocabularyNames,
)
from .transport import Token, Transport
from .webhooks import Webhooks

# Bytes to read at a time from a list.
PART = 65536


class Client(CaseWork):
    """A client for the token's company. `base` is the service's address, such as `http://127.0.0.1:8080`, with or without `/api`.

    If the service does not respond, or responds with 429 or 503, the client makes up to `tries` attempts. It obeys `Retry-After`. All
    operations are safe to retry: if the response to a create was lost, the next attempt reports a duplicate. Times are in seconds.
    `read_timeout` is the maximum pause within a response. Use a client in only one thread at a time.

    Raises `Invalid` for violations (422), `Changed` if the record has a different etag (412), `Refused` for every other service error,
    and `Unavailable` if no response arrives. Raises `ValueError` for an invalid address or token.
    """

    def __init__(
        self, base: str, token: Token, *, connect_timeout: float = 5, read_timeout: float = 60, tries: int = 8
    ) -> None:
        super().__init__(Transport(base, token, connect_timeout, read_timeout, tries))
        self.webhooks = Webhooks(self._transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._transport.session.close()

    def call(self, method: str, path: str, query: Mapping[str, Any] | None = None, body: Any = None) -> Any:
        """Calls any operation, such as `call("GET", "/cases/1")`, and returns the response's JSON. The path can begin with `/api`. Sends a `bytes`
        body as a CSV file or a workbook."""
        return self._transport.call(method, path, query, body)[0]

    def affiliates(self, **filters: Unpack[AffiliateFilters]) -> Iterator[Affiliate]:
        """Yields all affiliates that match the filters as they arrive, by ascending ID. Resumes after a lost connection."""
        check_filters(filters)
        last = 0
        headers = {"Accept": "application/x-ndjson"}
        for attempt in self._transport.attempts():
            with attempt, self._transport.response("GET", "/api/affiliates", filters, headers=headers) as response:
                stream.check_ndjson(response.headers)
                for line in response.iter_lines(PART):
                    affiliate: Affiliate = json.loads(line)
                    if affiliate["id"] > last:
                        last = affiliate["id"]
                        yield affiliate

    def affiliate(self, id: int, *, as_of: str | None = None) -> Affiliate:
        """Returns an affiliate as it is now or, with `as_of` (`YYYY-MM-DD HH:MM:SS`, UTC), as it was at the end of that second."""
        affiliate: Affiliate = self._get(f"/api/affiliates/{id}", {"as_of": as_of})
        return affiliate

    def affiliate_with_etag(self, id: int) -> tuple[Affiliate, str]:
        """Returns an affiliate and its etag."""
        return self._with_etag(f"/api/affiliates/{id}")

    def affiliate_if_changed(self, id: int, etag: str) -> tuple[Affiliate, str] | None:
        """Returns the affiliate and its etag, or None if the affiliate still has this etag."""
        return self._if_changed(f"/api/affiliates/{id}", etag)

    def search_affiliates(self, text: str, limit: int | None = None) -> list[Affiliate]:
        """Returns affiliates whose name or client identifier contains a text, by ascending ID. `limit` is 20 by default, and at most 50."""
        affiliates: list[Affiliate] = self._get("/api/affiliates:search", {"q": text, "limit": limit})
        return affiliates

    def create_affiliate(self, affiliate: AffiliateCreate) -> int:
        """Creates an affiliate, and returns its ID. An existing name raises `Refused` with the code `1023`."""
        return int(self._write("POST", "/api/affiliates", affiliate)[0]["detail"]["affiliate_id"])

    def create_affiliates(self, affiliates: Sequence[AffiliateCreate]) -> list[Result]:
        """Returns one result per item. Existing names (`1023`) and unknown country codes (`1024`) do not affect other items."""
        return self._batch("POST", "/api/affiliates", {"affiliates": affiliates})

    def update_affiliate(self, change: AffiliateUpdate, if_match: str | None = None) -> str:
        """Changes the fields in `change`; None clears a field. Returns the affiliate's new etag.

        If the affiliate no longer has the etag `if_match`, raises `Changed` and saves nothing.
        """
        if not isinstance(change, Mapping):
            raise TypeError("update_affiliate takes one dict that contains the ID: update_affiliate({'id': 1, 'city': 'Bern'})")
        return self._write("PUT", f"/api/affiliates/{change.get('id')}", change, if_match)[1]

    def update_affiliates(self, changes: Sequence[AffiliateUpdate]) -> list[Result]:
        """Returns one result per item, in order. Unknown IDs (`1025`), taken names and unknown country codes (`1021`) do not affect other
        items. The first ID must exist."""
        first = changes[0].get("id") if changes else None
        return self._batch("PUT", f"/api/affiliates/{first}", {"affiliates": changes})

    def sync_affiliates(
        self,
        roster: Sequence[AffiliateRosterItem],
        *,
        report_absent: bool = False,
        absent_status: str | None = None,
        max_absent: int | None = None,
        validate_only: bool = False,
    ) -> BatchSyncAffiliatesResponse:
        """Updates the affiliates from a list, which identifies them by `client_affiliate_id`. Refused items appear in the results, and
        do not affect others. None clears a field. With `validate_only`, the service saves nothing. If more than `max_absent`
        affiliates (by default a tenth, at least 10) would receive `absent_status`, nothing changes, and the call raises `Refused` (409)."""
        options = {
            "report_absent": report_absent,
            "absent_status": absent_status,
            "max_absent": max_absent,
            "validate_only": validate_only,
        }
        body = {"affiliates": roster, **options}
        synced: BatchSyncAffiliatesResponse = self._write("POST", "/api/affiliates:sync", body)[0]["data"]
        return synced

    def erase_affiliate(self, id: int, if_match: str | None = None) -> EraseAffiliateResponse:
        """Erases an affiliate with its URLs, cases and personal data, and returns how many other records the service erased.

        The token needs the scope `erase`. If the first response was lost, the next attempt raises `Refused` (404).
        """
        erased: EraseAffiliateResponse = self._write("DELETE", f"/api/affiliates/{id}", if_match=if_match)[0]["data"]
        return erased

    def overview(self) -> Overview:
        """Returns the counts of open, overdue and new records."""
        overview: Overview = self._get("/api/overview")
        return overview

    def vocabularies(self) -> list[VocabularyNames]:
        """Returns the allowed names for fields, with their IDs for filters."""
        vocabularies: list[VocabularyNames] = self._get("/api/vocabularies")
        return vocabularies

    def changes(self, after: int = 0, types: str | Sequence[str] = ()) -> Iterator[Change]:
        """Yields all changes after a position. To continue later, pass the position of the last change.

        Raises `Refused` (410) if the service no longer keeps the changes after the position.
        """
        last = after + 1
        while after < last:
            query = {"after": after, "types": _types(types), "limit": 1000}
            page = self._get("/api/changes", query)
            yield from page["changes"]
            after, last = page["position"], page["last_position"]

    def audit(
        self,
        *,
        resource: str | None = None,
        id: int | None = None,
        subject: str | None = None,
        request_id: str | None = None,
        from_: str | None = None,
        to: str | None = None,
    ) -> Iterator[Change]:
        """Yields changes with their authors, newest first, as far back as the service keeps changes. `from_` and `to` are times
        (`YYYY-MM-DD HH:MM:SS`, UTC). The token needs the scope `audit`."""
        filters = {"resource": resource, "id": id, "subject": subject, "request_id": request_id, "from": from_, "to": to}
        before = None
        while True:
            page = self._get("/api/audit", {**filters, "before": before, "limit": 1000})
            yield from page["changes"]
            before = page["next"]
            if before is None:
                return

    def watch_changes(self, after: int | None = None, types: str | Sequence[str] = ()) -> Iterator[Change]:
        """Yields changes as they happen, after a position or from now on. Never ends, and resumes after a lost connection.

        Raises `Refused` (410) if the service no longer keeps the changes after the position.
        """
        last = None if after is None else str(after)
        while True:
            has_begun = False
            for attempt in self._transport.attempts():
                headers = {"Accept": "text/event-stream"} | ({} if last is None else {"Last-Event-ID": last})
                query = {"types": _types(types)}
                with attempt, self._transport.response("GET", "/api/changes", query, headers=headers) as response:
                    for last, page in stream.events(response.iter_lines()):
                        has_begun = True
                        yield from page["changes"] if page else []
                    raise stream.Incomplete("the event stream ended")
                if has_begun:
                    break
            # The jitter prevents all clients of a stopped instance from reconnecting at the same time.
            time.sleep(random.uniform(0.5, 1.5))


def _types(types: str | Sequence[str]) -> str:
    return types if isinstance(types, str) else ",".join(types)
