"""Runs the pods of deploy/kubernetes over a PostgreSQL that docs/deployment.md sets up, with the settings, the secrets, the names,
the probes and the signal that the manifests give: `kubernetes.py ROOT`. Applies them a second time as an upgrade does."""

import ipaddress
import re
import socket
import sys
from pathlib import Path

import yaml

from dockerfile import Stage
from machine import PAGE, Machine, blocks, fail, get, paste, wait_until, writes_and_reads

FOLDER = Path("deploy/kubernetes")
IMAGE = Stage(2, {})
CUSTOM = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())
# What can be changed after it was created. The pods of a Job cannot, so a second `apply` of a newer one is refused.
CHANGEABLE = {"Namespace", "Deployment", "Service", "PodDisruptionBudget", "HorizontalPodAutoscaler", "NetworkPolicy"}


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
            files = [file.rpartition("=") for file in re.findall(r"--from-file=(\S+)", line)]
            created[name[1]] = {key or Path(path).name: (folder / path).read_bytes() for key, _, path in files}
    return created


def replicas(documents, name):
    """How many pods there are at least: the autoscaler decides, and nothing sets the number back at each apply."""
    (scaler,) = [
        document["spec"]
        for document in documents
        if document["kind"] == "HorizontalPodAutoscaler" and document["spec"]["scaleTargetRef"]["name"] == name
    ]
    (deployment,) = [document for document in documents if (document["kind"], document["metadata"]["name"]) == ("Deployment", name)]
    if "replicas" in deployment["spec"]:
        fail(f"{name}: the autoscaler and the deployment both set the number of pods")
    return scaler["minReplicas"]


def selects(selector, labels):
    return selector is None or all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items())


def in_block(peer, block):
    """Whether a peer outside of the cluster has an address of a block."""
    if "ip" not in peer:
        return False
    address = ipaddress.ip_address(peer["ip"])
    return address in ipaddress.ip_network(block["cidr"]) and not any(address in ipaddress.ip_network(one) for one in block.get("except", []))


def admits(policies, direction, pod, peer, port):
    """Whether a pod may connect, or be connected to: it may if no policy selects it, or if a rule of one that does admits the peer."""
    chosen = [policy for policy in policies if direction.capitalize() in policy["policyTypes"] and selects(policy["podSelector"], pod)]
    key = "from" if direction == "ingress" else "to"
    for rule in (rule for policy in chosen for rule in policy.get(direction, [])):
        # A pod of this namespace has no labels of a namespace that are of interest here; others are given with `namespace`.
        peers = rule.get(key, [{}])
        known = any(
            in_block(peer, one["ipBlock"])
            if "ipBlock" in one
            else selects(one.get("podSelector"), peer)
            and (selects(one["namespaceSelector"], peer.get("namespace", {})) if "namespaceSelector" in one else "namespace" not in peer or not one)
            for one in peers
        )
        if known and any(allowed["port"] == port for allowed in rule.get("ports", [{"port": port}])):
            return True
    return not chosen


COMPONENT = "app.kubernetes.io/component"
CORE, GATEWAY, OUTSIDE = {COMPONENT: "core"}, {COMPONENT: "gateway"}, {"namespace": {}}
CALLER, PROMETHEUS = OUTSIDE | {"compliance-caller": "true"}, {"namespace": {"kubernetes.io/metadata.name": "monitoring"}}
INTERNET, INTERNET_6 = OUTSIDE | {"ip": "93.184.215.14"}, OUTSIDE | {"ip": "2606:4700::1"}
METADATA, PRIVATE, PRIVATE_6 = OUTSIDE | {"ip": "169.254.169.254"}, OUTSIDE | {"ip": "10.1.2.3"}, OUTSIDE | {"ip": "fd00::1"}
# Who connects to whom, and who must not.
FLOWS = [
    {"source": OUTSIDE, "target": GATEWAY, "port": 8080, "expected": True},
    {"source": GATEWAY, "target": CORE, "port": 50051, "expected": True},
    {"source": CALLER, "target": CORE, "port": 50051, "expected": True},
    {"source": OUTSIDE, "target": CORE, "port": 50051, "expected": False},
    {"source": CORE, "target": OUTSIDE, "port": 5432, "expected": True},
    {"source": GATEWAY, "target": OUTSIDE, "port": 5432, "expected": False},
    {"source": CORE, "target": OUTSIDE, "port": 53, "expected": True},
    {"source": GATEWAY, "target": OUTSIDE, "port": 53, "expected": True},
    {"source": CORE, "target": INTERNET, "port": 443, "expected": True},
    {"source": CORE, "target": INTERNET_6, "port": 8443, "expected": True},
    {"source": CORE, "target": METADATA, "port": 80, "expected": False},
    {"source": CORE, "target": PRIVATE, "port": 443, "expected": False},
    {"source": CORE, "target": PRIVATE_6, "port": 443, "expected": False},
    {"source": GATEWAY, "target": INTERNET, "port": 443, "expected": False},
    {"source": PROMETHEUS, "target": CORE, "port": 9090, "expected": True},
    {"source": PROMETHEUS, "target": GATEWAY, "port": 9090, "expected": True},
    {"source": OUTSIDE, "target": GATEWAY, "port": 9090, "expected": False},
    {"source": OUTSIDE, "target": CORE, "port": 9090, "expected": False},
]


def check_flow(policies, source, target, port, expected):
    """The policies admit what is needed, and nothing else. What is outside of the namespace has no policy here."""
    leaves = "namespace" in source or admits(policies, "egress", source, target, port)
    enters = "namespace" in target or admits(policies, "ingress", target, source, port)
    if (leaves and enters) != expected:
        fail(f"the network policies {'refuse' if expected else 'admit'} {source} to {target} at {port}")


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
        for kind in ("startupProbe", "livenessProbe"):
            # A failure restarts the pod, which does not bring a lost database back.
            if "exec" in self.container[kind] or self.container[kind].get("httpGet", {}).get("path") == "/readyz":
                fail(f"{deployment['metadata']['name']}: {kind} asks whether the database responds")
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
        if "exec" in probe:
            self.machine.write_hosts(localhost=self.address)
            succeeds = self.machine.run(probe["exec"]["command"], self.env).returncode == 0
            self.machine.write_hosts()
            return succeeds
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
    policies = [document["spec"] for document in documents if document["kind"] == "NetworkPolicy"]
    for flow in FLOWS:
        check_flow(policies, **flow)
    with Machine(sys.argv[1]) as machine:
        folder = machine.set_up_database()
        paste(next(line for line in blocks(PAGE, "Kubernetes")[0].splitlines() if "make-certificates" in line), folder)
        created = secrets(folder)
        pods = []
        for deployment in deployments:
            name = deployment["metadata"]["name"]
            names = [name] if name in services else []
            pods += [Pod(machine, deployment, created, *names) for _ in range(replicas(documents, name))]
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
