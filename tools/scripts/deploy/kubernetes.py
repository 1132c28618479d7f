"""Runs the pods of deploy/kubernetes over a PostgreSQL that docs/deployment.md sets up, with the settings, the secrets, the names,
the probes and the signal that the manifests give: `kubernetes.py ROOT`. Applies them a second time as an upgrade does."""

import re
import socket
import sys
from pathlib import Path

import yaml

from dockerfile import Stage
from machine import PAGE, Machine, blocks, fail, get, wait_until, writes_and_reads

FOLDER = Path("deploy/kubernetes")
IMAGE = Stage(2, {})
CUSTOM = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())
# What can be changed after it was created. The pods of a Job cannot, so a second `apply` of a newer one is refused.
CHANGEABLE = {"Namespace", "Deployment", "Service", "PodDisruptionBudget"}


def manifests():
    documents = [document for name in CUSTOM["resources"] for document in yaml.safe_load_all((FOLDER / name).read_text())]
    for document in documents:
        if document["kind"] not in CHANGEABLE:
            fail(f"{document['kind']} {document['metadata']['name']}: a second apply is refused if it has changed")
    return documents


def images(deployments):
    """The image that the page builds is the one that pods ask for, everywhere."""
    built = re.search(r"docker build .* -t (\S+)", blocks(PAGE, "Image")[0])[1]
    version = re.search(r'^version = "(.*)"', Path("Cargo.toml").read_text(), re.MULTILINE)[1]
    asked = {service["image"] for service in yaml.safe_load(Path("deploy/compose.yaml").read_text())["services"].values()}
    asked = {image for image in asked if image.startswith("compliance")}
    for deployment in deployments:
        pod = deployment["spec"]["template"]["spec"]
        for container in pod.get("initContainers", []) + pod["containers"]:
            image = next(image for image in CUSTOM["images"] if image["name"] == container["image"])
            asked.add(f"{image.get('newName', image['name'])}:{image['newTag']}")
    if asked | {built} != {f"compliance:{version}"}:
        fail(f"the page builds {built}, version {version}, and {sorted(asked)} are asked for")


def secrets(folder):
    """The secrets that the page creates, by name."""
    created = {}
    for line in blocks(PAGE, "Kubernetes")[0].replace("\\\n", " ").splitlines():
        if name := re.search(r"create secret generic (\S+)", line):
            paths = [folder / path for path in re.findall(r"--from-file=(\S+)", line)]
            created[name[1]] = {path.name: path.read_bytes() for path in paths}
    return created


class Pod:
    """A pod of a deployment: its containers as processes at one address."""

    def __init__(self, machine, deployment, created, *names):
        self.machine, self.created = machine, created
        self.pod = deployment["spec"]["template"]["spec"]
        self.address = machine.address(*names)
        for container in self.pod.get("initContainers", []):
            machine.succeed(self.command(container), self.environment(container), self.address)
        (self.container,) = self.pod["containers"]
        command, self.env = self.command(self.container), self.environment(self.container)
        self.process = machine.start(f"{deployment['metadata']['name']}-{self.address}", command, self.env, self.address)
        for kind in ("startupProbe", "readinessProbe", "livenessProbe"):
            probe = self.container[kind]
            wait_until(f"{self.process.name}: {kind}", lambda: self.succeeds(probe), self.process)  # noqa: B023

    def command(self, container):
        return [*container.get("command", IMAGE.command("ENTRYPOINT")), *container["args"]]

    def environment(self, container):
        """Mounts the volumes of a container, and no others, and returns its environment."""
        self.machine.clear()
        for mount in container["volumeMounts"]:
            secret = next(volume for volume in self.pod["volumes"] if volume["name"] == mount["name"])["secret"]
            for item in secret["items"]:
                self.machine.mount(f"{mount['mountPath']}/{item['path']}", self.created[secret["secretName"]][item["key"]])
        return IMAGE.environment | {variable["name"]: variable["value"] for variable in container["env"]}

    def succeeds(self, probe):
        ports = {port["name"]: port["containerPort"] for port in self.container["ports"]}
        if "httpGet" in probe:
            http = probe["httpGet"]
            return get(f"http://{self.address}:{ports[http['port']]}{http['path']}")[0] == 200
        if "grpc" in probe:
            url = f"grpc://{self.address}:{probe['grpc']['port']}"
            return self.machine.run(["compliance", "health", url], {}).returncode == 0
        try:
            socket.create_connection((self.address, ports[probe["tcpSocket"]["port"]]), timeout=5).close()
            return True
        except OSError:
            return False


def main():
    documents = manifests()
    deployments = [document for document in documents if document["kind"] == "Deployment"]
    services = {document["metadata"]["name"] for document in documents if document["kind"] == "Service"}
    images(deployments)
    with Machine(sys.argv[1]) as machine:
        folder = machine.set_up_database()
        created = secrets(folder)
        pods = []
        for deployment in deployments:
            name = deployment["metadata"]["name"]
            names = [name] if name in services else []
            pods += [Pod(machine, deployment, created, *names) for _ in range(deployment["spec"]["replicas"])]
        gateways = [pod for pod in pods if pod.container["name"] == "gateway"]
        token = machine.succeed(["compliance", "token", "--company", "1"], gateways[0].env).strip()
        for pod in gateways:
            writes_and_reads(pod.address, token, pod.process.name)
        # A newer version: a new core starts, next to those that serve, and one of them is stopped.
        core = next(deployment for deployment in deployments if deployment["metadata"]["name"] == "core")
        pods.append(Pod(machine, core, created, "core"))
        machine.processes.remove(pods[0].process)
        pods[0].process.stop()
        for pod in gateways:
            writes_and_reads(pod.address, token, f"{pod.process.name}-again")
        machine.stop()
        print(f"kubernetes: {len(pods)} pods ran, {len(gateways)} took requests")


main()
