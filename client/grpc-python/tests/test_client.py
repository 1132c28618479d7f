"""Tests the client against a running service, including over broken connections. The token needs the scope `monitor`.

    GRPC=127.0.0.1:50051 BASE=http://127.0.0.1:8080 TOKEN=… TOKEN_WITHOUT_SCOPE=… python -m unittest discover client/grpc-python/tests
"""

import os
import socket
import threading
import time
import unittest
import uuid

import grpc
from affiliate_compliance_grpc import Client, Refusal, open_channel, refusal
from breaking_proxy import GRPC, TOKEN, Proxy
from compliance.v1 import affiliate_sync_pb2, affiliates_pb2, case_changes_pb2, cases_pb2, changes_pb2, errors_pb2, exports_pb2
from compliance.v1 import observations_pb2, urls_pb2, urls_pb2_grpc, vocabularies_pb2

RECORDS = 2000


class TestClient(unittest.TestCase):
    def setUp(self):
        self.prefix = f"https://example.org/{uuid.uuid4().hex}"
        self.client = self.client_at(GRPC)

    def client_at(self, target, token=TOKEN, **settings):
        return self.enterContext(Client(target, token, **settings))

    def proxy(self, **limits):
        proxy = Proxy(**limits)
        self.addCleanup(proxy.listener.close)
        return proxy

    def observations(self, count, **fields):
        return [observations_pb2.UrlObservation(url=f"{self.prefix}/{number}", **fields) for number in range(count)]

    def affiliate(self):
        fields = affiliates_pb2.AffiliateInput(client_affiliate_id="A-1", affiliate_name=uuid.uuid4().hex, notes="x" * 2000)
        return self.client.call(affiliates_pb2.CreateAffiliateRequest(affiliate=fields)).affiliate_id

    def refused(self, request, client=None):
        with self.assertRaises(Refusal) as refused:
            (client or self.client).call(request)
        return refused.exception

    def test_observations_and_infractions_are_saved(self):
        wrong = observations_pb2.UrlObservation(url=f"{self.prefix}/x", country="ZZ")
        wrong.infractions.add(infraction_type="Health Claim", infraction_name="unlimited income")
        saved, refused = self.client.observe([*self.observations(1, landing_page="https://example.org"), wrong])
        self.assertEqual((saved.code, saved.created), (errors_pb2.RESULT_CODE_SAVED, True))
        self.assertEqual(refused.code, errors_pb2.RESULT_CODE_UPDATE_FAILED)
        fields = {violation.field for violation in refused.violations}
        self.assertEqual(fields, {"country", "infractions.0.infraction_name"})
        infraction = {"infraction_type": "Health Claim", "infraction_name": "weight loss"}
        record = observations_pb2.RecordInfractionsRequest(infractions=[{"url_id": saved.url_id, "infraction": infraction}])
        for changed in (True, False):
            (result,) = self.client.call(record).results
            self.assertEqual((result.code, result.changed), (errors_pb2.RESULT_CODE_SAVED, changed))
        url = self.client.call(urls_pb2.GetComplianceUrlRequest(id=saved.url_id))
        self.assertEqual((url.url, url.landing_page), (f"{self.prefix}/0", "https://example.org"))
        self.assertEqual([infraction.infraction_name for infraction in url.infractions], ["weight loss"])
        vocabularies = self.client.call(vocabularies_pb2.ListVocabulariesRequest()).vocabularies
        self.assertIn(url.incident_status, [entry.name for names in vocabularies for entry in names.entries])

    def test_errors_include_reasons_and_violations(self):
        refused = self.refused(urls_pb2.GetComplianceUrlRequest(id=2**53 - 1))
        self.assertEqual((refused.code, refused.reason), (grpc.StatusCode.NOT_FOUND, "URL_NOT_FOUND"))
        refused = self.refused(urls_pb2.ListComplianceUrlsRequest(per_page=1000, discovery_after="yesterday"))
        fields = {violation.field for violation in refused.violations}
        self.assertEqual((refused.reason, fields), ("INVALID_FIELDS", {"per_page", "discovery_after"}))
        # A field can violate several rules.
        long = affiliates_pb2.AffiliateInput(client_affiliate_id="A-1", affiliate_name="Ann", email_one="x" * 1000)
        refused = self.refused(affiliates_pb2.CreateAffiliateRequest(affiliate=long))
        self.assertEqual([violation.field for violation in refused.violations], ["email_one", "email_one"])
        self.assertIn(f"; email_one: {refused.violations[1].description}", str(refused))
        for token, reason in (("nonsense", "TOKEN_INVALID"), (os.environ["TOKEN_WITHOUT_SCOPE"], "SCOPE_MISSING")):
            refused = self.refused(observations_pb2.ObserveUrlsRequest(observations=self.observations(1)), self.client_at(GRPC, token))
            self.assertEqual(refused.reason, reason)
        refused = self.refused(changes_pb2.ListChangesRequest(after=2**52))
        self.assertEqual((refused.reason, refused.metadata["dropped_position"].isdecimal()), ("POSITION_GONE", True))
        # The generated stubs raise the same errors.
        stub = urls_pb2_grpc.ComplianceUrlServiceStub(self.enterContext(open_channel(GRPC)))
        with self.assertRaises(grpc.RpcError) as error:
            stub.GetComplianceUrl(urls_pb2.GetComplianceUrlRequest(id=1))
        self.assertEqual(refusal(error.exception).reason, "TOKEN_MISSING")

    def test_stale_etag_is_rejected(self):
        fields = case_changes_pb2.CaseInput(affiliate_id=self.affiliate())
        opened = self.client.call(case_changes_pb2.OpenCaseRequest(request_id=self.prefix, case=fields))
        etag = self.client.call(cases_pb2.GetComplianceCaseRequest(id=opened.case_id)).etag
        self.client.call(case_changes_pb2.ResolveCaseRequest(id=opened.case_id, etag=etag))
        refused = self.refused(case_changes_pb2.CloseCaseRequest(id=opened.case_id, etag=etag))
        self.assertEqual(refused.reason, "ETAG_MISMATCH")

    def test_wrong_request_types_raise_type_error(self):
        with self.assertRaises(TypeError):
            self.client.call(exports_pb2.ExportUrlsRequest())
        with self.assertRaises(TypeError):
            next(self.client.messages(urls_pb2.GetComplianceUrlRequest(id=1)))

    def test_rejected_token_is_renewed_once(self):
        tokens = ["expired", TOKEN]
        client = self.client_at(GRPC, lambda: tokens.pop(0))
        self.assertTrue(client.call(vocabularies_pb2.ListVocabulariesRequest()).vocabularies)
        tokens = ["expired", TOKEN]
        self.assertEqual(len(list(client.messages(exports_pb2.ExportCasesRequest(after_case_id=2**52)))), 0)
        tokens = ["expired", "expired", TOKEN]
        self.assertEqual(self.refused(vocabularies_pb2.ListVocabulariesRequest(), client).reason, "TOKEN_INVALID")
        self.assertEqual(tokens, [TOKEN])

    def test_tokens_are_stripped_and_never_shown_in_errors(self):
        for token in (f"{TOKEN}\n", lambda: f" {TOKEN}\r\n"):
            self.assertTrue(self.client_at(f" {GRPC}\n", token).call(vocabularies_pb2.ListVocabulariesRequest()).vocabularies)
        for token in (None, "", "secret\nsecret", "Bearer secret", "secrét"):
            with self.assertRaisesRegex(ValueError, "^the token is ") as refused:
                Client(GRPC, token)
            with self.assertRaisesRegex(ValueError, "^the token is ") as also_refused:
                self.client_at(GRPC, lambda: token).call(vocabularies_pb2.ListVocabulariesRequest())
            self.assertNotIn("secr", f"{refused.exception} {also_refused.exception}")

    def test_call_is_retried_after_lost_connections(self):
        # The HTTP/2 preface and settings are shorter than 300 bytes. A token is longer.
        proxy = self.proxy(of_requests=300)
        (saved,) = self.client_at(proxy.address).observe(self.observations(1))
        self.assertEqual((saved.code, proxy.connections), (errors_pb2.RESULT_CODE_SAVED, 3))

    def test_observation_stream_survives_lost_connections(self):
        proxy = self.proxy(of_responses=12_000)
        results = list(self.client_at(proxy.address).stream_observations(self.observations(RECORDS)))
        self.assertEqual({result.code for result in results}, {errors_pb2.RESULT_CODE_SAVED})
        self.assertEqual(len({result.url_id for result in results}), RECORDS)
        self.assertEqual(proxy.connections, 3)
        (url,) = [self.client.call(urls_pb2.GetComplianceUrlRequest(id=results[-1].url_id)).url]
        self.assertEqual(url, f"{self.prefix}/{RECORDS - 1}")
        with self.assertRaises(Refusal) as refused:
            list(self.client_at(GRPC, os.environ["TOKEN_WITHOUT_SCOPE"]).stream_observations(self.observations(1)))
        self.assertEqual(refused.exception.reason, "SCOPE_MISSING")
        self.assertEqual(list(self.client.stream_observations([])), [])

    def test_affiliate_sync_survives_lost_connections(self):
        absent = self.affiliate()
        names = [f"{self.prefix}/{number}" for number in range(2500)]
        inputs = [affiliates_pb2.AffiliateInput(client_affiliate_id=name, affiliate_name=name) for name in names]
        listed = [affiliate_sync_pb2.AffiliateSync(affiliate=one) for one in inputs]
        planned, _ = self.client.sync_affiliates(listed, validate_only=True)
        self.assertEqual({result.outcome for result in planned}, {affiliate_sync_pb2.SYNC_OUTCOME_CREATED})
        results, reported = self.client_at(self.proxy(of_requests=100_000).address).sync_affiliates(listed, report_absent=True)
        self.assertEqual([result.client_affiliate_id for result in results], names)
        self.assertEqual(len({result.affiliate_id for result in results}), len(names))
        self.assertIn(absent, [affiliate.affiliate_id for affiliate in reported])
        with self.assertRaises(Refusal) as refused:
            self.client.sync_affiliates(listed[:1], absent_status="terminated", max_absent=0)
        self.assertEqual(refused.exception.code, grpc.StatusCode.FAILED_PRECONDITION)

    def test_call_fails_at_deadline_or_after_last_try(self):
        # Accepts connections and never responds.
        silent = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(silent.close)
        mute = self.client_at("127.0.0.1:%d" % silent.getsockname()[1], deadline=0.3)
        start = time.monotonic()
        self.assertEqual(self.refused(urls_pb2.GetComplianceUrlRequest(id=1), mute).code, grpc.StatusCode.DEADLINE_EXCEEDED)
        self.assertLess(time.monotonic() - start, 5)
        free = socket.create_server(("127.0.0.1", 0))
        address = "127.0.0.1:%d" % free.getsockname()[1]
        free.close()
        absent = self.client_at(address, tries=2)
        self.assertEqual(self.refused(urls_pb2.GetComplianceUrlRequest(id=1), absent).code, grpc.StatusCode.UNAVAILABLE)

    def test_wrong_ports_are_reported_immediately(self):
        for target, code, message in (
            (f"https://{GRPC}", grpc.StatusCode.UNAVAILABLE, f"^the port does not use TLS: .*{GRPC}"),
            (os.environ["BASE"], grpc.StatusCode.UNIMPLEMENTED, "^this is not the gRPC port: .*404"),
        ):
            start = time.monotonic()
            refused = self.refused(urls_pb2.GetComplianceUrlRequest(id=1), self.client_at(target))
            self.assertEqual(refused.code, code)
            self.assertRegex(refused.message, message)
            self.assertLess(time.monotonic() - start, 10)

    def test_export_resumes_after_lost_connections(self):
        results = list(self.client.observe(self.observations(RECORDS, note="x" * 4000)))
        self.assertEqual({result.code for result in results}, {errors_pb2.RESULT_CODE_SAVED})
        proxy = self.proxy(of_responses=3 << 20)
        messages = list(self.client_at(proxy.address).messages(exports_pb2.ExportUrlsRequest()))
        urls = [observation.url for message in messages for observation in message.observations]
        self.assertEqual(len(urls), len(set(urls)))
        self.assertEqual([url for url in urls if url.startswith(self.prefix)], [f"{self.prefix}/{number}" for number in range(RECORDS)])
        self.assertEqual(proxy.connections, 3)

        # Resumes from a checkpoint, as after a program restart.
        checkpoint = messages[len(messages) // 2].last_url_id
        rest = [one.url for one in self.client.records(exports_pb2.ExportUrlsRequest(after_url_id=checkpoint))]
        self.assertEqual(rest, urls[-len(rest) :])
        self.assertNotIn(len(rest), (0, len(urls)))
        listed = [one.url for one in self.client.records(urls_pb2.ListAllComplianceUrlsRequest())]
        self.assertEqual(listed, urls)

    def test_affiliate_list_resumes_without_duplicates(self):
        for _ in range(60):
            self.affiliate()
        proxy = self.proxy(of_responses=40_000)
        listed = [affiliate.id for affiliate in self.client_at(proxy.address).records(affiliates_pb2.ListAffiliatesRequest())]
        self.assertEqual(listed, sorted(set(listed)))
        self.assertEqual(listed, [affiliate.id for affiliate in self.client.records(affiliates_pb2.ListAffiliatesRequest())])
        self.assertGreater(proxy.connections, 1)

    def test_watch_resumes_after_lost_connections(self):
        first = self.client.call(changes_pb2.ListChangesRequest()).last_position
        ids = [self.affiliate() for _ in range(3)]
        watch = self.client_at(self.proxy(of_responses=400).address).records(changes_pb2.WatchChangesRequest(after=first, types=["affiliate"]))
        seen = []
        while len(seen) < len(ids):
            seen += [change.id for change in next(watch).changes]
        self.assertEqual(seen, ids)

    def test_streams_over_the_limit_are_retried(self):
        list(self.client.observe(self.observations(RECORDS, note="x" * 4000)))
        streams = [self.client.messages(exports_pb2.ExportUrlsRequest()) for _ in range(64)]
        for stream in streams:
            next(stream)
        impatient = self.client_at(GRPC, tries=1)
        with self.assertRaises(Refusal) as refused:
            next(impatient.messages(exports_pb2.ExportUrlsRequest()))
        self.assertEqual((refused.exception.code, refused.exception.reason), (grpc.StatusCode.RESOURCE_EXHAUSTED, "RATE_LIMITED"))
        self.assertGreaterEqual(refused.exception.retry_after, 1)
        end = threading.Timer(0.5, lambda: [stream.close() for stream in streams])
        end.start()
        self.addCleanup(end.join)
        self.assertGreaterEqual(sum(1 for _ in self.client.records(exports_pb2.ExportUrlsRequest())), RECORDS)

    def test_invalid_settings_are_rejected(self):
        for target, certificates, message in (
            ("ftp://127.0.0.1:1", {}, "neither host:port nor https://host:port"),
            ("http://127.0.0.1:1/api", {}, "neither host:port nor https://host:port"),
            (GRPC, {"ca": "ca.pem"}, f"certificates need https, but the service is at {GRPC}"),
            ("https://127.0.0.1:1", {"certificate": "own.pem"}, "certificate and key must be set together"),
            ("https://127.0.0.1:1", {"ca": __file__}, "is not a PEM file"),
        ):
            with self.assertRaisesRegex(ValueError, message):
                Client(target, TOKEN, **certificates)


if __name__ == "__main__":
    unittest.main()
