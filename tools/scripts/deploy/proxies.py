"""Runs nginx and HAProxy with the files in deploy/, in front of two gateways and two cores: `proxies.py PROGRAM`. Restarts the gateways and
cores one by one under load, and fails if a request fails. Then makes the cores require TLS. Needs grpcio."""

import http.client
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import threading
import time
from pathlib import Path

import grpc

from machine import WAIT, Machine, Process, blocks, fail, is_ready, wait_until, writes_and_reads

# Requests per client before the first restart, and after each restart.
REQUESTS = 30
GET_AFFILIATE = "/compliance.v1.AffiliateService/GetAffiliate"


class Client(threading.Thread):
    """Sends requests one by one over one connection, and counts the correct responses."""

    def __init__(self, name):
        super().__init__(name=name, daemon=True)
        self.right, self.problem, self.running = 0, None, True

    def run(self):
        while self.running and not self.problem:
            try:
                self.request(self.right)
                self.right += 1
            except Exception as error:  # noqa: BLE001
                self.problem = f"{self.name}, request {self.right}: {error!r}"

    def check(self):
        if self.problem:
            fail(self.problem)


class Rest(Client):
    """Creates, reads, updates and lists records over one HTTP/1.1 connection."""

    def __init__(self, name, address, context, token):
        super().__init__(name)
        self.connection = http.client.HTTPSConnection(address, 443, context=context, timeout=WAIT)
        self.headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self.affiliate = None

    def request(self, number):
        if number % 4 == 0:
            new = {"client_affiliate_id": self.name, "affiliate_name": f"{self.name} {number}"}
            self.affiliate = self.call("POST", "/api/affiliates", 201, new)["detail"]["affiliate_id"]
        elif number % 4 == 1:
            self.call("GET", f"/api/affiliates/{self.affiliate}", 200)
        elif number % 4 == 2:
            self.call("PUT", f"/api/affiliates/{self.affiliate}", 200, {"id": self.affiliate, "city": str(number)})
        else:
            self.call("GET", "/api/urls?per_page=1", 200)

    def call(self, method, path, expected, body=None):
        self.connection.request(method, path, json.dumps(body) if body else None, self.headers)
        response = self.connection.getresponse()
        text = response.read().decode()
        if response.status != expected:
            raise RuntimeError(f"{method} {path}: {response.status} {text}")
        return json.loads(text)


class Grpc(Client):
    """Reads an affiliate over one channel, without retries."""

    def __init__(self, name, address, authority, token):
        super().__init__(name)
        credentials = grpc.ssl_channel_credentials(authority)
        # The certificate is for this name.
        options = [("grpc.ssl_target_name_override", "localhost"), ("grpc.enable_retries", 0), ("grpc.use_local_subchannel_pool", 1)]
        self.call = grpc.secure_channel(f"{address}:50051", credentials, options).unary_unary(GET_AFFILIATE)
        self.metadata = [("authorization", f"Bearer {token}")]

    def request(self, _):
        # A request with the ID 1.
        self.call(b"\x08\x01", metadata=self.metadata, timeout=WAIT)


class Service:
    """A service process that can restart at its address."""

    def __init__(self, machine, program, name, environment):
        self.machine, self.name = machine, name
        self.address = machine.address()
        self.command = [program, name.split("-")[0]]
        listen = {"COMPLIANCE_REST_ADDR": f"{self.address}:8080", "COMPLIANCE_GRPC_ADDR": f"{self.address}:50051"}
        self.environment = listen | environment
        self.start()

    def start(self):
        self.process = self.machine.start(self.name, self.command, self.environment)
        wait_until(f"{self.name} is ready", lambda: " ready " in self.process.log(), self.process)

    def restart(self):
        self.machine.processes.remove(self.process)
        self.process.stop()
        self.start()


def certificate(folder):
    """Creates an authority and a certificate for `localhost`, as the page does. Returns their files."""
    subprocess.run([folder / "deploy/make-certificates"], check=True, stderr=subprocess.DEVNULL)
    secrets = folder / "deploy/secrets"
    bundle = secrets / "bundle.pem"
    bundle.write_bytes((secrets / "gateway.pem").read_bytes() + (secrets / "gateway-key.pem").read_bytes())
    return secrets / "authority.pem", secrets / "gateway.pem", secrets / "gateway-key.pem", bundle


def configured(text, address, services, certificate_file, key, bundle):
    """Returns a configuration file with this machine's addresses and certificate."""
    for service in services:
        text = text.replace(f"{service.name}:", f"{service.address}:")
    text = re.sub(r"^(\s*listen) (\d+)", rf"\1 {address}:\2", text, flags=re.MULTILINE)
    text = re.sub(r"^(\s*bind) :(\d+)", rf"\1 {address}:\2", text, flags=re.MULTILINE)
    text = text.replace("/etc/nginx/tls/api-key.pem", str(key)).replace("/etc/nginx/tls/api.pem", str(certificate_file))
    return text.replace("/etc/haproxy/tls/api.pem", str(bundle))


def secured(text, kind, certificate_file, key, bundle):
    """Returns a configuration file changed for cores that require TLS, as the page says."""
    (lines,) = blocks("docs/operations/proxies.md", "Cores that require TLS", kind)
    if kind == "nginx":
        plain, lines = "        grpc_pass grpc://cores;\n", lines.replace(f"/etc/{kind}/tls/gateway.pem", str(certificate_file))
    else:
        plain = "".join(f"    server core-{number} core-{number}:50051 proto h2\n" for number in (1, 2))
        lines = (lines + lines.replace("core-1", "core-2")).replace(f"/etc/{kind}/tls/gateway.pem", str(bundle))
    if plain not in text:
        fail(f"the configuration of {kind} does not contain {plain}")
    text = text.replace(plain, lines).replace(f"/etc/{kind}/tls/gateway-key.pem", str(key))
    return text.replace(f"/etc/{kind}/tls/authority.pem", str(bundle.with_name("authority.pem")))


