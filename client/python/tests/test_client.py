"""Tests the installed client and its example against a running service.

    BASE=http://127.0.0.1:8080 TOKEN=… python -m unittest discover client/python/tests
"""

import subprocess
import sys
import time
import unittest
import uuid
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

from affiliate_compliance import ALPHA2, NUMERIC, Changed, Client, Invalid, Refused, Unavailable
from affiliate_compliance.transport import LONGEST_RETRY_AFTER, seconds
from failing_proxy import BASE, TOKEN, FailingProxy, start_proxy

OVERVIEW = Path(__file__).parent.parent / "examples/overview.py"


class ClientTest(unittest.TestCase):
    def setUp(self) -> None:
        self.client = self.enterContext(Client(BASE, TOKEN))
        self.name = uuid.uuid4().hex

    def affiliate(self, **fields: Any) -> Any:
        return {"client_affiliate_id": "A-1", "affiliate_name": self.name} | fields

    def refusal(self, call: Any, *arguments: Any) -> Any:
        with self.assertRaises(Refused) as refused:
            call(*arguments)
        self.assertTrue(refused.exception.request_id)
        return refused.exception

    def test_affiliate_is_created_updated_and_listed(self) -> None:
        created = self.client.create_affiliate(self.affiliate(status="active", country="us", start_date="01/31/2026"))
        self.client.update_affiliate({"id": created, "status": "probation", "start_date": None})
        with self.assertRaisesRegex(TypeError, "one dict that contains the ID"):
            self.client.update_affiliate(created, {"city": "Bern"})  # type: ignore[arg-type]
        read = self.client.affiliate(created)
        self.assertEqual((read["distributor_name"], read["country"], read["start_date"]), (self.name, NUMERIC["US"], None))
        self.assertEqual((read["distributor_status"], ALPHA2[840]), ("probation", "US"))
        self.assertIn(read, list(self.client.affiliates()))
        self.assertEqual(list(self.client.affiliates(q=self.name, status="probation", country="us")), [read])

    def test_query_values_have_the_form_that_the_service_reads(self) -> None:
        file = f"client_affiliate_id,affiliate_name\n{self.name},{self.name}\n".encode()
        query = {"validate_only": True, "report_absent": False, "columns": (), "absent_status": None}
        results = self.client.call("POST", "/affiliates:sync", query, file)["data"]["results"]
        self.assertEqual([result["outcome"] for result in results], ["created"])
        self.assertEqual(self.client.search_affiliates(self.name), [])

    def test_errors_include_code_or_violations(self) -> None:
        self.client.create_affiliate(self.affiliate())
        taken = self.refusal(self.client.create_affiliate, self.affiliate())
        self.assertEqual((taken.status, taken.code, taken.detail["client_affiliate_id"]), (409, "1023", "A-1"))
        invalid = self.refusal(self.client.create_affiliate, self.affiliate(affiliate_name=" ", zip="8" * 17))
        self.assertIsInstance(invalid, Invalid)
        self.assertEqual((set(invalid.violations), invalid.detail), ({"affiliate_name", "zip"}, {}))
        self.assertEqual(set(self.refusal(self.client.update_affiliate, {"city": "Bern"}).violations), {"id"})
        self.assertEqual(set(self.refusal(self.client.update_affiliates, [{"city": "Bern"}]).violations), {"affiliates.0.id"})
        unknown = self.refusal(self.client.case, 2**53 - 1)
        self.assertEqual((unknown.status, unknown.code), (404, "1025"))
        with Client(BASE, "nonsense") as client:
            self.assertEqual(self.refusal(list, client.affiliates()).code, "401")

    def test_ignored_fields_and_parameters_are_logged(self) -> None:
        with self.assertLogs("affiliate_compliance", "WARNING") as logged:
            id = self.client.create_affiliate(self.affiliate(town="Bern"))
            self.client.call("PUT", f"/api/affiliates/{id}", {"a b": 1}, {"id": id, "distributor_name": "New"})
            self.refusal(self.client.create_affiliate, {"town": "Bern"})
        ignored = [message.split("the service ignored ")[1] for message in logged.output]
        self.assertEqual(ignored, ["these fields: town", "these fields: distributor_name", "these parameters: a b", "these fields: town"])
        with self.assertNoLogs("affiliate_compliance", "WARNING"):
            self.client.update_affiliate({"id": id, "city": "Bern"})

    def test_update_with_stale_etag_is_rejected(self) -> None:
        id = self.client.create_affiliate(self.affiliate())
        read, etag = self.client.affiliate_with_etag(id)
        self.assertEqual((read, self.client.affiliate_if_changed(id, etag)), (self.client.affiliate(id), None))
        next_etag = self.client.update_affiliate({"id": id, "city": "Bern"}, if_match=etag)
        refused = self.refusal(self.client.update_affiliate, {"id": id, "city": "Genf"}, etag)
        self.assertIsInstance(refused, Changed)
        self.assertEqual((refused.status, refused.code), (412, "412"))
        changed = self.client.affiliate_if_changed(id, etag)
        self.assertEqual(changed, (self.client.affiliate(id), next_etag))
        self.assertEqual(self.client.affiliate(id)["city"], "Bern")
        self.assertNotEqual(self.client.update_affiliate({"id": id, "city": "Genf"}, if_match=next_etag), next_etag)
        self.assertEqual(set(self.refusal(self.client.update_affiliate, {"id": id}, "").violations), {"If-Match"})

    def test_retry_after_lost_response_raises_changed(self) -> None:
        id = self.client.create_affiliate(self.affiliate())
        _, etag = self.client.affiliate_with_etag(id)
        with Client(start_proxy(self, ["lost before", 503, "lost after"]), TOKEN) as client, self.assertRaises(Changed):
            client.update_affiliate({"id": id, "city": "Bern"}, if_match=etag)
        self.assertEqual(len(FailingProxy.seen), 4)
        self.assertEqual(self.client.affiliate(id)["city"], "Bern")

    def test_case_if_changed_compares_etags(self) -> None:
        id = next(self.client.cases())["case_id"]
        read, etag = self.client.case_with_etag(id)
        self.assertEqual((read, self.client.case_if_changed(id, etag)), (self.client.case(id), None))
        self.assertEqual(self.client.case_if_changed(id, '"another"'), (read, etag))

    def test_search_matches_substrings(self) -> None:
        ids = [self.client.create_affiliate(self.affiliate(affiliate_name=f"{self.name} É & {number}%")) for number in range(3)]
        self.assertEqual([one["id"] for one in self.client.search_affiliates(f"{self.name.upper()} é &")], ids)
        self.assertEqual([one["id"] for one in self.client.search_affiliates(self.name, limit=2)], ids[:2])
        self.assertEqual([one["id"] for one in self.client.search_affiliates(f"{self.name} é & 1%")], ids[1:2])
        urls = [result.id for result in self.client.add_urls([f"https://example.org/{self.name}?a={number}" for number in range(3)])]
        self.assertEqual([one["id"] for one in self.client.search_urls(f"{self.name}?A=")], urls[::-1])
        self.assertEqual(len(self.client.search_urls(self.name, limit=1)), 1)
        self.assertEqual(self.client.search_urls("no such text"), [])
        self.assertEqual(set(self.refusal(self.client.search_urls, "ab").violations), {"q"})

    def test_watch_resumes_over_broken_connections(self) -> None:
        after = self.client.call("GET", "/api/changes")["data"]["last_position"]
        ids = [self.client.create_affiliate(self.affiliate(affiliate_name=f"{self.name} {number}")) for number in range(3)]
        with Client(start_proxy(self, ["lost before", 503, (3,), (5,), (1000,)]), TOKEN) as client:
            watched = client.watch_changes(after, types=["affiliate"])
            seen = [next(watched) for _ in ids]
            ids.append(self.client.create_affiliate(self.affiliate(affiliate_name=f"{self.name} 3")))
            seen.append(next(watched))
        self.assertEqual([(change["id"], change["operation"]) for change in seen], [(id, "created") for id in ids])

    def test_overview_counts_new_urls(self) -> None:
        before = self.client.overview()
        self.client.add_urls([f"https://example.org/{self.name}"])
        after = self.client.overview()
        self.assertEqual(after["urls"]["total"], before["urls"]["total"] + 1)
        self.assertGreater(after["weeks"][-1]["new_urls"], 0)
        self.assertEqual((len(after["weeks"]), after["weeks"][0]["from"] < after["weeks"][-1]["from"]), (12, True))
        self.assertEqual(sum(risk["open"] for risk in after["cases"]["by_risk"]), after["cases"]["open"])

    def test_expired_token_is_replaced(self) -> None:
        tokens = ["expired", TOKEN]
        with Client(BASE, lambda: tokens.pop(0)) as client:
            self.assertTrue(list(client.affiliates()))
        self.assertEqual(tokens, [])

    def test_tokens_are_stripped_and_never_shown_in_errors(self) -> None:
        for token in (f"{TOKEN}\n", f"\t {TOKEN}\r\n"):
            for given in (token, lambda: token):
                with Client(BASE, given) as client:
                    self.assertEqual(len(client.overview()["weeks"]), 12)
        for token in (None, "", "\n", "secret\nsecret", "secret secret", "Bearer secret", "secret\0", "secrét", '"secret"'):
            with self.assertRaisesRegex(ValueError, "^the token is ") as refused:
                Client(BASE, token)
            with self.assertRaisesRegex(ValueError, "^the token is ") as also_refused, Client(BASE, lambda: token) as client:
                client.overview()
            self.assertNotIn("secr", f"{refused.exception} {also_refused.exception}")

    def test_bearer_prefix_of_a_token_is_rejected(self) -> None:
        with self.assertRaisesRegex(ValueError, "^the token is invalid: remove the prefix Bearer$"):
            Client(BASE, f"Bearer {TOKEN}")

    def test_missing_tokens_are_rejected(self) -> None:
        nothing: Any = None
        for call in (lambda: Client(BASE, nothing), lambda: Client(BASE, lambda: nothing).overview()):
            with self.assertRaisesRegex(ValueError, "^the token is a NoneType, not a string"):
                call()

    def test_base_and_paths_accept_api_prefix(self) -> None:
        for base in (f"{BASE}/", f"{BASE}/api", f"{BASE}/api/", f" {BASE}\n"):
            with Client(base, TOKEN) as client:
                self.assertEqual(len(client.overview()["weeks"]), 12)
                for path in ("/api/overview", "/overview", "overview"):
                    self.assertEqual(client.call("GET", path)["data"], client.overview())

    def test_invalid_addresses_are_rejected(self) -> None:
        secrets = ("secret", "http://secret@host", "http://user:secret@host", "http://user:secret", "http://a\nsecret", "http://[secret")
        nothing: Any = None
        for base in (nothing, "localhost:8080", "/api", "", "ftp://localhost", "http://", f"{BASE}/api?x=1", f"{BASE}/#a", *secrets):
            with self.assertRaisesRegex(ValueError, "is not a valid service URL, such as https://") as refused:
                Client(base, TOKEN)
            self.assertNotIn("secret", str(refused.exception))

    def test_retry_after_accepts_seconds_or_date(self) -> None:
        now = datetime.now(UTC)
        for wait, shown in ((1, "1"), (120, " 120 "), (0, ""), (0, "soon"), (0, "-5"), (0, "nan"), (0, "Sun, 06 Nov 1994 08:49:37 GMT")):
            self.assertEqual(seconds(shown), wait, shown)
        self.assertEqual(seconds(None), 0)
        later = now + timedelta(seconds=100)
        for shown in (format_datetime(later, usegmt=True), later.strftime("%A, %d-%b-%y %H:%M:%S GMT"), later.strftime("%a %b %d %H:%M:%S %Y")):
            self.assertTrue(90 < seconds(shown) <= 100, shown)
        start = time.monotonic()
        soon, late = (format_datetime(datetime.now(UTC) + timedelta(seconds=wait), usegmt=True) for wait in (3, LONGEST_RETRY_AFTER + 60))
        with Client(start_proxy(self, [{"Retry-After": soon}]), TOKEN) as client:
            client.overview()
        self.assertGreater(time.monotonic() - start, 1)
        with Client(start_proxy(self, [{"Retry-After": late}]), TOKEN) as client:
            self.assertRaises(Refused, client.overview)
        self.assertEqual(FailingProxy.seen, [("GET", {"Retry-After": late})])

    def test_connection_error_names_the_service(self) -> None:
        with Client("http://127.0.0.1:1/api", TOKEN, tries=1) as client, self.assertRaises(Unavailable) as unavailable:
            client.overview()
        self.assertEqual(str(unavailable.exception), "no complete response from http://127.0.0.1:1: Connection refused")

    def test_add_urls_accepts_strings_and_objects(self) -> None:
        urls = [f"https://example.org/{self.name}/{number}" for number in range(3)]
        results = self.client.add_urls(iter([urls[0], {"url": urls[1]}, urls[0]]))
        self.assertEqual([result.code for result in results], ["1020", "1020", "1023"])
        for wrong, reason in ((urls[0], "a list of URLs"), ({"url": urls[0]}, "a list of URLs"), ([urls[2], 5], "item 1 is int"), ([None], "item 0 is NoneType")):
            with self.assertRaisesRegex(TypeError, f"^add_urls takes .*{reason}"):
                self.client.add_urls(wrong)  # type: ignore[arg-type]
        self.assertEqual(self.client.search_urls(f"{self.name}/2"), [])

    def test_batch_returns_one_result_per_item(self) -> None:
        items = [self.affiliate(), self.affiliate(), self.affiliate(affiliate_name=f"{self.name} 2", country="ZZ")]
        results = self.client.create_affiliates(items)
        self.assertEqual([result.code for result in results], ["1020", "1023", "1024"])
        self.assertEqual([result.ok for result in results], [True, False, False])
        id = results[0].id or 0
        updates = self.client.update_affiliates([{"id": id, "city": "Bern"}, {"id": id, "country": "ZZ"}, {"id": 2**53 - 1}])
        self.assertEqual([result.code for result in updates], ["1020", "1021", "1025"])
        self.assertEqual((self.client.create_affiliates([]), self.client.update_affiliates([]), self.client.add_urls([])), ([], [], []))

    def test_lists_read_every_page(self) -> None:
        results = self.client.add_urls([f"https://example.org/{self.name}/{number % 20}" for number in range(25)])
        self.assertEqual([result.code for result in results], ["1020"] * 20 + ["1023"] * 5)
        listed = [url["id"] for url in self.client.urls(per_page=7, disabled="no")]
        self.assertEqual(listed, sorted(set(listed)))
        self.assertLessEqual({result.id for result in results[:20]}, set(listed))
        self.assertEqual(self.client.url(listed[0])["id"], listed[0])
        self.assertEqual(list(self.client.cases(per_page=3)), list(self.client.cases()))

    def test_whole_lists_reject_sorting_and_paging(self) -> None:
        for read in (self.client.affiliates, self.client.urls, self.client.cases):
            wrong: Any = {"sort_by": "id", "page": 3}
            with self.assertRaisesRegex(TypeError, "without sort_by, page. To read a single page, use call"):
                list(read(**wrong))
        page = self.client.call("GET", "/urls", {"sort_by": "discovery_dt", "page": 2, "per_page": 1})
        self.assertEqual((page["meta"]["current_page"], len(page["data"])), (2, 1))

    def test_busy_service_and_broken_connection_are_retried(self) -> None:
        failures = [429, "lost before", 503, "lost after", "half"]
        with Client(start_proxy(self, list(failures)), TOKEN) as client:
            self.assertEqual(list(client.affiliates()), list(self.client.affiliates()))
            self.assertEqual([failure for _, failure in FailingProxy.seen], [*failures, None])
        with Client(start_proxy(self, [503] * 2), TOKEN, tries=2) as client, self.assertRaises(Refused) as refused:
            list(client.affiliates())
        self.assertEqual((refused.exception.status, refused.exception.code), (503, "503"))
        with Client(start_proxy(self, ["lost before"] * 2), TOKEN, tries=2) as client, self.assertRaises(Unavailable):
            client.case(1)

    def test_unresponsive_service_is_retried(self) -> None:
        id = next(self.client.cases())["case_id"]
        with Client(start_proxy(self, ["silent"]), TOKEN, read_timeout=5) as client:
            self.assertEqual(client.case(id)["case_id"], id)
        self.assertEqual(FailingProxy.seen[:2], [("GET", "silent"), ("GET", None)])

    def test_overview_example_prints_records_and_errors(self) -> None:
        case = next(self.client.cases())
        command = [sys.executable, OVERVIEW, "--case", str(case["case_id"]), "--add", "A-2", self.name]
        result = subprocess.run(command, capture_output=True, text=True, timeout=60)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertRegex(result.stdout, rf"(?m)^created the affiliate \d+\nCase {case['case_id']} of ")
        result = subprocess.run([sys.executable, OVERVIEW, "--add", "A-3", self.name], capture_output=True, text=True, timeout=60)
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertRegex(result.stderr, r"\Aoverview: 409: An affiliate with this name already exists\. Its ID is [0-9]+\.\n\Z")


if __name__ == "__main__":
    unittest.main()
