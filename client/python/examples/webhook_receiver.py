"""Receives a company's changes from a webhook, and prints each change once.

    pip install standardwebhooks
    SECRETS=whsec_… CERTIFICATE=cert.pem KEY=key.pem python client/python/examples/webhook_receiver.py 8443

SECRETS is the webhook's secret. While you rotate it, set SECRETS to the old and the new secret, separated by a comma.
"""

import os
import ssl
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

SECRETS = [Webhook(secret) for secret in os.environ["SECRETS"].split(",")]
# Maximum body size, in bytes. Enough for a message with 100 changes, unless they contain long transcripts.
MAX_BODY = 16 << 20


class Receiver(BaseHTTPRequestHandler):
    position = 0

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        message = self.verified(self.rfile.read(length)) if length <= MAX_BODY else None
        if message is None:
            self.send_error(400)
            return
        if message["type"] == "changes":
            self.process(message["data"])
        # Respond only after processing: the service resends a message until it receives a 2xx response.
        self.send_response(204)
        self.end_headers()

    def verified(self, body: bytes) -> Any:
        """Returns the message if it was signed with one of the secrets within the last five minutes. Otherwise returns None."""
        for secret in SECRETS:
            try:
                return secret.verify(body.decode(), dict(self.headers))
            except (WebhookVerificationError, UnicodeDecodeError):
                continue
        return None

    def process(self, data: dict[str, Any]) -> None:
        """Prints a message's new changes. A message can arrive more than once.

        In your own receiver, store the position in the same transaction as the changes.
        """
        if "restored" in data:
            print(f"a restore lost the changes from {data['restored']} on: read all records again", flush=True)
        elif data["after"] > Receiver.position > 0:
            print(f"the changes up to {data['after']} are missing: read all records again", flush=True)
        for change in data["changes"]:
            if change["position"] > Receiver.position:
                print(change["position"], change["operation"], change["resource"], change["id"], flush=True)
        Receiver.position = max(Receiver.position, data["position"])

    def log_message(self, *_: object) -> None:
        """Disables the request log."""


server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(os.environ["CERTIFICATE"], os.environ["KEY"])
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
