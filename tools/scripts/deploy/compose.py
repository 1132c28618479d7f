"""Runs the services of deploy/compose.yaml that this repository builds, and its PostgreSQL, in the order and with the settings of
the file: `compose.py ROOT`. The images of others are not run."""

import sys
from pathlib import Path

import yaml

from dockerfile import Stage
from machine import PAGE, Machine, blocks, fail, get, paste, wait_until, writes_and_reads

FILE = yaml.safe_load(Path("deploy/compose.yaml").read_text())
IMAGE = Stage(2, {})


class Compose:
    """What runs, by the names of the services."""

    def __init__(self, machine, folder):
        self.machine, self.folder = machine, folder
        self.addresses, self.processes, self.environments = {}, {}, {}
        for name in FILE["services"]:
            if name != "postgres":
                self.addresses[name] = machine.address(name)

    def up(self, name):
        """Starts a service, after those that it depends on."""
        service = FILE["services"][name]
        for needed, how in service.get("depends_on", {}).items():
            self.up(needed)
            self.await_condition(needed, how["condition"])
        if name in self.processes:
            return
        if name == "postgres":
            self.postgres(service)
            return
        environment = IMAGE.environment | service["environment"]
        for secret in service["secrets"]:
            source = self.folder / FILE["secrets"][secret]["file"]
            self.machine.mount(f"run/secrets/{secret}", source.read_bytes(), mode=source.stat().st_mode)
        command = [*IMAGE.command("ENTRYPOINT"), *service["command"]]
        self.environments[name] = environment
        self.processes[name] = self.machine.start(name, command, environment, self.addresses[name])

    def postgres(self, service):
        """What the image of PostgreSQL does: a database, and the files of its folder of scripts once."""
        self.addresses["postgres"] = self.machine.database("postgres")
        self.processes["postgres"] = self.machine.processes[-1]
        for config in service["configs"]:
            if config["target"].startswith("/docker-entrypoint-initdb.d/"):
                script = FILE["configs"][config["source"]]["file"]
                command = f"psql -v ON_ERROR_STOP=1 -h postgres -U postgres -f {script}"
                paste(command, self.folder, PGHOSTADDR=self.addresses["postgres"], PGPASSWORD="administrator")

    def await_condition(self, name, condition):
        process = self.processes[name]
        if condition == "service_completed_successfully":
            wait_until(f"{name} ends", lambda: process.process.poll() is not None)
            if process.process.returncode != 0:
                fail(f"{name} ended with {process.process.returncode}:\n{process.log()}")
            self.machine.processes = [kept for kept in self.machine.processes if kept is not process]
        elif condition == "service_healthy" and name != "postgres":
            self.await_health(name)

    def await_health(self, name):
        health = FILE["services"][name].get("healthcheck", {}).get("test", [])[1:] or IMAGE.command("HEALTHCHECK")
        process, address = self.processes[name], self.addresses[name]
        healthy = lambda: self.machine.run(health, self.environments[name], address).returncode == 0  # noqa: E731
        wait_until(f"{name} is healthy", healthy, process)


def main():
    services = [name for name, service in FILE["services"].items() if service["image"].startswith("compliance")]
    with Machine(sys.argv[1]) as machine:
        folder = machine.copy_of_deploy()
        up, log_in = blocks(PAGE, "Compose")[0].strip().splitlines()[1:]
        paste(blocks(PAGE, "Compose")[0], folder, "docker() { :; }")
        if " -f deploy/compose.yaml up " not in up:
            fail(f"the page has another command: {up}")
        compose = Compose(machine, folder / "deploy")
        for name in services:
            compose.up(name)
        gateways = [name for name in services if name.startswith("gateway")]
        for name in gateways:
            compose.await_health(name)
        name, *command = log_in.split(" exec ")[1].split()
        token = machine.succeed(command, compose.environments[name], compose.addresses[name]).strip()
        for name in gateways:
            writes_and_reads(compose.addresses[name], token, name)
        prometheus = yaml.safe_load(Path("deploy/observability/prometheus.yml").read_text())
        for scrape in prometheus["scrape_configs"]:
            for target in scrape["static_configs"][0]["targets"]:
                name, port = target.split(":")
                status, text = get(f"http://{compose.addresses[name]}:{port}/metrics")
                if status != 200 or "compliance_build_info" not in text:
                    fail(f"Prometheus gets {status} from {target}: {text}")
        machine.stop()
        print(f"compose.yaml: {len(services)} services ran, {len(gateways)} took requests")


main()
