"""Checks that the image knows certificate authorities: a gateway in it loads a key set from an https address, whose authority is
added as Debian adds one. `authorities.py ROOT`"""

import base64
import json
import ssl
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

from machine import Machine, wait_until

HOST = "keys.internal"


def openssl(folder, *arguments):
    return subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True).stdout


def certificate(folder):
    """Writes an authority, and a certificate for the host."""
    request = ["req", "-newkey", "rsa:2048", "-nodes"]
    openssl(folder, *request, "-x509", "-days", "2", "-subj", "/CN=test authority", "-keyout", "ca.key", "-out", "ca.crt")
    openssl(folder, *request, "-subj", f"/CN={HOST}", "-keyout", "key", "-out", "request")
    (folder / "names").write_text(f"subjectAltName=DNS:{HOST}\n")
    authority = ["-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial"]
    openssl(folder, "x509", "-req", "-in", "request", *authority, "-days", "2", "-extfile", "names", "-out", "certificate")


def key_set(folder):
    openssl(folder, "genpkey", "-algorithm", "ed25519", "-out", "signing")
    public = openssl(folder, "pkey", "-in", "signing", "-pubout", "-outform", "DER")[-32:]
    x = base64.urlsafe_b64encode(public).decode().rstrip("=")
    return json.dumps({"keys": [{"kty": "OKP", "crv": "Ed25519", "x": x, "kid": "1"}]}).encode()


def serve(address, folder, body):
    """Serves the key set, and returns the port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = HTTPServer((address, 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "certificate", folder / "key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port


def main():
    with Machine(sys.argv[1]) as machine:
        folder = machine.folder
        certificate(folder)
        port = serve(machine.address(HOST), folder, key_set(folder))
        added = "usr/local/share/ca-certificates/test.crt"
        machine.mount(added, (folder / "ca.crt").read_bytes())
        try:
            machine.succeed(["update-ca-certificates"], {}, user="0:0")
            environment = {"COMPLIANCE_JWKS_URL": f"https://{HOST}:{port}/", "COMPLIANCE_CORE_URL": "http://127.0.0.1:50051"}
            listen = {"COMPLIANCE_REST_ADDR": "127.0.0.1:8080"}
            gateway = machine.start("gateway", ["compliance", "gateway"], environment | listen, machine.address())
            wait_until("a gateway has loaded a key set from an https address", lambda: " ready " in gateway.log(), gateway)
            machine.stop()
        finally:
            (machine.root / added).unlink()
            machine.run(["update-ca-certificates", "--fresh"], {}, user="0:0")


main()
