"""Shared parts of scripts that measure: a running service, its database, and the processor time of both."""

import os
import re
import subprocess
import time
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TICKS = os.sysconf("SC_CLK_TCK")


class Service:
    """A running command of the service, and its log."""

    def __init__(self, stack, program, folder, name, *arguments, environment=None, number=""):
        self.name = f"{name}{number}"
        self.log = folder / f"{self.name}.log"
        self.command = [program, name, *map(str, arguments)]
        self.environment = os.environ | (environment or {})
        stack.callback(self.stop)
        self.start()

    def start(self):
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log, env=self.environment)
        for _ in range(600):
            if " ready " in self.log.read_text():
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        raise SystemExit(f"{self.name} is not ready:\n{self.log.read_text()}")

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def address(self, layer):
        return re.findall(rf' ready .*{layer}="?([0-9.:]+)', self.log.read_text())[-1]


def seconds_of(pid):
    """Processor time of a process, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def nanoseconds_of(pids):
    """Processor time of each thread of processes."""
    used = {}
    for pid in pids:
        with suppress(FileNotFoundError, ProcessLookupError):
            for thread in Path(f"/proc/{pid}/task").iterdir():
                used[thread.name] = int((thread / "schedstat").read_text().split()[0])
    return used


def memory_of(pid, file, key):
    return int(re.search(rf"^{key}:\s+(\d+) kB", Path(f"/proc/{pid}/{file}").read_text(), re.MULTILINE)[1]) / 1024


class Database:
    """The database of the service, and its processes."""

    def __init__(self, folder, owner="postgres", url=None):
        self.url = url or f"postgres:///compliance?host={folder}&user=compliance_service"
        self.owners_url = url or f"postgres:///compliance?host={folder}&user={owner}"
        pid = next(file for file in (folder / "postmaster.pid", folder / "pg/postmaster.pid") if file.exists())
        self.postmaster = int(pid.read_text().split()[0])

    def query(self, text):
        command = ["psql", "-X", self.owners_url, "-AtF", ",", "-c", text]
        return [line.split(",") for line in subprocess.check_output(command, text=True).splitlines()]

    def processes(self):
        children = Path(f"/proc/{self.postmaster}/task/{self.postmaster}/children").read_text().split()
        return [self.postmaster, *map(int, children)]

    def seconds(self):
        """Processor time of the postmaster and of all its current and former children."""
        while True:
            fields = Path(f"/proc/{self.postmaster}/stat").read_text().rpartition(")")[2].split()
            ended = (int(fields[13]) + int(fields[14])) / TICKS
            # If a child ends during this sum, the next attempt counts it as a former child.
            with suppress(FileNotFoundError, ProcessLookupError):
                return ended + sum(seconds_of(pid) for pid in self.processes())

    def backends(self):
        return [int(pid) for (pid,) in self.query("select pid from pg_stat_activity where usename = 'compliance_service'")]

    def wal(self):
        return int(float(self.query("select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')")[0][0]))


def row(*cells):
    print("|", " | ".join(str(cell) for cell in cells), "|", flush=True)