def nginx(machine, text):
    """Returns the command for nginx. Includes the configuration file in `http`, as distributions do."""
    folder = machine.folder / "nginx"
    folder.mkdir(exist_ok=True)
    (folder / "compliance.conf").write_text(text)
    paths = "".join(f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/pid; user root; error_log stderr error; events {{}}\n"
        f"http {{ access_log off; {paths} include {folder}/compliance.conf; }}\n"
    )
    return ["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf")]


def haproxy(machine, text):
    file = machine.folder / "haproxy.cfg"
    file.write_text(text)
    return ["haproxy", "-db", "-f", str(file)]


RECIPES = (("nginx", "nginx/compliance.conf", nginx), ("haproxy", "haproxy/haproxy.cfg", haproxy))


def succeeds(client):
    try:
        client.request(None)
    except grpc.RpcError:
        return False
    return True


def served_everywhere(clients):
    """Waits until each client has received `REQUESTS` more responses."""
    goals = [(client, client.right + REQUESTS) for client in clients]
    wait_until("all clients have received responses", lambda: all(client.right >= goal for client, goal in goals), *clients)


def is_up(haproxy, name):
    """Returns whether HAProxy uses a server again after its restart."""
    log = haproxy.log()
    return log.count(f"/{name} is UP") >= log.count(f"/{name} is DOWN")


def main():
    program = Path(sys.argv[1]).resolve()
    with Machine() as machine:
        folder, _ = machine.set_up_database()
        secrets = folder / "deploy/secrets"

        def run(*command, **environment):
            settings = {"PATH": os.environ["PATH"], **environment}
            return subprocess.run([program, *command], env=settings, check=True, stdout=subprocess.PIPE, text=True, timeout=WAIT).stdout

        run("migrate", "--service-role", "compliance_service", COMPLIANCE_DATABASE_URL_FILE=str(secrets / "owner-database-url"))
        key = {"COMPLIANCE_JWT_SECRET_FILE": str(secrets / "jwt-secret")}
        common = key | {"COMPLIANCE_LOG": "info"}
        core = common | {"COMPLIANCE_DATABASE_URL_FILE": str(secrets / "service-database-url"), "COMPLIANCE_RATE_LIMIT": "off"}
        services = [Service(machine, program, f"core-{number}", core) for number in (1, 2)]
        gateway = common | {
            "COMPLIANCE_CORE_URL": ",".join(f"http://{service.address}:50051" for service in services),
        }
        services += [Service(machine, program, f"gateway-{number}", gateway) for number in (1, 2)]
        for service in services[2:]:
            wait_until(f"{service.name} is ready for requests", lambda: is_ready(service.address), service.process)  # noqa: B023
        token = run("token", "--company", "1", **key).strip()
        authority, *files = certificate(folder)
        context = ssl.create_default_context(cafile=authority)
        # The clients connect to the proxies by IP address.
        context.check_hostname = False
        clients, proxies = [], {}
        for kind, recipe, command in RECIPES:
            address = machine.address()
            text = configured(Path("deploy", recipe).read_text(), address, services, *files)
            arguments = command(machine, text)
            process = machine.keep(Process(kind, [shutil.which(arguments[0]), *arguments[1:]], {"PATH": "/usr/sbin:/usr/bin"}, machine.folder))
            wait_until(f"{kind} is ready", lambda: served(address, context), process)  # noqa: B023
            proxies[kind] = process
            clients += [Rest(f"{kind}-{number}", address, context, token) for number in range(4)]
            clients += [Grpc(f"{kind}-grpc", address, authority.read_bytes(), token)]
        began = time.monotonic()
        # Creates the affiliate that the gRPC clients read.
        writes_and_reads(services[-1].address, token, "proxies")
        for client in clients:
            client.start()
        served_everywhere(clients)
        for service in services:
            service.restart()
            # HAProxy checks its servers once a second.
            time.sleep(1)
            wait_until(f"HAProxy has noticed {service.name}", lambda: is_up(proxies["haproxy"], service.name), proxies["haproxy"])  # noqa: B023
            served_everywhere(clients)
        for client in clients:
            client.running = False
        for client in clients:
            client.join()
            client.check()
        # The cores now require TLS and client certificates.
        tls = {"TLS_CERT": secrets / "core.pem", "TLS_KEY": secrets / "core-key.pem", "CLIENT_CA": authority}
        for service in services[:2]:
            service.environment |= {f"COMPLIANCE_GRPC_{name}": str(file) for name, file in tls.items()}
            service.restart()
        for kind, recipe, command in RECIPES:
            address = machine.address()
            text = secured(Path("deploy", recipe).read_text(), kind, *files)
            arguments = command(machine, configured(text, address, services, *files))
            process = machine.keep(Process(kind, [shutil.which(arguments[0]), *arguments[1:]], {"PATH": "/usr/sbin:/usr/bin"}, machine.folder))
            client = Grpc(f"{kind}-tls", address, authority.read_bytes(), token)
            wait_until(f"{kind} reaches cores with TLS", lambda: succeeds(client), process)  # noqa: B023
        total = sum(client.right for client in clients)
        print(f"nginx and HAProxy: all {total} requests succeeded in {time.monotonic() - began:.0f} s, with {len(services)} restarts")


def served(address, context):
    connection = http.client.HTTPSConnection(address, 443, context=context, timeout=10)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except OSError:
        return False


main()
