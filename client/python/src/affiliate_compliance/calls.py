"""Implements the shared parts of operations: reads, writes, pages and batch results."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .transport import Transport

# Maximum number of records per page.
PER_PAGE = 200
# Parameters that the client sets to read a whole list.
PAGING = ("sort_by", "sort_dir", "per_page", "page")


@dataclass(frozen=True)
class Result:
    """The outcome of a batch item."""

    code: str
    """The result code, such as `1020` (saved) or `1023` (already exists)."""
    message: str
    """The outcome, as a sentence."""
    id: int | None
    """The ID of the affiliate, URL or incident, if the result contains one."""

    @property
    def ok(self) -> bool:
        return self.code == "1020"


class Calls:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def _get(self, path: str, query: Mapping[str, Any] | None = None) -> Any:
        """Reads a path, and returns its data."""
        return self._transport.call("GET", path, query)[0]["data"]

    def _write(self, method: str, path: str, body: Any = None, if_match: str | None = None) -> tuple[Any, str]:
        """Calls any other operation. Returns the response and the changed record's etag."""
        headers = None if if_match is None else {"If-Match": if_match}
        return self._transport.call(method, path, body=body, headers=headers)

    def _with_etag(self, path: str) -> tuple[Any, str]:
        body, etag = self._transport.call("GET", path)
        return body["data"], etag

    def _if_changed(self, path: str, etag: str) -> tuple[Any, str] | None:
        body, new = self._transport.call("GET", path, headers={"If-None-Match": etag})
        return None if body is None else (body["data"], new)

    def _pages(self, path: str, per_page: int, filters: Mapping[str, Any]) -> Iterator[Any]:
        check_filters(filters)
        number, last = 1, 1
        while number <= last:
            query = {**filters, "sort_by": "id", "sort_dir": "asc", "per_page": per_page, "page": number}
            page, _ = self._transport.call("GET", path, query)
            yield from page["data"]
            number, last = number + 1, page["meta"]["last_page"]

    def _batch(self, method: str, path: str, body: Mapping[str, Any]) -> list[Result]:
        """Returns one result per item. Sends no request for an empty list."""
        if not any(body.values()):
            return []
        items, _ = self._write(method, path, body)
        return [Result(item["code"], item["detail"]["msg"], id_of(item["detail"])) for item in items]


def check_filters(filters: Mapping[str, Any]) -> None:
    """Raises `TypeError` if the filters contain parameters for a single page."""
    if found := [name for name in PAGING if name in filters]:
        raise TypeError(
            f"this method reads the whole list by ascending ID, without {', '.join(found)}. To read a single page, use "
            'call("GET", "/urls", {"sort_by": "last_seen", "page": 1}), with the path of your list'
        )


def id_of(detail: Mapping[str, Any]) -> int | None:
    return next((detail[name] for name in ("affiliate_id", "url_id", "incident_id") if name in detail), None)
