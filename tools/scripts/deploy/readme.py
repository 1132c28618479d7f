"""Runs the first commands of README.md and its pages in a shell: `readme.py PROGRAM`. Needs grpcio and grpcio-reflection."""

import json
import shutil
import sys
from pathlib import Path

from machine import Machine, Process, blocks, cargo, fail, is_ready, own_address, paste, wait_until, writes_and_reads

README = Path("README.md")
GRPC = Path("docs/grpc.md")
SCALE_OUT = Path("docs/operations/scale-out.md")
# Makes curl fail if the service returns an error.
CURL = 'curl() { command curl --silent --show-error --fail-with-body "$@"; }'


def is_as_shown(shown, answer):
    """Returns whether a response matches the page, where `…` replaces the rest."""
    if isinstance(shown, dict):
        keys = shown.keys() - {"…"}
        return (
            isinstance(answer, dict)
            and ("…" in shown or keys == answer.keys())
            and all(key in answer and is_as_shown(shown[key], answer[key]) for key in keys)
        )
    if isinstance(shown, list):
        return isinstance(answer, list) and len(shown) == len(answer) and all(map(is_as_shown, shown, answer))
    return shown == answer


def trying_it_out(machine, program):
    """Starts the service with the page's first command. Calls the service with curl, Python and, if available, grpcurl."""
    folder, address = machine.folder / "one", machine.address()
    folder.mkdir()
    paste("cargo build --release", folder, cargo(program))
    (rest,) = blocks(README, "Trying it out")
    listen = {"COMPLIANCE_REST_ADDR": f"{address}:8080", "COMPLIANCE_GRPC_ADDR": f"{address}:50051"}
    command = ["env", f"--chdir={folder}", "target/release/compliance"]
    process = machine.keep(Process("compliance", command, {"PATH": "/usr/bin:/bin", **listen}, machine.folder))
    wait_until("the service is ready", lambda: is_ready(address), process)
    (python,) = blocks(GRPC, "Without generated code", "python")
    pasted = [rest, f"{sys.executable} -W error - <<'PYTHON'\n{python}PYTHON\n"]
    if shutil.which("grpcurl"):
        pasted += blocks(GRPC, "Without generated code")
    else:
        print("readme.py: grpcurl is not installed: skipping its commands", file=sys.stderr)
    printed = paste(own_address("\n".join(pasted), address), folder, CURL)
    (shown,) = blocks(README, "Trying it out", "json")
    if "results" not in printed or not is_as_shown(json.loads(shown), json.JSONDecoder().raw_decode(printed.lstrip())[0]):
        fail(f"the commands did not print what {README} shows: {printed}")
    machine.stop()
    return sum(text.count("curl ") for text in pasted)


def two_tiers(machine, program):
    """Builds the program, migrates the database, and runs a core and a gateway, each in its own shell."""
    folder, address = machine.folder / "two", machine.address()
    folder.mkdir()
    database = machine.database()
    roles = ["create role compliance login password 'password'", "create database compliance owner compliance"]
    for statement in roles:
        paste(f'psql -q -h {database} -U postgres -c "{statement}"', folder, PGPASSWORD="administrator")
    (block,) = blocks(SCALE_OUT, "Two tiers")
    for shown, real in (("…", "password"), ("…", "0" * 64), ("db.internal", database), ("core.internal", address)):
        block = block.replace(shown, real, 1)
    lines = [line.split("#")[0].strip() for line in own_address(block, address).splitlines() if line.strip()]
    common = "\n".join(line for line in lines if not line.startswith("compliance"))
    migrate, *tiers = [line for line in lines if line.startswith("compliance")]
    paste(f"{common}\n{migrate}", folder, cargo(program))
    for tier in tiers:
        script = f"set -eu\n{cargo(program)}\ncd {folder}\n{common}\nexec {tier}"
        process = machine.keep(Process(tier.split()[1], ["bash", "-c", script], {"PATH": "/usr/bin:/bin"}, machine.folder))
        wait_until(f"{process.name} is ready", lambda: " ready " in process.log(), process)  # noqa: B023
    wait_until("the gateway is ready", lambda: is_ready(address), *machine.processes)
    token = paste(f"{common}\ncompliance token --company 1", folder, cargo(program)).strip()
    writes_and_reads(address, token, "readme")
    machine.stop()


def main():
    program = Path(sys.argv[1]).resolve()
    with Machine() as machine:
        commands = trying_it_out(machine, program)
        two_tiers(machine, program)
        print(f"README.md and its pages: ran {commands} calls with curl, the Python code, and two tiers")


main()
