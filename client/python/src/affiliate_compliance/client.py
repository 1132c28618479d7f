"""The operations of the interface."""

import json
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, Unpack

from . import stream
from .models import (
    Affiliate,
    AffiliateCreate,
    AffiliateRosterItem,
    AffiliateUpdate,
    BatchSyncAffiliatesResponse,
    CaseFilters,
    Change,
    ComplianceCase,
    ComplianceUrl,
    Overview,
    UrlFilters,
    VocabularyNames,
)
from .transport import Token, Transport

# Records a page: the most there can be.
PER_PAGE = 200
# Bytes of a list that are read at once.
PART = 65536


@dataclass(frozen=True)
class Result:
    """What became of an item of a batch."""

    code: str
    """The result code, such as `1020` (saved) or `1023` (exists already)."""
    message: str
    """A sentence for people."""
    id: int | None
    """The ID of the affiliate or URL, if the result names it."""

    @property
    def ok(self) -> bool:
        return self.code == "1020"


class Client:
    """The interface of a service at `base`, such as `http://127.0.0.1:8080`, with or without `/api`, for the company of a token.

    Requests that had no response, or that the service asks to repeat (429, 503), are repeated up to `tries` times in all; waits
    follow `Retry-After`. All operations may be repeated: a creation whose response was lost is then reported as a duplicate. Times
    are in seconds; `read_timeout` is the longest pause within a response. A client may be used by one thread at a time.

    Raises `Invalid` for violations (422), `Changed` if a record has another etag (412), `Refused` for every other refusal, and
    `Unavailable` if there was no response.
    """

    def __init__(
        self, base: str, token: Token, *, connect_timeout: float = 5, read_timeout: float = 60, tries: int = 8
    ) -> None:
        self._transport = Transport(base, token, connect_timeout, read_timeout, tries)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._transport.session.close()

    def call(self, method: str, path: str, query: Mapping[str, Any] | None = None, body: Any = None) -> Any:
        """Any operation, such as `call("GET", "/api/cases/1")`: the JSON of its response."""
        return self._transport.call(method, path, query, body)[0]

    def affiliates(self) -> Iterator[Affiliate]:
        """All affiliates by ID, while they arrive. If the connection breaks, the list goes on after the last affiliate."""
        last = 0
        for attempt in self._transport.attempts():
            with attempt, self._transport.response("GET", "/api/affiliates", headers={"Accept": "application/x-ndjson"}) as response:
                stream.check_ndjson(response.headers)
                for line in response.iter_lines(PART):
                    affiliate: Affiliate = json.loads(line)
                    if affiliate["id"] > last:
                        last = affiliate["id"]
                        yield affiliate

    def affiliate(self, id: int) -> Affiliate:
        affiliate: Affiliate = self.call("GET", f"/api/affiliates/{id}")["data"]
        return affiliate

    def affiliate_with_etag(self, id: int) -> tuple[Affiliate, str]:
        """An affiliate, and the etag to change it with."""
        return self._with_etag(f"/api/affiliates/{id}")

    def affiliate_if_changed(self, id: int, etag: str) -> tuple[Affiliate, str] | None:
        """None if the affiliate still has this etag."""
        return self._if_changed(f"/api/affiliates/{id}", etag)

    def search_affiliates(self, text: str, limit: int | None = None) -> list[Affiliate]:
        """The first affiliates, by ID, whose name or client identifier contains a text: 20, or as many as `limit`, at most 50."""
        affiliates: list[Affiliate] = self.call("GET", "/api/affiliates:search", {"q": text, "limit": limit})["data"]
        return affiliates

    def create_affiliate(self, affiliate: AffiliateCreate) -> int:
        """The ID of the new affiliate. A name that exists is refused with the code `1023`."""
        return int(self.call("POST", "/api/affiliates", body=affiliate)["detail"]["affiliate_id"])

    def create_affiliates(self, affiliates: Sequence[AffiliateCreate]) -> list[Result]:
        """One result for each. Names that exist (`1023`) and country codes that do not (`1024`) fail alone."""
        return results(self.call("POST", "/api/affiliates", body={"affiliates": affiliates}) if affiliates else [])

    def update_affiliate(self, change: AffiliateUpdate, if_match: str | None = None) -> str:
        """Changes the fields that `change` has; None clears a field. Returns the affiliate's new etag.

        With the etag of the affiliate that was read as `if_match`, raises `Changed`, and saves nothing, if it has another one now.
        """
        headers = None if if_match is None else {"If-Match": if_match}
        return self._transport.call("PUT", f"/api/affiliates/{change['id']}", body=change, headers=headers)[1]

    def update_affiliates(self, changes: Sequence[AffiliateUpdate]) -> list[Result]:
        """One result for each, in their order. Unknown IDs (`1025`), names that are taken and country codes that do not exist
        (`1021`) fail alone. The first ID must be known."""
        if not changes:
            return []
        return results(self.call("PUT", f"/api/affiliates/{changes[0]['id']}", body={"affiliates": changes}))

    def sync_affiliates(
        self,
        roster: Sequence[AffiliateRosterItem],
        *,
        report_absent: bool = False,
        absent_status: str | None = None,
        max_absent: int | None = None,
        validate_only: bool = False,
    ) -> BatchSyncAffiliatesResponse:
        """Brings the affiliates up to date with a roster, which identifies them by `client_affiliate_id`. Items that are refused are
        among the results; they refuse no others. None clears a field. With `validate_only`, nothing is written. If more than `max_absent`
        affiliates (by default a tenth, at least 10) would get `absent_status`, nothing is changed: `Refused`, with the status 409."""
        options = {
            "report_absent": report_absent,
            "absent_status": absent_status,
            "max_absent": max_absent,
            "validate_only": validate_only,
        }
        body = {"affiliates": roster, **options}
        synced: BatchSyncAffiliatesResponse = self.call("POST", "/api/affiliates:sync", body=body)["data"]
        return synced

    def urls(self, *, per_page: int = PER_PAGE, **filters: Unpack[UrlFilters]) -> Iterator[ComplianceUrl]:
        """All URLs that match the filters, by ID ascending: those that are added meanwhile come last."""
        return self._pages("/api/urls", per_page, filters)

    def url(self, id: int) -> ComplianceUrl:
        url: ComplianceUrl = self.call("GET", f"/api/urls/{id}")["data"]
        return url

    def search_urls(self, text: str, limit: int | None = None) -> list[ComplianceUrl]:
        """The newest URLs that contain a text of at least three characters: 20, or as many as `limit`, at most 50."""
        urls: list[ComplianceUrl] = self.call("GET", "/api/urls:search", {"q": text, "limit": limit})["data"]
        return urls

    def add_urls(self, urls: Sequence[str]) -> list[Result]:
        """One result for each. A URL that exists is skipped (`1023`)."""
        return results(self.call("POST", "/api/urls", body={"urls": [{"url": url} for url in urls]}) if urls else [])

    def cases(self, *, per_page: int = PER_PAGE, **filters: Unpack[CaseFilters]) -> Iterator[ComplianceCase]:
        """All cases that match the filters, by ID ascending: those that are added meanwhile come last."""
        return self._pages("/api/cases", per_page, filters)

    def case(self, id: int) -> ComplianceCase:
        case: ComplianceCase = self.call("GET", f"/api/cases/{id}")["data"]
        return case

    def case_with_etag(self, id: int) -> tuple[ComplianceCase, str]:
        """A case, and the etag to compare it with later."""
        return self._with_etag(f"/api/cases/{id}")

    def case_if_changed(self, id: int, etag: str) -> tuple[ComplianceCase, str] | None:
        """None if the case still has this etag."""
        return self._if_changed(f"/api/cases/{id}", etag)

    def overview(self) -> Overview:
        """Figures of all records: what is open, overdue and new."""
        overview: Overview = self.call("GET", "/api/overview")["data"]
        return overview

    def vocabularies(self) -> list[VocabularyNames]:
        """The names that fields can have, with their IDs, which are those that filters take."""
        vocabularies: list[VocabularyNames] = self.call("GET", "/api/vocabularies")["data"]
        return vocabularies

    def changes(self, after: int = 0, types: Sequence[str] = ()) -> Iterator[Change]:
        """All changes after a position, as far as there are any: call it again with the position of the last one.

        Raises Refused (410) if changes that follow the position are no longer kept.
        """
        last = after + 1
        while after < last:
            query = {"after": after, "types": ",".join(types), "limit": 1000}
            page = self.call("GET", "/api/changes", query)["data"]
            yield from page["changes"]
            after, last = page["position"], page["last_position"]

    def watch_changes(self, after: int | None = None, types: Sequence[str] = ()) -> Iterator[Change]:
        """Changes as they are made, after a position or from now on, without an end. If the connection breaks, they go on after the
        last one.

        Raises Refused (410) if changes that follow the position are no longer kept.
        """
        last = None if after is None else str(after)
        while True:
            has_begun = False
            for attempt in self._transport.attempts():
                headers = {"Accept": "text/event-stream"} | ({} if last is None else {"Last-Event-ID": last})
                query = {"types": ",".join(types)}
                with attempt, self._transport.response("GET", "/api/changes", query, headers=headers) as response:
                    for last, page in stream.events(response.iter_lines()):
                        has_begun = True
                        yield from page["changes"] if page else []
                    raise stream.Incomplete("the events ended")
                if has_begun:
                    break
            # Those who watched an instance that stops do not come back all at once.
            time.sleep(random.uniform(0.5, 1.5))

    def _with_etag(self, path: str) -> tuple[Any, str]:
        body, etag = self._transport.call("GET", path)
        return body["data"], etag

    def _if_changed(self, path: str, etag: str) -> tuple[Any, str] | None:
        body, new = self._transport.call("GET", path, headers={"If-None-Match": etag})
        return None if body is None else (body["data"], new)

    def _pages(self, path: str, per_page: int, filters: Mapping[str, Any]) -> Iterator[Any]:
        number, last = 1, 1
        while number <= last:
            query = {**filters, "sort_by": "id", "sort_dir": "asc", "per_page": per_page, "page": number}
            page = self.call("GET", path, query)
            yield from page["data"]
            number, last = number + 1, page["meta"]["last_page"]


def results(items: list[dict[str, Any]]) -> list[Result]:
    return [
        Result(item["code"], item["detail"]["msg"], item["detail"].get("affiliate_id", item["detail"].get("url_id")))
        for item in items
    ]
