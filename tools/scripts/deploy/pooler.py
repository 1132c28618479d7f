"""Runs the service behind PgBouncer: `pooler.py PROGRAM`. The service rejects a PgBouncer that loses prepared statements, and says why. In
PgBouncer's `session` mode, the service works."""

import os
import shutil
import subprocess
import sys

from machine import Machine, Process, fail, get, wait_until, writes_and_reads

SECRET = "0123456789abcdef0123456789abcdef"


def pooler(machine, database, url, mode):
    """Starts PgBouncer in a mode, and returns the URL of the database behind it."""
    user, password = url.split("//")[1].split("@")[0].split(":")
    name = url.rsplit("/", 1)[1]
    address = machine.address()
    file = machine.folder / f"pgbouncer-{address}.ini"
    file.write_text(
        f"[databases]\n{name} = host={database} port=5432 dbname={name} user={user} password={password}\n"
        f"[pgbouncer]\nlisten_addr = {address}\nlisten_port = 6432\nunix_socket_dir =\nauth_type = any\npool_mode = {mode}\n"
        f"default_pool_size = 30\n"
    )
    shutil.chown(file, "postgres")
    as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]
    program = shutil.which("pgbouncer", path="/usr/sbin:/usr/bin")
    process = machine.keep(Process(f"pgbouncer-{address}", [*as_user, program, file], {"PATH": os.environ["PATH"]}, machine.folder))
    ready = ["pg_isready", "-q", "-h", address, "-p", "6432"]
    wait_until("PgBouncer responds", lambda: subprocess.run(ready).returncode == 0, process)
    return f"postgres://{user}:{password}@{address}:6432/{name}"


def main():
    (program,) = sys.argv[1:]
    with Machine() as machine:
        folder, database = machine.set_up_database()
        owner, service = ((folder / f"deploy/secrets/{role}-database-url").read_text().strip() for role in ("owner", "service"))
        environment = {"PATH": os.environ["PATH"], "COMPLIANCE_JWT_SECRET": SECRET, "COMPLIANCE_START_TIMEOUT": "0"}

        def run(arguments, url):
            command = [program, *arguments]
            return subprocess.run(command, env=environment | {"DATABASE_URL": url}, capture_output=True, text=True, timeout=120)

        migrated = run(["migrate", "--service-role", "compliance_service"], owner)
        if migrated.returncode != 0:
            fail(f"migrate: {migrated.stderr}")
        # Debian's PgBouncer is older than 1.21. Newer versions keep prepared statements, and need role settings.
        for mode, reason in (("transaction", "changes the server's process between transactions"), ("statement", "does not allow transactions")):
            url = pooler(machine, database, service, mode)
            for command, status in (("core", 2), ("doctor", 3)):
                refused = run([command], url)
                if refused.returncode != status or reason not in refused.stdout + refused.stderr:
                    fail(f"{command}, pool_mode = {mode}: {refused.returncode}, {refused.stdout}{refused.stderr}")
        url = pooler(machine, database, service, "session")
        # For an unknown database, PgBouncer returns the same SQLSTATE as for a rejected parameter.
        refused = run(["core"], f"{url}_other")
        if refused.returncode != 1 or "cannot connect to the database compliance_other" not in refused.stderr or "parameter" in refused.stderr:
            fail(f"unknown database: {refused.returncode}, {refused.stderr}")
        address = machine.address()
        serve = [program, "serve", "--rest-addr", f"{address}:8080", "--grpc-addr", f"{address}:50051"]
        process = machine.keep(Process("serve", serve, environment | {"DATABASE_URL": url}, machine.folder))
        wait_until("the service is ready", lambda: get(f"http://{address}:8080/readyz")[0] == 200, process)
        token = subprocess.run([program, "token", "--company", "1"], env=environment, capture_output=True, text=True, check=True)
        writes_and_reads(address, token.stdout.strip(), "pooler")
        print("PgBouncer: the service rejected the modes `transaction` and `statement` with the reason, and worked in the mode `session`")


main()
