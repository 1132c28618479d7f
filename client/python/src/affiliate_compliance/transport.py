"""Sends requests, with a token, timeouts, retries and typed errors."""

import json
import logging
import random
import re
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from importlib.metadata import version
from typing import Any, TypeAlias
from urllib.parse import unquote_plus

import requests
from requests.auth import AuthBase

from .errors import Changed, Invalid, Refused, Unavailable
from .stream import Incomplete

Token: TypeAlias = str | Callable[[], str]
"""A token, or a function that returns a valid token. The client calls the function for each request."""

Headers: TypeAlias = Mapping[str, str]

# Status codes that the client retries. Only proxies send 502.
AGAIN = {429, 502, 503, 504}
# TLS errors of a port without TLS and of an invalid certificate. The client retries after other errors, for example if a proxy restarts.
PERMANENT = ("WRONG_VERSION_NUMBER", "CERTIFICATE_VERIFY_FAILED")
# Seconds before the second attempt. The wait doubles with each attempt, up to LONGEST_WAIT, with random jitter.
FIRST_WAIT = 0.25
LONGEST_WAIT = 30.0
# Longest `Retry-After` to obey, in seconds. If the service asks for a longer wait, the client raises the error.
LONGEST_RETRY_AFTER = 300.0
WORKBOOK = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
# Maximum characters of a proxy's response to show in an error.
SHOWN = 200

LOG = logging.getLogger("affiliate_compliance")

BROKEN = (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError, requests.exceptions.ContentDecodingError)


# RFC 6750
TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")
# Host, port and path
ADDRESS = re.compile(r"https?://([^][\s:/?#@]+|\[[^][\s/?#@]+])(:\d*)?(/[^\s?#]*)?", re.IGNORECASE)


def checked_token(text: object) -> str:
    """Returns the token without surrounding whitespace, such as a trailing newline. Errors never contain the token."""
    if not isinstance(text, str):
        raise ValueError(f"the token is a {type(text).__name__}, not a string or a function")
    token = text.strip()
    if token.lower().startswith("bearer "):
        raise ValueError("the token is invalid: remove the prefix Bearer")
    if not TOKEN.fullmatch(token):
        raise ValueError("the token is empty" if not token else "the token is invalid: it contains a space, a line break or another invalid character")
    return token


class Bearer(AuthBase):
    """Sends the token as `auth`, because `requests` prefers a password from ~/.netrc to a header."""

    def __init__(self, token: Token) -> None:
        self.token = token if callable(token) else checked_token(token)

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        token = checked_token(self.token()) if callable(self.token) else self.token
        request.headers["Authorization"] = f"Bearer {token}"
        return request


class Transport:
    def __init__(self, base: str, token: Token, connect_timeout: float, read_timeout: float, tries: int) -> None:
        self.base = checked_base(base)
        self.timeouts = (connect_timeout, read_timeout)
        self.tries = tries
        self.session = requests.Session()
        self.session.auth = Bearer(token)
        self.session.headers["User-Agent"] = f"affiliate-compliance-python/{version('affiliate-compliance')}"
        self.session.headers["Accept"] = "application/json"

    def attempts(self) -> Iterator["Attempt"]:
        """Yields a request's attempts, with waits between them. Raises the last attempt's error."""
        logged = ""
        for number in range(1, self.tries + 1):
            attempt = Attempt(self.base)
            yield attempt
            if attempt.problem is None:
                return
            if number == self.tries or attempt.retry_after > LONGEST_RETRY_AFTER:
                raise attempt.problem
            backoff = min(FIRST_WAIT * 2 ** (number - 1), LONGEST_WAIT) * random.uniform(0.5, 1)
            wait = max(backoff, attempt.retry_after)
            if logged != str(attempt.problem):
                logged = str(attempt.problem)
                LOG.info("%s; retrying", logged)
            time.sleep(wait)

    def call(
        self, method: str, path: str, query: Mapping[str, Any] | None = None, body: Any = None, headers: Headers | None = None
    ) -> tuple[Any, str]:
        """Returns the response's JSON (None for 304, an unchanged record) and its `ETag`, which can be empty."""
        result: tuple[Any, str] = (None, "")
        for attempt in self.attempts():
            with attempt, self.response(method, path, query, body, headers) as response:
                result = (None if response.status_code == 304 else response.json(), response.headers.get("ETag", ""))
        return result

    @contextmanager
    def response(
        self, method: str, path: str, query: Mapping[str, Any] | None = None, body: Any = None, headers: Headers | None = None
    ) -> Iterator[requests.Response]:
        """Yields a successful response with an unread body."""
        with closing(self.send(method, path, query, body, headers)) as response:
            if response.status_code == 401 and callable(getattr(self.session.auth, "token", None)):
                # The token may have expired in transit.
                response.close()
                with closing(self.send(method, path, query, body, headers)) as again:
                    yield checked(again)
                return
            yield checked(response)

    def send(
        self, method: str, path: str, query: Mapping[str, Any] | None, body: Any, headers: Headers | None
    ) -> requests.Response:
        try:
            # A redirect would turn a PUT into a GET.
            response = self.session.request(
                method,
                self.base + path_of(path),
                params={name: text_of(value) for name, value in (query or {}).items()},
                json=None if isinstance(body, bytes) else body,
                data=body if isinstance(body, bytes) else None,
                headers=kind_of(body) | dict(headers or {}),
                timeout=self.timeouts,
                stream=True,
                allow_redirects=False,
            )
            warn_of_ignored(method, path, response.headers)
            return response
        except requests.exceptions.SSLError as error:
            why = sentence(error)
            if not any(code in why for code in PERMANENT):
                raise
            advice = ": the port seems to use http, not https" if "WRONG_VERSION_NUMBER" in why else ""
            raise Unavailable(f"no secure connection to {self.base}: {why}{advice}") from error
        except BROKEN:
            raise
        except requests.RequestException as error:
            raise Unavailable(sentence(error)) from error


