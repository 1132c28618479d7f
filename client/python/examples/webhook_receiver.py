"""Receives the changes of a company, and prints each once.

    pip install standardwebhooks
    SECRETS=whsec_… CERTIFICATE=cert.pem KEY=key.pem python client/python/examples/webhook_receiver.py 8443

While a secret is rotated, SECRETS has both, separated by commas.
"""

import os
import ssl
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

SECRETS = [Webhook(secret) for secret in os.environ["SECRETS"].split(",")]
# More than a message of 100 changes takes, unless they have long transcripts.
MOST = 16 << 20


class Receiver(BaseHTTPRequestHandler):
    position = 0

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        message = self.verified(self.rfile.read(length)) if length <= MOST else None
        if message is None:
            self.send_error(400)
            return
        if message["type"] == "changes":
            self.take(message["data"])
        # Only now, so that a message is sent again if it was not taken.
        self.send_response(204)
        self.end_headers()

    def verified(self, body: bytes) -> Any:
        """The message, if it is signed with a secret and not older than five minutes."""
        for secret in SECRETS:
            try:
                return secret.verify(body.decode(), dict(self.headers))
            except (WebhookVerificationError, UnicodeDecodeError):
                continue
        return None

    def take(self, data: dict[str, Any]) -> None:
        """Takes what is new: a message that was received already may come again. A real receiver stores the position together with
        what it makes of the changes."""
        if "restored" in data:
            print(f"the changes from {data['restored']} on are lost by a restore: read all records again", flush=True)
        elif data["after"] > Receiver.position > 0:
            print(f"the changes up to {data['after']} are missing: read all records again", flush=True)
        for change in data["changes"]:
            if change["position"] > Receiver.position:
                print(change["position"], change["operation"], change["resource"], change["id"], flush=True)
        Receiver.position = max(Receiver.position, data["position"])

    def log_message(self, *_: object) -> None:
        """Says nothing of each request."""


server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(os.environ["CERTIFICATE"], os.environ["KEY"])
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
