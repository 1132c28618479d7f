"""Installs the units of deploy/systemd as docs/deployment.md says, and runs what they run, with their users, credentials, order and
signal: `systemd.py ROOT PROGRAM`. Installed is what the page installs, started what it enables."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from machine import PAGE, Machine, Process, blocks, cargo, fail, is_ready, paste, wait_until, writes_and_reads

# As systemd chooses for DynamicUser.
DYNAMIC = 61184
ACCOUNTS = ("passwd", "group", "shadow", "gshadow", "subuid", "subgid")


class Unit:
    """An installed unit."""

    def __init__(self, machine, name):
        self.machine, self.name = machine, name
        path = machine.root / f"etc/systemd/system/{name}.service"
        if not path.exists():
            fail(f"the page does not install {path.name}")
        self.lines = [line.split("=", 1) for line in path.read_text().splitlines() if "=" in line and line[0] not in "#;"]
        if self.one("Restart") != "on-failure" or self.one("StartLimitIntervalSec") != "0" or not self.one("RestartSec"):
            fail(f"{path.name} is not started again until it can serve")

    def all(self, key):
        return [value for name, value in self.lines if name == key]

    def one(self, key):
        return (self.all(key) or [None])[-1]

    def user(self):
        """The number of its user, who must exist."""
        if self.one("DynamicUser") == "yes":
            return DYNAMIC
        users = dict(re.findall(r"^(\w+):[^:]*:(\d+):", (self.machine.root / "etc/passwd").read_text(), re.MULTILINE))
        return int(users.get(self.one("User")) or fail(f"{self.name}: the page makes no user {self.one('User')}"))

    def command(self):
        """What it runs, as (arguments, environment), after its credentials are there for it alone."""
        user = self.user()
        shutil.rmtree(self.machine.root / "run/credentials", ignore_errors=True)
        credentials = f"/run/credentials/{self.name}.service"
        for credential in self.all("LoadCredential"):
            name, path = credential.split(":")
            content = (self.machine.root / path.lstrip("/")).read_bytes()
            self.machine.mount(f"{credentials}/{name}", content, user, 0o400)
        environment = dict(line.split("=", 1) for line in self.all("Environment"))
        for file in self.all("EnvironmentFile"):
            file = self.machine.root / file.lstrip("-/")
            if file.exists():
                environment |= dict(line.split("=", 1) for line in file.read_text().splitlines())
        return shlex.split(self.one("ExecStart")), {name: value.replace("%d", credentials) for name, value in environment.items()}

    def before(self):
        """The units of this repository that are started first."""
        needed = " ".join(self.all("Wants") + self.all("Requires")).split()
        after = " ".join(self.all("After")).split()
        for name in needed:
            if name.startswith("compliance") and name not in after:
                fail(f"{self.name} starts {name}, and does not wait for it")
        return [name.removesuffix(".service") for name in needed if name.startswith("compliance")]


def install(machine, block, folder, program):
    """Runs the page's commands, with another root folder, and returns the units that it enables."""
    block = re.sub(r" /(usr/local|etc)/", rf" {machine.root}/\1/", block)
    functions = f"""{cargo(program)}
        useradd() {{ command useradd --prefix {shlex.quote(str(machine.root))} "$@"; }}
        systemctl() {{ [ "$1" = daemon-reload ] || echo "systemctl $*"; }}"""
    for file in ("etc/systemd/system", "usr/local/bin"):
        (machine.root / file).mkdir(parents=True, exist_ok=True)
    printed = paste(block, folder, functions)
    return re.search(r"^systemctl enable --now (.*)$", printed, re.MULTILINE)[1].split()


