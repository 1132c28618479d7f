"""The operations of the interface."""

import json
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

from . import stream
from .calls import Result
from .case_work import CaseWork
from .models import (
    Affiliate,
    AffiliateCreate,
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

# Bytes of a list that are read at once.
PART = 65536


class Client(CaseWork):
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
        super().__init__(Transport(base, token, connect_timeout, read_timeout, tries))
        self.webhooks = Webhooks(self._transport)

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

    def affiliate(self, id: int, *, as_of: str | None = None) -> Affiliate:
        """An affiliate, as it is or as it was at the end of the second `as_of` (`YYYY-MM-DD HH:MM:SS`, UTC)."""
        affiliate: Affiliate = self._get(f"/api/affiliates/{id}", {"as_of": as_of})
        return affiliate

    def affiliate_with_etag(self, id: int) -> tuple[Affiliate, str]:
        """An affiliate, and the etag to change it with."""
        return self._with_etag(f"/api/affiliates/{id}")

    def affiliate_if_changed(self, id: int, etag: str) -> tuple[Affiliate, str] | None:
        """None if the affiliate still has this etag."""
        return self._if_changed(f"/api/affiliates/{id}", etag)

    def search_affiliates(self, text: str, limit: int | None = None) -> list[Affiliate]:
        """The first affiliates, by ID, whose name or client identifier contains a text: 20, or as many as `limit`, at most 50."""
        affiliates: list[Affiliate] = self._get("/api/affiliates:search", {"q": text, "limit": limit})
        return affiliates

    def create_affiliate(self, affiliate: AffiliateCreate) -> int:
        """The ID of the new affiliate. A name that exists is refused with the code `1023`."""
        return int(self._write("POST", "/api/affiliates", affiliate)[0]["detail"]["affiliate_id"])

    def create_affiliates(self, affiliates: Sequence[AffiliateCreate]) -> list[Result]:
        """One result for each. Names that exist (`1023`) and country codes that do not (`1024`) fail alone."""
        return self._batch("POST", "/api/affiliates", {"affiliates": affiliates})

    def update_affiliate(self, change: AffiliateUpdate, if_match: str | None = None) -> str:
        """Changes the fields that `change` has; None clears a field. Returns the affiliate's new etag.

        With the etag of the affiliate that was read as `if_match`, raises `Changed`, and saves nothing, if it has another one now.
        """
        return self._write("PUT", f"/api/affiliates/{change['id']}", change, if_match)[1]

    def update_affiliates(self, changes: Sequence[AffiliateUpdate]) -> list[Result]:
        """One result for each, in their order. Unknown IDs (`1025`), names that are taken and country codes that do not exist
        (`1021`) fail alone. The first ID must be known."""
        first = changes[0]["id"] if changes else None
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
        synced: BatchSyncAffiliatesResponse = self._write("POST", "/api/affiliates:sync", body)[0]["data"]
        return synced

    def erase_affiliate(self, id: int, if_match: str | None = None) -> EraseAffiliateResponse:
        """Removes an affiliate for good, with its URLs, its cases and its personal data. Returns how many records were erased besides
        it. The token needs the scope `erase`. If the response was lost and the request repeated, the affiliate is unknown: `Refused`,
        with the status 404."""
        erased: EraseAffiliateResponse = self._write("DELETE", f"/api/affiliates/{id}", if_match=if_match)[0]["data"]
        return erased

    def overview(self) -> Overview:
        """Figures of all records: what is open, overdue and new."""
        overview: Overview = self._get("/api/overview")
        return overview

    def vocabularies(self) -> list[VocabularyNames]:
        """The names that fields can have, with their IDs, which are those that filters take."""
        vocabularies: list[VocabularyNames] = self._get("/api/vocabularies")
        return vocabularies

    def changes(self, after: int = 0, types: Sequence[str] = ()) -> Iterator[Change]:
        """All changes after a position, as far as there are any: call it again with the position of the last one.

        Raises Refused (410) if changes that follow the position are no longer kept.
        """
        last = after + 1
        while after < last:
            query = {"after": after, "types": ",".join(types), "limit": 1000}
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
        """Who has changed what, newest first, as far back as changes are kept. `from_` and `to` are seconds (`YYYY-MM-DD HH:MM:SS`, UTC).
        The token needs the scope `audit`."""
        filters = {"resource": resource, "id": id, "subject": subject, "request_id": request_id, "from": from_, "to": to}
        before = None
        while True:
            page = self._get("/api/audit", {**filters, "before": before, "limit": 1000})
            yield from page["changes"]
            before = page["next"]
            if before is None:
                return

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
