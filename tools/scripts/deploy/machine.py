"""Runs programs at separate loopback addresses, and the pages' commands."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

PAGE = Path("docs/deployment.md")
WAIT = 120


def fail(message):
    sys.exit(f"{Path(sys.argv[0]).name}: {message}")


def blocks(page, heading, language="sh"):
    """Returns the code blocks in a page section."""
    flags = re.MULTILINE | re.DOTALL
    section = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", Path(page).read_text(), flags)
    found = re.findall(rf"^```{language}\n(.*?)^```", section[1], flags) if section else []
    return found or fail(f"{page} contains no {language} block in the section {heading}")


def paste(block, folder, functions="", **environment):
    """Runs a code block in a shell that stops at the first error."""
    script = f"set -euo pipefail\n{functions}\n{block}"
    run = {"cwd": folder, "env": os.environ | environment, "capture_output": True, "text": True, "timeout": WAIT}
    result = subprocess.run(["bash", "-c", script], **run)
    if result.returncode != 0:
        fail(f"these commands exited with {result.returncode}: {block}{result.stdout}{result.stderr}")
    return result.stdout


def wait_until(description, predicate, *processes):
    """Waits for a condition. Fails after two minutes, or if a process exits."""
    end = time.monotonic() + WAIT
    while not predicate():
        for process in processes:
            process.check()
        if time.monotonic() > end:
            for process in processes:
                print(process.log(), file=sys.stderr)
            fail(f"timeout after {WAIT} s: {description}")
        time.sleep(0.1)


def cargo(program):
    """Returns a shell function that replaces cargo and copies the program to where a build would put it."""
    program = shlex.quote(str(Path(program).resolve()))
    return f"""cargo() {{
        local arguments="$* " profile=debug
        case $arguments in
        *--release*) profile=release ;;
        *--profile*) profile=${{arguments#*--profile }} && profile=${{profile%% *}} ;;
        esac
        mkdir -p "target/$profile" && cp --remove-destination {program} "target/$profile/compliance"
    }}"""


class Process:
    """A command that runs until the script stops it."""

    def __init__(self, name, command, environment, folder):
        self.name = name
        self.path = folder / f"{name}.log"
        with open(self.path, "wb") as log:
            self.process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def log(self):
        return self.path.read_text(errors="replace")

    def check(self):
        if self.process.poll() is not None:
            fail(f"{self.name} exited with {self.process.returncode}:\n{self.log()}")

    def stop(self):
        """Stops the command with SIGTERM. Fails if it exits with an error."""
        self.check()
        self.process.terminate()
        if self.process.wait(WAIT) != 0:
            fail(f"{self.name} exited with {self.process.returncode} after SIGTERM:\n{self.log()}")


class Machine:
    """Processes at separate loopback addresses. As a context manager, it stops all remaining processes."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="deploy-"))
        self.folder.chmod(0o755)
        self.processes = []
        self.addresses = 0
        pid = os.getpid()
        self.network = f"127.{pid // 250 % 250 + 1}.{pid % 250 + 1}"

    def __enter__(self):
        # SIGTERM also stops the processes.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            # A killed service would leave its database running.
            process.process.terminate()
            try:
                process.process.wait(30)
            except subprocess.TimeoutExpired:
                process.process.kill()
                process.process.wait()
        shutil.rmtree(self.folder)

    def address(self):
        """Returns a new address."""
        self.addresses += 1
        return f"{self.network}.{self.addresses}"

    def start(self, name, command, environment):
        environment = {"PATH": os.environ["PATH"], **environment}
        return self.keep(Process(name, command, environment, self.folder))

    def keep(self, process):
        self.processes.append(process)
        return process

    def stop(self):
        """Stops all processes, newest first."""
        while self.processes:
            self.processes.pop().stop()

    def database(self):
        """Starts a PostgreSQL server with the administrator `postgres`, and returns its address."""
        address = self.address()
        data, password = self.folder / "postgres", self.folder / "administrator"
        password.write_text("administrator")
        data.mkdir()
        shutil.chown(data, "postgres")
        as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]
        programs = max(Path("/usr/lib/postgresql").glob("*/bin"))
        initdb = [*as_user, f"{programs}/initdb", "-D", data, "-U", "postgres", "-A", "scram-sha-256", "--pwfile", password, "-N"]
        subprocess.run(initdb, check=True, stdout=subprocess.DEVNULL, cwd="/")
        server = [*as_user, f"{programs}/postgres", "-D", data, "-h", address, "-p", "5432", "-k", "", "-F"]
        process = Process("postgres", server, {"PATH": os.environ["PATH"]}, self.folder)
        self.keep(process)
        ready = ["pg_isready", "-q", "-h", address]
        wait_until("PostgreSQL responds", lambda: subprocess.run(ready).returncode == 0, process)
        return address

    def set_up_database(self):
        """Sets up the database as the page describes, with a copy of deploy/. Returns the copy's folder and the address."""
        block = blocks(PAGE, "Database and secrets")[0]
        host = re.search(r"^psql -h (\S+)", block, re.MULTILINE)[1]
        folder, address = self.folder / "checkout", self.database()
        shutil.copytree("deploy", folder / "deploy", ignore=shutil.ignore_patterns("secrets"))
        paste(block.replace(host, address), folder, PGPASSWORD="administrator")
        return folder, address


def own_address(text, address):
    """Replaces wildcard and localhost addresses with this process's address."""
    return re.sub(r"(?<![\d.])(0\.0\.0\.0|127\.0\.0\.1)(?![\d.])", address, text) if address else text


def get(url, token=None, body=None):
    """Returns a response's status and body. The status is 0 if the request failed."""
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    request = urllib.request.Request(url, headers=headers, data=json.dumps(body).encode() if body else None)
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError as error:
        return 0, str(error)


def is_ready(address):
    return get(f"http://{address}:8080/readyz")[0] == 200


def writes_and_reads(gateway, token, name):
    """Creates an affiliate over REST, and lists it."""
    base = f"http://{gateway}:8080/api/affiliates"
    affiliate = {"client_affiliate_id": name, "affiliate_name": name, "country": "US"}
    status, text = get(base, token, affiliate)
    if status not in (200, 201):
        fail(f"POST {base} returned {status}: {text}")
    status, text = get(base, token)
    if status != 200 or name not in text:
        fail(f"GET {base} returned {status}: {text}")
