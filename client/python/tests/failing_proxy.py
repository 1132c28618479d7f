"""A proxy for the service that simulates network failures and a busy service."""

import itertools
import json
import os
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import requests

BASE, TOKEN = os.environ["BASE"], os.environ["TOKEN"]


class FailingProxy(BaseHTTPRequestHandler):
    """Forwards requests to the service, and fails the first ones as specified in `failures`."""

    failures: list[Any] = []
    seen: list[tuple[str, Any]] = []

    def forward(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        failure = self.failures.pop(0) if self.failures else None
        self.seen.append((self.command, failure))
        if isinstance(failure, int):
            sentence = {"code": str(failure), "status": "error", "detail": {"msg": "Please wait."}}
            self.respond(failure, json.dumps(sentence).encode(), {"Retry-After": "1"})
            return
        if isinstance(failure, dict):
            self.respond(503, b"", failure)
            return
        if failure == "lost before":
            self.connection.close()
            return
        headers = {name: self.headers[name] for name in ("Authorization", "Content-Type", "If-Match", "Accept", "Last-Event-ID") if name in self.headers}
        if isinstance(failure, tuple):
            self.stream(headers, *failure)
            return
        answer = requests.request(self.command, BASE + self.path, data=body, headers=headers, timeout=60)
        kind = {"Content-Type": answer.headers.get("Content-Type", "")}
        if failure == "lost after":
            self.connection.close()
        elif failure == "silent":
            # Returns after the client gives up.
            self.connection.recv(1)
        elif failure == "half":
            self.respond(answer.status_code, answer.content[: len(answer.content) // 2], kind | {"Content-Length": str(len(answer.content))})
            self.connection.close()
        elif callable(failure):
            failure()
            self.respond(answer.status_code, answer.content, kind)
        else:
            self.respond(answer.status_code, answer.content, kind)

    def stream(self, headers: dict[str, str], lines: int) -> None:
        """Forwards the first `lines` lines of an event stream."""
        with requests.get(BASE + self.path, headers=headers, timeout=60, stream=True) as answer:
            self.send_response(answer.status_code)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for line in itertools.islice(answer.iter_lines(), lines):
                self.wfile.write(b"%x\r\n%s\n\r\n" % (len(line) + 1, line))

    def respond(self, status: int, body: bytes, headers: dict[str, str] = {}) -> None:
        self.send_response(status)
        for name, value in ({"Content-Type": "application/json", "Content-Length": str(len(body))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = forward

    def log_message(self, *_: object) -> None:
        pass


class Proxy(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Ignores errors from disconnected clients."""


def start_proxy(test: unittest.TestCase, failures: list[Any] | None = None) -> str:
    """Starts a proxy that runs until the test ends, and returns its address."""
    proxy = Proxy(("127.0.0.1", 0), FailingProxy)
    threading.Thread(target=proxy.serve_forever, args=[0.01], daemon=True).start()
    test.addCleanup(proxy.server_close)
    test.addCleanup(proxy.shutdown)
    FailingProxy.failures, FailingProxy.seen = failures or [], []
    return f"http://127.0.0.1:{proxy.server_port}"
