"""Runs the crawler against a running service, also over connections that break.

    GRPC=127.0.0.1:50051 TOKEN=… TOKEN_WITHOUT_SCOPE=… python -m unittest discover client/grpc-python

With SECURE_GRPC=https://…, SECURE_TOKEN, and CERTIFICATES, a folder with the files of deploy/make-certificates, mutual TLS is tested, too.
"""

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import uuid
from pathlib import Path

import grpc

import crawler
from compliance.v1 import errors_pb2, exports_pb2, observations_pb2, urls_pb2, vocabularies_pb2
from crawler import OPTIONS, Crawler, Refusal, refusal

GRPC, TOKEN = os.environ["GRPC"], os.environ["TOKEN"]
RECORDS = 2000


class Proxy:
    """Passes connections on to the service, and closes the first two of them after so many bytes."""

    def __init__(self, of_requests=None, of_responses=None):
        self.limits = (of_requests, of_responses)
        self.connections = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            limits = self.limits if self.connections <= 2 else (None, None)
            threading.Thread(target=self.connect, args=(client, *limits), daemon=True).start()

    def connect(self, client, of_requests, of_responses):
        host, port = GRPC.rsplit(":", 1)
        with client, socket.create_connection((host, int(port))) as service:
            responses = threading.Thread(target=self.relay, args=(service, client, of_responses), daemon=True)
            responses.start()
            self.relay(client, service, of_requests)
            responses.join()

    @staticmethod
    def relay(source, target, most):
        passed = 0
        try:
            while data := source.recv(1 << 16):
                passed += len(data)
                if most and passed > most:
                    break
                target.sendall(data)
        except OSError:
            pass
        for side in (source, target):
            with contextlib.suppress(OSError):
                side.shutdown(socket.SHUT_RDWR)


