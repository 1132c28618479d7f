"""Runs the job against a running service, through a proxy that fails as networks and busy services do.

    BASE=http://127.0.0.1:8080 TOKEN=… python -m unittest discover client/python
"""

import csv
import json
import os
import subprocess
import sys
import tempfile
import threading
import unittest
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import requests

from sync_affiliates import Service, Stopped, sync

BASE, TOKEN = os.environ["BASE"], os.environ["TOKEN"]
JOB = Path(__file__).with_name("sync_affiliates.py")


class FailingProxy(BaseHTTPRequestHandler):
    """Passes requests on to the service, except those that `failures` has something else for."""

    failures = []
    seen = []

    def forward(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        failure = self.failures.pop(0) if self.failures else None
        self.seen.append((self.command, failure))
        if failure in (429, 503):
            body = json.dumps({"code": str(failure), "status": "error", "detail": {"msg": "Please wait."}}).encode()
            self.send_response(failure)
            self.send_header("Retry-After", "1")
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            return
        if failure == "lost before":
            self.connection.close()
            return
        headers = {name: self.headers[name] for name in ("Authorization", "Content-Type") if name in self.headers}
        answer = requests.request(self.command, BASE + self.path, data=body, headers=headers, timeout=60)
        if failure == "lost after":
            self.connection.close()
            return
        if failure == "silent":
            threading.Event().wait(3)
            return
        self.send_response(answer.status_code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer.content)))
        self.end_headers()
        self.wfile.write(answer.content)

    do_GET = do_POST = do_PUT = forward

    def log_message(self, *_):
        pass


def start_proxy(test):
    """The address of a proxy that runs as long as a test."""
    proxy = ThreadingHTTPServer(("127.0.0.1", 0), FailingProxy)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    test.addCleanup(proxy.server_close)
    test.addCleanup(proxy.shutdown)
    FailingProxy.failures, FailingProxy.seen = [], []
    return f"http://127.0.0.1:{proxy.server_port}"


class SyncAffiliates(unittest.TestCase):
    def setUp(self):
        self.service = Service(start_proxy(self), TOKEN, timeouts=(2, 2))
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.prefix = uuid.uuid4().hex

    def file(self, count, **changes):
        """A file of so many affiliates of this test."""
        path = self.folder / "affiliates.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, ["client_affiliate_id", "affiliate_name", "city", "country"])
            writer.writeheader()
            for number in range(count):
                row = {"client_affiliate_id": f"A-{number}", "affiliate_name": f"{self.prefix} {number}", "city": "Łódź", "country": "PL"}
                writer.writerow(row | changes)
        return path

    def stored(self):
        data = Service(BASE, TOKEN).call("GET", "/affiliates")["data"]
        return [affiliate for affiliate in data if affiliate["distributor_name"].startswith(self.prefix)]

    def test_everything_arrives_once_although_much_fails(self):
        # The list, three batches of creation, and the list again.
        FailingProxy.failures = [429, "lost before", None, 503, "lost after", None, "silent", None, "lost before"]
        created, changed, refused = sync(self.service, self.file(1200))
        self.assertEqual((created, changed, refused), (1200, 0, []))
        self.assertFalse(FailingProxy.failures, "the failures have happened")
        self.assertEqual(len(self.stored()), 1200)

        FailingProxy.failures = [None, "lost after", 503]
        created, changed, refused = sync(self.service, self.file(1200, city="Gdańsk"))
        self.assertEqual((created, changed, refused), (0, 1200, []))
        self.assertEqual({affiliate["city"] for affiliate in self.stored()}, {"Gdańsk"})
        self.assertEqual(sync(self.service, self.file(1200, city="Gdańsk")), (0, 0, []))
        self.assertEqual(sync(self.service, self.file(3, country="DE"), whole=True), (0, 3, []))
        self.assertEqual(sum(affiliate["country"] == 276 for affiliate in self.stored()), 3)

    def test_refused_rows_are_named(self):
        path = self.file(2)
        with path.open("a", encoding="utf-8") as file:
            file.write(f"A-3,{self.prefix} 3,Nowhere,XX\n")
        token = self.folder / "token"
        token.write_text(TOKEN)
        command = [sys.executable, JOB, path, "--base-url", BASE, "--token-file", token]
        result = subprocess.run(command, capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertRegex(result.stderr, r"affiliates\.csv:4: 1024 ")
        self.assertEqual(result.stdout, "3 to create, 0 to change, 1 refused\n")
        self.assertEqual(len(self.stored()), 2)

    def test_what_cannot_go_on_says_why(self):
        with self.assertRaisesRegex(Stopped, "401"):
            sync(Service(BASE, "nonsense"), self.file(1))
        with self.assertRaisesRegex(Stopped, "refuses the rows: .*email_one"):
            path = self.folder / "wrong.csv"
            path.write_text(f"client_affiliate_id,affiliate_name,email_one\nA,{self.prefix},nobody\n")
            sync(self.service, path)


if __name__ == "__main__":
    unittest.main()
