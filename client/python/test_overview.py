"""Runs the overview, and the generated client that it uses, against a running service.

    BASE=http://127.0.0.1:8080 TOKEN=… python -m unittest discover client/python
"""

import os
import subprocess
import sys
import unittest
import uuid
from pathlib import Path

from compliance_client import AuthenticatedClient
from compliance_client.api.affiliates import create_affiliates, get_affiliate, update_affiliates
from compliance_client.api.cases import get_case
from compliance_client.api.urls import add_urls
from compliance_client.models import (
    AffiliateCreate,
    AffiliateCreateBatch,
    AffiliateCreated,
    AffiliateCreateItem,
    AffiliateDuplicate,
    AffiliateFound,
    AffiliateInvalidCountry,
    AffiliateStatus,
    AffiliateUpdate,
    AffiliateUpdated,
    CaseFound,
    UrlAdded,
    UrlDuplicate,
    UrlInput,
    UrlsAdd,
    YesNo,
)

from overview import Refused, add_affiliate, all_affiliates, all_cases, all_urls, call, case_text
from test_sync_affiliates import FailingProxy, start_proxy

BASE, TOKEN = os.environ["BASE"], os.environ["TOKEN"]


class Overview(unittest.TestCase):
    def setUp(self) -> None:
        self.client = self.enterContext(AuthenticatedClient(base_url=BASE, token=TOKEN))
        self.name = uuid.uuid4().hex

    def affiliate(self, **fields) -> AffiliateCreate:
        return AffiliateCreate(**({"client_affiliate_id": "A-1", "affiliate_name": self.name} | fields))

    def test_an_affiliate_is_created_changed_and_listed(self) -> None:
        created = add_affiliate(self.client, self.affiliate(status=AffiliateStatus.ACTIVE, country="us", start_date="01/31/2026"))
        change = AffiliateUpdate(id=created, status=AffiliateStatus.PROBATION, start_date=None)
        call(update_affiliates.sync_detailed, AffiliateUpdated, client=self.client, id=created, body=change)
        read = call(get_affiliate.sync_detailed, AffiliateFound, client=self.client, id=created).data
        self.assertEqual((read.distributor_name, read.country, read.start_date), (self.name, 840, None))
        self.assertIs(read.distributor_status, AffiliateStatus.PROBATION)
        self.assertIn(read, all_affiliates(self.client))

    def test_refusals_have_a_code_or_messages_by_field(self) -> None:
        add_affiliate(self.client, self.affiliate())
        with self.assertRaises(Refused) as refused:
            add_affiliate(self.client, self.affiliate())
        self.assertEqual((refused.exception.status, refused.exception.code), (409, "1023"))
        with self.assertRaises(Refused) as refused:
            add_affiliate(self.client, self.affiliate(affiliate_name=" ", zip_="8" * 17))
        self.assertEqual((refused.exception.status, set(refused.exception.errors)), (422, {"affiliate_name", "zip"}))
        with self.assertRaises(Refused) as refused:
            call(get_case.sync_detailed, CaseFound, client=self.client, id=2**53 - 1)
        self.assertEqual((refused.exception.status, refused.exception.code), (404, "1025"))
        self.assertTrue(refused.exception.request_id)
        with self.assertRaises(Refused) as refused:
            all_affiliates(self.enterContext(AuthenticatedClient(base_url=BASE, token="nonsense")))
        self.assertEqual((refused.exception.status, refused.exception.code), (401, "401"))

    def test_each_item_of_a_batch_has_a_result_of_its_type(self) -> None:
        def item(name: str, **fields: str) -> AffiliateCreateItem:
            return AffiliateCreateItem(client_affiliate_id="A-1", affiliate_name=f"{self.name} {name}", **fields)

        batch = AffiliateCreateBatch([item("1"), item("1"), item("2", country="ZZ")])
        response = create_affiliates.sync_detailed(client=self.client, body=batch)
        self.assertEqual(response.status_code, 207)
        expected = [AffiliateCreated, AffiliateDuplicate, AffiliateInvalidCountry]
        self.assertEqual([type(result) for result in response.parsed], expected)

    def test_pages_are_read_to_the_end(self) -> None:
        urls = UrlsAdd([UrlInput(f"https://example.org/{self.name}/{number % 20}") for number in range(25)])
        results = call(add_urls.sync_detailed, list, client=self.client, body=urls)
        self.assertEqual([type(result) for result in results], [UrlAdded] * 20 + [UrlDuplicate] * 5)
        added = {result.detail.url_id for result in results[:20]}
        listed = [url.id for url in all_urls(self.client, per_page=7, disabled=YesNo.NO)]
        self.assertEqual(listed, sorted(set(listed)))
        self.assertLessEqual(added, set(listed))
        self.assertEqual(list(all_cases(self.client, per_page=3)), list(all_cases(self.client)))

    def test_a_busy_service_is_asked_again(self) -> None:
        client = self.enterContext(AuthenticatedClient(base_url=start_proxy(self), token=TOKEN))
        FailingProxy.failures = [429, 503]
        self.assertTrue(all_affiliates(client))
        self.assertEqual([failure for _, failure in FailingProxy.seen], [429, 503, None])
        FailingProxy.failures = [503] * 5
        with self.assertRaises(Refused) as refused:
            all_affiliates(client)
        self.assertEqual((refused.exception.status, refused.exception.code), (503, "503"))

    def test_the_overview_is_printed(self) -> None:
        cases = list(all_cases(self.client))
        self.assertTrue(cases, "the demo company has cases")
        program = [sys.executable, Path(__file__).with_name("overview.py")]
        command = [*program, "--case", str(cases[0].case_id), "--add", "A-2", self.name]
        result = subprocess.run(command, capture_output=True, text=True, timeout=60)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn(case_text(cases[0]), result.stdout)
        self.assertRegex(result.stdout, r"(?m)^created the affiliate \d+$")
        result = subprocess.run([*program, "--add", "A-3", self.name], capture_output=True, text=True, timeout=60)
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertEqual(result.stderr, "overview: 409: An affiliate with this name already exists.\n")


if __name__ == "__main__":
    unittest.main()
