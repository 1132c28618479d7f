"""Prints an overview of a company, with a client that is generated from the OpenAPI document.

    pip install -r client/python/requirements.txt
    openapi-python-client generate --path docs/openapi.json --meta none --output-path client/python/compliance_client
    BASE=http://127.0.0.1:8080 TOKEN=… python client/python/overview.py

`--add ID NAME` also creates an affiliate, and `--case ID` prints a case. Needs Python 3.11 or newer.
"""

import argparse
import itertools
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import httpx
from compliance_client import AuthenticatedClient
from compliance_client.api.affiliates import create_affiliates, list_affiliates
from compliance_client.api.cases import get_case, list_cases
from compliance_client.api.urls import list_urls
from compliance_client.models import (
    Affiliate,
    AffiliateCreate,
    AffiliateCreated,
    AffiliateList,
    CaseFound,
    CaseList,
    ComplianceCase,
    ComplianceUrl,
    ListCasesSortBy,
    ListCasesSortDir,
    ListUrlsSortBy,
    ListUrlsSortDir,
    UrlList,
    ValidationFailure,
)
from compliance_client.types import Response

TRIES = 5
# Records a page: the most there can be.
PER_PAGE = 200

Expected = TypeVar("Expected")
Page = TypeVar("Page", UrlList, CaseList)


class Refused(Exception):
    """The service refused a request."""

    def __init__(self, response: Response[Any]) -> None:
        self.status = int(response.status_code)
        self.request_id = response.headers.get("X-Request-Id")
        body = response.parsed
        # Messages by field, of a request that violates the rules.
        self.errors: dict[str, list[str]] = body.errors.additional_properties if isinstance(body, ValidationFailure) else {}
        # The result code of any other refusal.
        self.code: str | None = getattr(body, "code", None)
        sentence = body.message if isinstance(body, ValidationFailure) else getattr(getattr(body, "detail", None), "msg", "")
        super().__init__(f"{self.status}: {sentence}")


def call(operation: Callable[..., Response[Any]], expected: type[Expected], **arguments: Any) -> Expected:
    """Calls an operation of the generated client, and returns the response that is expected of it. Waits as long as the service
    asks for when its limit is used up or it is busy. All operations may be repeated."""
    for attempt in range(TRIES):
        response = operation(**arguments)
        if isinstance(response.parsed, expected):
            return response.parsed
        if response.status_code not in (429, 503) or attempt + 1 == TRIES:
            break
        time.sleep(float(response.headers.get("Retry-After", 1)))
    raise Refused(response)


def all_affiliates(client: AuthenticatedClient) -> list[Affiliate]:
    return call(list_affiliates.sync_detailed, AffiliateList, client=client).data


def add_affiliate(client: AuthenticatedClient, affiliate: AffiliateCreate) -> int:
    """Returns the ID of the new affiliate."""
    return call(create_affiliates.sync_detailed, AffiliateCreated, client=client, body=affiliate).detail.affiliate_id


def pages(operation: Callable[..., Response[Any]], expected: type[Page], **arguments: Any) -> Iterator[Page]:
    """The pages of a list. By ID ascending, records that are added meanwhile come last."""
    for number in itertools.count(1):
        page = call(operation, expected, page=number, **arguments)
        yield page
        if number >= page.meta.last_page:
            return


def all_urls(client: AuthenticatedClient, per_page: int = PER_PAGE, **filters: Any) -> Iterator[ComplianceUrl]:
    order = {"sort_by": ListUrlsSortBy.ID, "sort_dir": ListUrlsSortDir.ASC, "per_page": per_page}
    for page in pages(list_urls.sync_detailed, UrlList, client=client, **order, **filters):
        yield from page.data


def all_cases(client: AuthenticatedClient, per_page: int = PER_PAGE, **filters: Any) -> Iterator[ComplianceCase]:
    order = {"sort_by": ListCasesSortBy.ID, "sort_dir": ListCasesSortDir.ASC, "per_page": per_page}
    for page in pages(list_cases.sync_detailed, CaseList, client=client, **order, **filters):
        yield from page.data


def case_text(case: ComplianceCase) -> str:
    lines = [f"Case {case.case_id} of {case.affiliate_name}: {case.case_status}, risk {case.risk_level or 'unknown'}"]
    lines += [f"  {incident.incident_type.value}: {incident.infraction_name or 'no infraction'}" for incident in case.incidents]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--add", nargs=2, metavar=("ID", "NAME"), help="create an affiliate")
    parser.add_argument("--case", type=int, metavar="ID", help="print a case")
    arguments = parser.parse_args()
    base, token = os.environ.get("BASE", "http://127.0.0.1:8080"), os.environ.get("TOKEN")
    if not token:
        print("overview: TOKEN is not set: a token of the service", file=sys.stderr)
        return 2
    try:
        with AuthenticatedClient(base_url=base, token=token, timeout=httpx.Timeout(60)) as client:
            if arguments.add:
                identifier, name = arguments.add
                affiliate = AffiliateCreate(client_affiliate_id=identifier, affiliate_name=name)
                print(f"created the affiliate {add_affiliate(client, affiliate)}")
            if arguments.case:
                print(case_text(call(get_case.sync_detailed, CaseFound, client=client, id=arguments.case).data))
            print(f"{len(all_affiliates(client))} affiliates")
            print("URLs:", dict(Counter(url.incident_status for url in all_urls(client))))
            print("cases:", dict(Counter(case.case_status for case in all_cases(client))))
    except (Refused, httpx.HTTPError) as error:
        print(f"overview: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