class Attempt:
    """An attempt to send a request. Keeps the error if another attempt can succeed."""

    def __init__(self, base: str) -> None:
        self.base = base
        self.problem: Refused | Unavailable | None = None
        self.retry_after = 0.0

    def __enter__(self) -> "Attempt":
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if isinstance(error, Busy):
            self.problem, self.retry_after = error.refused, error.retry_after
        # A truncated body is not valid JSON, or not even valid text.
        elif isinstance(error, (*BROKEN, requests.exceptions.JSONDecodeError, json.JSONDecodeError, UnicodeDecodeError, Incomplete)):
            # Some networks drop the names of services that restart, so another attempt can succeed.
            what = f"the host of {self.base} does not exist" if is_unknown_host(error) else f"no complete response from {self.base}"
            self.problem = Unavailable(f"{what}: {sentence(error)}")
            self.problem.__cause__ = error
        return self.problem is not None


class Busy(Exception):
    """The service is busy, and the client can retry the request."""

    def __init__(self, refused: Refused, retry_after: float) -> None:
        super().__init__(str(refused))
        self.refused = refused
        self.retry_after = retry_after


def warn_of_ignored(method: str, path: str, headers: Headers) -> None:
    """Logs the names that the service ignored, such as typos."""
    for what, header in (("fields", "X-Ignored-Fields"), ("parameters", "X-Ignored-Parameters")):
        if names := headers.get(header):
            LOG.warning("%s %s: the service ignored these %s: %s", method, path, what, unquote_plus(names))


def checked(response: requests.Response) -> requests.Response:
    if response.status_code in (200, 201, 207, 304):
        return response
    refused = refusal(response)
    if response.status_code in AGAIN:
        raise Busy(refused, seconds(response.headers.get("Retry-After")))
    raise refused


def refusal(response: requests.Response) -> Refused:
    request_id = response.headers.get("X-Request-Id")
    kind = Changed if response.status_code == 412 else Refused
    try:
        body = response.json()
        if response.status_code == 422:
            return Invalid(body["message"], body["errors"], request_id)
        return kind(response.status_code, body["code"], body["detail"]["msg"], request_id, body["detail"])
    except (ValueError, KeyError, TypeError):
        return kind(response.status_code, None, response.text[:SHOWN] or response.reason, request_id)


def seconds(retry_after: str | None) -> float:
    """Returns the wait from a `Retry-After` header, which contains seconds or a date. Returns 0 if the header is invalid."""
    text = (retry_after or "").strip()
    if text.isdecimal():
        return float(text)
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return 0.0
    return max(0.0, (date.replace(tzinfo=date.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


def checked_base(base: str) -> str:
    """Returns the service's address without `/api`, which `path_of` adds. Errors never contain the address, because it can be a misplaced token."""
    base = base.strip() if isinstance(base, str) else ""
    if not ADDRESS.fullmatch(base):
        raise ValueError("the address is not a valid service URL, such as https://compliance.example. It must not contain a user name, query or fragment")
    return base.rstrip("/").removesuffix("/api").rstrip("/")


def kind_of(body: Any) -> dict[str, str]:
    """Returns the content type of a file. `requests` sets the content type of JSON."""
    if not isinstance(body, bytes):
        return {}
    return {"Content-Type": WORKBOOK if body.startswith(b"PK\x03\x04") else "text/csv"}


def text_of(value: Any) -> Any:
    """Returns a query value in the form that the service reads. `requests` would send `True`."""
    if isinstance(value, (list, tuple)):
        return [text_of(one) for one in value]
    return str(value).lower() if isinstance(value, bool) else value


def path_of(path: str) -> str:
    """Returns the path with the prefix `/api`, which callers can omit."""
    path = f"/{path.lstrip('/')}"
    return path if path.startswith("/api/") else f"/api{path}"


def cause(error: BaseException) -> BaseException:
    """Returns the innermost cause. `requests` wraps it in class and object names."""
    causes = (getattr(error, "reason", None), error.__cause__, *error.args)
    found = next((found for found in causes if isinstance(found, Exception)), None)
    return cause(found) if found else error


def is_unknown_host(error: BaseException) -> bool:
    found = cause(error)
    return isinstance(found, socket.gaierror) and found.errno == socket.EAI_NONAME


def sentence(error: BaseException) -> str:
    found = cause(error)
    return getattr(found, "strerror", None) or str(found) or type(found).__name__
