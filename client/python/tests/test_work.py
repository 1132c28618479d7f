"""Tests case work, erasure, the audit and webhooks against a running service.

The token needs the scopes `cases`, `webhooks`, `audit` and `erase`.

    BASE=http://127.0.0.1:8080 TOKEN=… python -m unittest discover client/python/tests
"""

import time
import unittest
import uuid
from typing import Any

from affiliate_compliance import Changed, Client, Invalid, Refused
from failing_proxy import BASE, TOKEN

INFRACTION: Any = {"infraction_type": "Health Claim", "infraction_name": "weight loss"}
UNKNOWN = 2**53 - 1


class WorkTest(unittest.TestCase):
    def setUp(self) -> None:
        self.client = self.enterContext(Client(BASE, TOKEN))
        self.name = uuid.uuid4().hex
        self.affiliate = self.client.create_affiliate({"client_affiliate_id": "A-1", "affiliate_name": self.name})
        self.opening: Any = {"request_id": self.name, "case": {"affiliate_id": self.affiliate, "risk_level": "High"}}
        self.case = self.client.open_case(self.opening)

    def refusal(self, call: Any, *arguments: Any, **named: Any) -> Any:
        with self.assertRaises(Refused) as refused:
            call(*arguments, **named)
        return refused.exception

    def status(self) -> str | None:
        return self.client.case(self.case)["case_status"]

    def test_request_id_opens_only_one_case(self) -> None:
        self.assertEqual(self.client.open_case(self.opening), self.case)
        unknown: Any = {"request_id": uuid.uuid4().hex, "case": {"affiliate_id": UNKNOWN}}
        refused = self.refusal(self.client.open_case, unknown)
        self.assertEqual((refused.status, refused.code), (404, "1025"))

    def test_case_is_updated_resolved_closed_and_reopened(self) -> None:
        read, etag = self.client.case_with_etag(self.case)
        self.assertEqual((read["case_status"], read["risk_level"]), ("New", "High"))
        etag = self.client.update_case(self.case, {"case_worker": "Bea", "tags": ["urgent"]}, if_match=etag)
        etag = self.client.resolve_case(self.case, if_match=etag)
        self.assertEqual(self.status(), "Resolved")
        etag = self.client.close_case(self.case, {"case_status": "Rejected"}, if_match=etag)
        self.assertEqual(self.status(), "Rejected")
        self.client.reopen_case(self.case, if_match=etag)
        read = self.client.case(self.case)
        self.assertEqual((read["case_status"], read["case_worker"], read["tags"]), ("Open", "Bea", ["urgent"]))

    def test_stale_etag_rejects_case_actions(self) -> None:
        _, etag = self.client.case_with_etag(self.case)
        self.client.update_case(self.case, {"case_worker": "Bea"})
        for action in (self.client.update_case, self.client.resolve_case, self.client.close_case, self.client.reopen_case):
            self.assertIsInstance(self.refusal(action, self.case, {}, if_match=etag), Changed)
        self.assertEqual(self.status(), "New")

    def test_incidents_are_attached_and_detached(self) -> None:
        url = self.client.add_urls([f"https://example.org/{self.name}"])[0].id or 0
        results = self.client.attach_incidents(
            self.case,
            [
                {"incident_type": "url", "url_id": url, **INFRACTION},
                {"incident_type": "display ad", "reference": "ad 7"},
                {"incident_type": "url", "url_id": UNKNOWN},
            ],
        )
        self.assertEqual([result.code for result in results], ["1020", "1020", "1025"])
        attached = [incident["incident_id"] for incident in self.client.case(self.case)["incidents"]]
        self.assertEqual(attached, [result.id for result in results[:2]])
        detached = self.client.detach_incidents(self.case, [{"incident_id": attached[0]}, {"incident_type": "display ad", "reference": "ad 7"}])
        self.assertEqual([result.ok for result in detached], [True, True])
        self.assertEqual(self.client.case(self.case)["incidents"], [])
        self.assertEqual((self.client.attach_incidents(self.case, []), self.client.detach_incidents(self.case, [])), ([], []))

    def test_url_review_is_saved(self) -> None:
        id = self.client.add_urls([f"https://example.org/{self.name}"])[0].id or 0
        self.client.review_url(id, {"incident_status": "In Violation", "disabled": "yes", "infractions": [INFRACTION]})
        url = self.client.url(id)
        self.assertEqual((url["incident_status"], url["disabled"]), ("In Violation", "yes"))
        self.assertEqual(url["infractions"][0]["infraction_name"], "weight loss")
        refused = self.refusal(self.client.review_url, id, {"incident_status": "no such status"})
        self.assertIsInstance(refused, Invalid)
        self.assertIn("incident_status", refused.violations)

    def test_stale_etag_rejects_url_review(self) -> None:
        id = self.client.add_urls([f"https://example.org/{self.name}"])[0].id or 0
        _, etag = self.client.url_with_etag(id)
        self.assertIsNone(self.client.url_if_changed(id, etag))
        new = self.client.review_url(id, {"note": "mine"}, if_match=etag)
        self.assertIsInstance(self.refusal(self.client.review_url, id, {"note": "theirs"}, if_match=etag), Changed)
        self.assertTrue(self.client.url_if_changed(id, etag))
        self.assertEqual(self.client.url(id)["note"], "mine")
        self.client.review_url(id, {"note": "mine again"}, if_match=new)

    def test_as_of_and_audit_show_past_values(self) -> None:
        (opened,) = self.client.audit(resource="case", id=self.case)
        as_of = opened["time"] or ""
        time.sleep(1.1)
        self.client.update_case(self.case, {"risk_level": "Low"})
        self.assertEqual(self.client.case(self.case)["risk_level"], "Low")
        self.assertEqual(self.client.case(self.case, as_of=as_of)["risk_level"], "High")
        self.assertEqual(self.client.affiliate(self.affiliate, as_of=as_of)["distributor_name"], self.name)
        changes = list(self.client.audit(resource="case", id=self.case, from_=as_of))
        self.assertEqual([change["operation"] for change in changes], ["updated", "created"])
        self.assertEqual(list(self.client.audit(resource="case", id=self.case, to="2020-01-01 00:00:00")), [])

    def test_erasure_deletes_affiliate_with_its_cases(self) -> None:
        _, etag = self.client.affiliate_with_etag(self.affiliate)
        self.client.update_affiliate({"id": self.affiliate, "city": "Bern"})
        self.assertIsInstance(self.refusal(self.client.erase_affiliate, self.affiliate, if_match=etag), Changed)
        erased = self.client.erase_affiliate(self.affiliate)
        self.assertEqual((erased["cases"], erased["urls"]), (1, 0))
        self.assertEqual(self.refusal(self.client.case, self.case).status, 404)
        self.assertEqual(self.refusal(self.client.erase_affiliate, self.affiliate).status, 404)

    def test_webhook_is_created_updated_tested_and_deleted(self) -> None:
        webhooks = self.client.webhooks
        # Names under `.invalid` never resolve (RFC 6761), so the service sends nothing.
        created = webhooks.create({"url": f"https://hooks.invalid/{self.name}", "types": ["case"]})
        id = created["webhook"]["id"]
        self.assertEqual((created["webhook"]["types"], created["secret"][:6]), (["case"], "whsec_"))
        self.assertNotEqual(webhooks.rotate_secret(id)["secret"], created["secret"])
        self.assertIsNone(webhooks.test(id)["http_status"])
        self.assertEqual(webhooks.update(id, {"status": "disabled"})["status"], "disabled")
        self.assertEqual((webhooks.read(id)["status"], webhooks.deliveries(id, 5)), ("disabled", []))
        self.assertIn(id, [webhook["id"] for webhook in webhooks.list()])
        webhooks.delete(id)
        self.assertEqual(self.refusal(webhooks.read, id).status, 404)


if __name__ == "__main__":
    unittest.main()