def tiers(machine, program):
    """A core and a gateway over a database."""
    folder = machine.set_up_database()
    enabled = install(machine, blocks(PAGE, "systemd")[0], folder, program)
    address = machine.address()
    for name, variable in (("core", "GRPC_ADDR=127.0.0.1:50051"), ("gateway", "REST_ADDR=127.0.0.1:8080")):
        machine.mount(f"etc/compliance/{name}.env", f"COMPLIANCE_{variable}\n")
    started = []

    def start(name):
        unit = Unit(machine, name)
        for needed in unit.before():
            start(needed)
        user = f"{unit.user()}:{unit.user()}"
        if unit.one("Type") == "oneshot":
            machine.succeed(*unit.command(), address, user)
        else:
            process = machine.start(name, *unit.command(), address, user)
            wait_until(f"{name} is ready", lambda: " ready " in process.log(), process)
        started.append(name)

    # Without the database, a unit waits for it. If it waited too long, its status is not one after which it is not started again.
    hosts = machine.root / "etc/hosts"
    known = hosts.read_text()
    hosts.write_text("127.0.0.1 localhost\n")
    for unit in (Unit(machine, name) for name in [*Unit(machine, "compliance-core").before(), "compliance-core"]):
        command, environment = unit.command()
        process = machine.start(unit.name, command, environment, address, f"{unit.user()}:{unit.user()}")
        wait_until(f"{unit.name} waits", lambda: "not ready: waiting" in process.log(), process)  # noqa: B023
        machine.processes.remove(process)
        process.process.kill()
        process.process.wait()
        impatient = environment | {"COMPLIANCE_START_TIMEOUT": "0"}
        status = machine.run(command, impatient, address, f"{unit.user()}:{unit.user()}").returncode
        if str(status) in ["0", *unit.all("RestartPreventExitStatus")]:
            fail(f"{unit.name} ends with {status} without its database")
    hosts.write_text(known)
    for name in enabled:
        start(name)
    wait_until("the gateway is ready", lambda: is_ready(address), *machine.processes)
    secret = {"COMPLIANCE_JWT_SECRET_FILE": "/etc/compliance/jwt-secret"}
    token = machine.succeed(["compliance", "token", "--company", "1"], secret, user="0:0")
    writes_and_reads(address, token.strip(), "systemd")
    machine.stop()
    return started


def one_process(machine, program):
    """The service with its own database. Its PostgreSQL is this machine's, so it runs in this machine's file system, as a user that
    this machine has."""
    (name,) = install(machine, blocks(PAGE, "systemd")[1], machine.folder / "checkout", program)
    unit = Unit(machine, name)
    unit.user()
    state, copy, address = machine.folder / "state", machine.folder / "compliance", machine.address()
    shutil.copy2(program, copy)
    state.mkdir()
    shutil.chown(state, "postgres")
    (program_path, *arguments), environment = unit.command()
    arguments = [argument.replace(f"/var/lib/{unit.one('StateDirectory')}", str(state)) for argument in arguments]
    listen = {"COMPLIANCE_REST_ADDR": f"{address}:8080", "COMPLIANCE_GRPC_ADDR": f"{address}:50051"}
    as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", str(copy)]
    process = Process(name, [*as_user, *arguments], {"PATH": os.environ["PATH"], **environment, **listen}, machine.folder)
    machine.keep(process)
    if program_path != "/usr/local/bin/compliance":
        fail(f"{name} runs {program_path}")
    wait_until(f"{name} is ready", lambda: is_ready(address), process)
    token = subprocess.check_output([copy, "token", "--company", "1", "--data-dir", state], text=True)
    writes_and_reads(address, token.strip(), "systemd")
    machine.stop()
    return [name]


def main():
    with Machine(sys.argv[1]) as machine:
        accounts = {name: (machine.root / "etc" / name) for name in ACCOUNTS}
        before = {name: path.read_bytes() for name, path in accounts.items() if path.exists()}
        try:
            started = tiers(machine, Path(sys.argv[2])) + one_process(machine, Path(sys.argv[2]))
        finally:
            for name, content in before.items():
                accounts[name].write_bytes(content)
        units = {path.stem for path in Path("deploy/systemd").glob("*.service")}
        if set(started) != units:
            fail(f"the page starts {started}, and there are {sorted(units)}")
        print(f"systemd: {len(started)} units ran")


main()
