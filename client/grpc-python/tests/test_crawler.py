"""Tests the crawler against a running service.

    GRPC=127.0.0.1:50051 TOKEN=… python -m unittest discover client/grpc-python/tests

To also test mutual TLS, set SECURE_GRPC=https://…, SECURE_TOKEN, and CERTIFICATES, a folder with the files of deploy/make-certificates.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
import uuid
from pathlib import Path

import grpc
from affiliate_compliance_grpc import Client, Refusal
from compliance.v1 import vocabularies_pb2

CRAWLER = Path(__file__).parent.parent / "examples/crawler.py"


class TestCrawler(unittest.TestCase):
    def setUp(self):
        self.prefix = f"https://example.org/{uuid.uuid4().hex}"

    def test_rejected_lines_are_printed_with_reasons(self):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        findings = folder / "findings.ndjson"
        good = '{"url": "%s/%d", "last_seen": "2026-01-31T12:00:00Z"}\n'
        findings.write_text(good % (self.prefix, 1) + "\n" + '{"url": "nowhere"}\n' + good % (self.prefix, 2))
        for summary in ("2 new, 0 known, 1 refused\n", "0 new, 2 known, 1 refused\n"):
            result = subprocess.run([sys.executable, CRAWLER, findings], capture_output=True, text=True, timeout=60)
            self.assertEqual((result.returncode, result.stdout), (1, summary), result.stderr)
            self.assertEqual(result.stderr, f"{findings}:3: url: The url field must be a valid URL.\n")
        for wrong, reason in (
            ('{"link": 1}', r'Message .* has no field named "link" .* Known fields: url, incident_status, .*'),
            ("[1]", "the line is not a JSON object"),
        ):
            findings.write_text(good % (self.prefix, 1) + '{"url": "nowhere"}\n' + wrong)
            result = subprocess.run([sys.executable, CRAWLER, findings], capture_output=True, text=True, timeout=60)
            self.assertEqual((result.returncode, result.stdout), (1, "0 new, 1 known, 2 refused\n"), result.stderr)
            self.assertRegex(result.stderr, f"^{findings}:3: {reason}\n{findings}:2: url: .*\n$")
        findings.write_text(good % (self.prefix, 1), encoding="utf-8-sig")
        result = subprocess.run([sys.executable, CRAWLER, findings], capture_output=True, text=True, timeout=60)
        self.assertEqual(result.stdout, "0 new, 1 known, 0 refused\n", result.stderr)

    def run_crawler(self, **settings):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        findings = folder / "findings.ndjson"
        findings.write_text('{"url": "%s/1"}' % self.prefix)
        command, environment = [sys.executable, CRAWLER, findings], {**os.environ, **settings}
        return subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)

    def test_invalid_settings_stop_the_crawler(self):
        settings = (
            ({"GRPC": "ftp://127.0.0.1:1"}, "neither host:port nor https://host:port"),
            ({"GRPC_CA": "ca.pem"}, "certificates need https"),
            ({"TOKEN": "nonsense"}, "TOKEN_INVALID"),
            ({"GRPC": "https://127.0.0.1:1", "GRPC_CA": "/nowhere"}, "No such file or directory: '/nowhere'"),
        )
        for wrong, message in settings:
            result = self.run_crawler(**wrong)
            self.assertEqual(result.returncode, 2)
            self.assertIn(message, result.stderr)

    def test_saved_findings_are_counted_before_an_error(self):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        findings = folder / "findings.ndjson"
        # The service refuses the second batch because it is too large.
        findings.write_text("".join(json.dumps({"url": f"{self.prefix}/{n}", "note": "x" * (n // 500) * (70 << 20)}) + "\n" for n in range(501)))
        result = subprocess.run([sys.executable, CRAWLER, findings], capture_output=True, text=True, timeout=60)
        self.assertEqual((result.returncode, result.stdout), (2, "500 new, 0 known, 0 refused\n"), result.stderr)
        self.assertRegex(result.stderr, "^crawler: BODY_TOO_LARGE: ")

    @unittest.skipUnless("SECURE_GRPC" in os.environ, "SECURE_GRPC is not set")
    def test_mutual_tls_requires_ca_and_client_certificates(self):
        folder = Path(os.environ["CERTIFICATES"])
        trust = {"GRPC": os.environ["SECURE_GRPC"], "TOKEN": os.environ["SECURE_TOKEN"], "GRPC_CA": str(folder / "authority.pem")}
        identity = {"GRPC_CERT": str(folder / "gateway.pem"), "GRPC_KEY": str(folder / "gateway-key.pem")}
        result = self.run_crawler(**trust, **identity)
        self.assertEqual((result.returncode, result.stdout), (0, "1 new, 0 known, 0 refused\n"), result.stderr)
        ca, certificate, key = trust["GRPC_CA"], identity["GRPC_CERT"], identity["GRPC_KEY"]
        for certificates in ({"ca": ca}, {"certificate": certificate, "key": key}):
            client = self.enterContext(Client(trust["GRPC"], trust["TOKEN"], tries=2, **certificates))
            with self.assertRaises(Refusal) as refused:
                client.call(vocabularies_pb2.ListVocabulariesRequest())
            self.assertEqual(refused.exception.code, grpc.StatusCode.UNAVAILABLE)
        # Permanent errors end the crawler without retries. The certificate contains no IP address.
        trust["GRPC"] = trust["GRPC"].replace("localhost", "127.0.0.1")
        for authority, reason in (("", "is not trusted"), (ca, "is for a different host")):
            result = self.run_crawler(**trust | identity | {"GRPC_CA": authority})
            self.assertEqual(result.returncode, 2)
            self.assertRegex(result.stderr, f"crawler: UNAVAILABLE: the service's certificate {reason}: .*127.0.0.1")
            self.assertNotIn("retrying", result.stderr)


if __name__ == "__main__":
    unittest.main()