class TestCrawler(unittest.TestCase):
    def setUp(self):
        self.prefix = f"https://example.org/{uuid.uuid4().hex}"
        self.crawler = self.crawler_at(GRPC)

    def crawler_at(self, address, token=TOKEN):
        return Crawler(self.enterContext(grpc.insecure_channel(address, OPTIONS)), token)

    def proxy(self, **limits):
        proxy = Proxy(**limits)
        self.addCleanup(proxy.listener.close)
        return proxy

    def observations(self, count, **fields):
        return [observations_pb2.UrlObservation(url=f"{self.prefix}/{number}", **fields) for number in range(count)]

    def test_findings_are_saved_and_read(self):
        wrong = observations_pb2.UrlObservation(url=f"{self.prefix}/x", country="ZZ")
        wrong.infractions.add(infraction_type="Health Claim", infraction_name="unlimited income")
        saved, refused = self.crawler.observe([*self.observations(1, landing_page="https://example.org"), wrong])
        self.assertEqual((saved.code, saved.created), (errors_pb2.RESULT_CODE_SAVED, True))
        self.assertEqual(refused.code, errors_pb2.RESULT_CODE_UPDATE_FAILED)
        fields = {violation.field for violation in refused.violations}
        self.assertEqual(fields, {"country", "infractions.0.infraction_name"})

        for changed in (True, False):
            (result,) = self.crawler.record(saved.url_id, ("Health Claim", "weight loss"))
            self.assertEqual((result.code, result.changed), (errors_pb2.RESULT_CODE_SAVED, changed))
        url = self.crawler.read(saved.url_id)
        self.assertEqual((url.url, url.landing_page), (f"{self.prefix}/0", "https://example.org"))
        self.assertEqual([infraction.infraction_name for infraction in url.infractions], ["weight loss"])
        statuses = self.crawler.vocabulary(vocabularies_pb2.VOCABULARY_KIND_URL_INCIDENT_STATUS)
        self.assertIn(url.incident_status, statuses)

    def test_errors_have_a_reason_and_violations(self):
        with self.assertRaises(Refusal) as refused:
            self.crawler.read(2**53 - 1)
        self.assertEqual((refused.exception.code, refused.exception.reason), (grpc.StatusCode.NOT_FOUND, "URL_NOT_FOUND"))
        with self.assertRaises(Refusal) as refused:
            request = urls_pb2.ListComplianceUrlsRequest(per_page=1000, discovery_after="yesterday")
            self.crawler.call(self.crawler.urls.ListComplianceUrls, request)
        self.assertEqual(refused.exception.reason, "INVALID_FIELDS")
        self.assertEqual(set(refused.exception.violations), {"per_page", "discovery_after"})
        for token, reason in (("nonsense", "TOKEN_INVALID"), (os.environ["TOKEN_WITHOUT_SCOPE"], "SCOPE_MISSING")):
            with self.assertRaises(Refusal) as refused:
                self.crawler_at(GRPC, token).observe(self.observations(1))
            self.assertEqual(refused.exception.reason, reason)

    def test_a_call_is_repeated_after_lost_connections(self):
        # The preface and the settings are shorter, a token is longer.
        proxy = self.proxy(of_requests=300)
        (saved,) = self.crawler_at(proxy.address).observe(self.observations(1))
        self.assertEqual((saved.code, proxy.connections), (errors_pb2.RESULT_CODE_SAVED, 3))

    def test_a_call_ends_at_its_deadline(self):
        # It accepts connections and never responds.
        silent = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(silent.close)
        mute = self.crawler_at("127.0.0.1:%d" % silent.getsockname()[1])
        start = time.monotonic()
        with self.assertRaises(grpc.RpcError) as error:
            mute.urls.GetComplianceUrl(urls_pb2.GetComplianceUrlRequest(id=1), timeout=0.3, metadata=mute.metadata)
        self.assertEqual(refusal(error.exception).code, grpc.StatusCode.DEADLINE_EXCEEDED)
        self.assertLess(time.monotonic() - start, 5)

    def test_an_export_resumes_after_lost_connections(self):
        results = self.crawler.observe(self.observations(RECORDS, note="x" * 4000))
        self.assertEqual({result.code for result in results}, {errors_pb2.RESULT_CODE_SAVED})
        proxy = self.proxy(of_responses=3 << 20)
        exported = list(self.crawler_at(proxy.address).export())
        urls = [observation.url for _, observation in exported]
        self.assertEqual(len(urls), len(set(urls)))
        self.assertEqual([url for url in urls if url.startswith(self.prefix)], [f"{self.prefix}/{number}" for number in range(RECORDS)])
        self.assertEqual(proxy.connections, 3)

        # As after an interruption of the program.
        checkpoint = exported[len(exported) // 2][0]
        index = next(index for index, (last, _) in enumerate(exported) if last > checkpoint)
        rest = [observation.url for _, observation in self.crawler.export(checkpoint)]
        self.assertEqual(rest, urls[index:])

    def test_streams_above_the_limit_wait(self):
        self.crawler.observe(self.observations(RECORDS, note="x" * 4000))
        request, metadata = exports_pb2.ExportUrlsRequest(), self.crawler.metadata
        streams = [self.crawler.monitoring.ExportUrls(request, timeout=60, metadata=metadata) for _ in range(64)]
        for stream in streams:
            next(stream)
        with self.assertRaises(grpc.RpcError) as error:
            next(self.crawler.monitoring.ExportUrls(request, timeout=60, metadata=metadata))
        refused = refusal(error.exception)
        self.assertEqual((refused.code, refused.reason), (grpc.StatusCode.RESOURCE_EXHAUSTED, "RATE_LIMITED"))
        self.assertGreaterEqual(refused.retry_after, 1)
        end = threading.Timer(0.5, lambda: [stream.cancel() for stream in streams])
        end.start()
        self.addCleanup(end.join)
        self.assertGreaterEqual(sum(1 for _ in self.crawler.export()), RECORDS)

    def test_the_program_names_refused_lines(self):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        findings = folder / "findings.ndjson"
        good = '{"url": "%s/%d", "last_seen": "2026-01-31T12:00:00Z"}\n'
        findings.write_text(good % (self.prefix, 1) + "\n" + '{"url": "nowhere"}\n' + good % (self.prefix, 2))
        for summary in ("2 new, 0 known, 1 refused\n", "0 new, 2 known, 1 refused\n"):
            result = subprocess.run([sys.executable, crawler.__file__, findings], capture_output=True, text=True, timeout=60)
            self.assertEqual((result.returncode, result.stdout), (1, summary), result.stderr)
            self.assertEqual(result.stderr, f"{findings}:3: url: The url field must be a valid URL.\n")
        findings.write_text('{"link": 1}')
        result = subprocess.run([sys.executable, crawler.__file__, findings], capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, 2)
        self.assertIn(f"{findings}:1: ", result.stderr)

    def run_crawler(self, **settings):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        findings = folder / "findings.ndjson"
        findings.write_text('{"url": "%s/1"}' % self.prefix)
        command, environment = [sys.executable, crawler.__file__, findings], {**os.environ, **settings}
        return subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)

    def test_settings_that_cannot_work_are_reported_at_once(self):
        settings = (
            ({"GRPC": "ftp://127.0.0.1:1"}, "neither host:port nor https://host:port"),
            ({"GRPC_CA": "ca.pem"}, f"certificates are for https, and GRPC is {GRPC}"),
            ({"GRPC": "https://127.0.0.1:1", "GRPC_CERT": "own.pem"}, "GRPC_CERT and GRPC_KEY belong together"),
            ({"GRPC": "https://127.0.0.1:1", "GRPC_CA": __file__}, "is no PEM file"),
            ({"GRPC": "https://127.0.0.1:1", "GRPC_CA": "/nowhere"}, "No such file or directory: '/nowhere'"),
        )
        for wrong, message in settings:
            result = self.run_crawler(**wrong)
            self.assertEqual(result.returncode, 2)
            self.assertIn(message, result.stderr)

    @unittest.skipUnless("SECURE_GRPC" in os.environ, "no service with TLS")
    def test_who_trusts_the_authority_and_has_a_certificate_is_served(self):
        folder = Path(os.environ["CERTIFICATES"])
        trust = {"GRPC": os.environ["SECURE_GRPC"], "TOKEN": os.environ["SECURE_TOKEN"], "GRPC_CA": str(folder / "authority.pem")}
        identity = {"GRPC_CERT": str(folder / "gateway.pem"), "GRPC_KEY": str(folder / "gateway-key.pem")}
        result = self.run_crawler(**trust, **identity)
        self.assertEqual((result.returncode, result.stdout), (0, "1 new, 0 known, 0 refused\n"), result.stderr)
        self.assertEqual(self.run_crawler(**trust).returncode, 2)
        self.assertEqual(self.run_crawler(**{**trust, "GRPC_CA": ""}, **identity).returncode, 2)


if __name__ == "__main__":
    unittest.main()
