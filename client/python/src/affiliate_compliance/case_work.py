"""Operations on URLs and cases. All changes except adding URLs need the scope `cases`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Unpack

from .calls import PER_PAGE, Calls, Result
from .models import (
    CaseClose,
    CaseFilters,
    CaseOpen,
    CaseReopen,
    CaseResolve,
    CaseUpdate,
    ComplianceCase,
    ComplianceUrl,
    IncidentItem,
    IncidentKey,
    UrlFilters,
    UrlInput,
    UrlReview,
)


class CaseWork(Calls):
    def urls(self, *, per_page: int = PER_PAGE, **filters: Unpack[UrlFilters]) -> Iterator[ComplianceUrl]:
        """Yields all URLs that match the filters, by ascending ID. URLs added during the call come last."""
        return self._pages("/api/urls", per_page, filters)

    def url(self, id: int, *, as_of: str | None = None) -> ComplianceUrl:
        """Returns a URL as it is now or, with `as_of` (`YYYY-MM-DD HH:MM:SS`, UTC), as it was at the end of that second."""
        url: ComplianceUrl = self._get(f"/api/urls/{id}", {"as_of": as_of})
        return url

    def url_with_etag(self, id: int) -> tuple[ComplianceUrl, str]:
        """Returns a URL and its etag."""
        return self._with_etag(f"/api/urls/{id}")

    def url_if_changed(self, id: int, etag: str) -> tuple[ComplianceUrl, str] | None:
        """Returns the URL and its etag, or None if the URL still has this etag."""
        return self._if_changed(f"/api/urls/{id}", etag)

    def search_urls(self, text: str, limit: int | None = None) -> list[ComplianceUrl]:
        """Returns the newest URLs that contain a text of at least three characters. `limit` is 20 by default, and at most 50."""
        urls: list[ComplianceUrl] = self._get("/api/urls:search", {"q": text, "limit": limit})
        return urls

    def add_urls(self, urls: Iterable[str | UrlInput]) -> list[Result]:
        """Adds URLs, and returns one result per URL. A URL is a string, or an object with the key `url`. The service skips existing URLs (`1023`)."""
        if isinstance(urls, (str, Mapping)):
            raise TypeError("add_urls takes a list of URLs, not a single URL")
        items: list[Any] = [{"url": url} if isinstance(url, str) else url for url in urls]
        for index, item in enumerate(items):
            if not isinstance(item, Mapping):
                raise TypeError(f"add_urls takes strings, or objects with the key url, but item {index} is {type(item).__name__}")
        return self._batch("POST", "/api/urls", {"urls": items})

    def review_url(self, id: int, review: UrlReview, if_match: str | None = None) -> str:
        """Saves a review: changes the fields in `review`. `infractions` replaces all of the URL's infractions. Returns the URL's new etag.

        If the URL no longer has the etag `if_match`, raises `Changed` and saves nothing.
        """
        return self._write("PATCH", f"/api/urls/{id}", review, if_match)[1]

    def cases(self, *, per_page: int = PER_PAGE, **filters: Unpack[CaseFilters]) -> Iterator[ComplianceCase]:
        """Yields all cases that match the filters, by ascending ID. Cases opened during the call come last."""
        return self._pages("/api/cases", per_page, filters)

    def case(self, id: int, *, as_of: str | None = None) -> ComplianceCase:
        """Returns a case as it is now or, with `as_of` (`YYYY-MM-DD HH:MM:SS`, UTC), as it was at the end of that second."""
        case: ComplianceCase = self._get(f"/api/cases/{id}", {"as_of": as_of})
        return case

    def case_with_etag(self, id: int) -> tuple[ComplianceCase, str]:
        """Returns a case and its etag."""
        return self._with_etag(f"/api/cases/{id}")

    def case_if_changed(self, id: int, etag: str) -> tuple[ComplianceCase, str] | None:
        """Returns the case and its etag, or None if the case still has this etag."""
        return self._if_changed(f"/api/cases/{id}", etag)

    def open_case(self, opening: CaseOpen) -> int:
        """Opens a case, and returns its ID. A call with the same `request_id` returns the same case."""
        return int(self._write("POST", "/api/cases", opening)[0]["detail"]["case_id"])

    def update_case(self, id: int, change: CaseUpdate, if_match: str | None = None) -> str:
        """Changes the fields in `change`; None clears a field. Returns the case's new etag.

        If the case no longer has the etag `if_match`, raises `Changed` and saves nothing.
        """
        return self._write("PATCH", f"/api/cases/{id}", change, if_match)[1]

    def resolve_case(self, id: int, fields: CaseResolve | None = None, if_match: str | None = None) -> str:
        """Sets the status Resolved. Returns the case's etag."""
        return self._move(id, "resolve", fields, if_match)

    def close_case(self, id: int, fields: CaseClose | None = None, if_match: str | None = None) -> str:
        """Sets the status Closed, or another final status. Returns the case's etag."""
        return self._move(id, "close", fields, if_match)

    def reopen_case(self, id: int, fields: CaseReopen | None = None, if_match: str | None = None) -> str:
        """Sets the status Open, or another status that is not final. Returns the case's etag."""
        return self._move(id, "reopen", fields, if_match)

    def attach_incidents(self, id: int, incidents: Sequence[IncidentItem]) -> list[Result]:
        """Returns one result per incident. Invalid incidents (`1021`) and unknown URLs (`1025`) do not affect other incidents."""
        return self._batch("POST", f"/api/cases/{id}/incidents", {"incidents": incidents})

    def detach_incidents(self, id: int, incidents: Sequence[IncidentKey]) -> list[Result]:
        """Returns one result per incident. Incidents that were not attached count as detached."""
        return self._batch("POST", f"/api/cases/{id}/incidents:detach", {"incidents": incidents})

    def _move(self, id: int, action: str, fields: Mapping[str, Any] | None, if_match: str | None) -> str:
        return self._write("POST", f"/api/cases/{id}/{action}", fields or {}, if_match)[1]
