"""Checks what the files in deploy/ tell the service: that it takes every command and every setting, and that every secret,
config and service that a file refers to exists. `settings.py PROGRAM`"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

DEPLOY = Path("deploy")
SECRETS = {"jwt-secret": "0" * 64, "database-url": "postgres://owner:password@localhost/compliance"}
problems = []
checked = 0


def check(origin, program, command, environment):
    """Lets the program print its configuration with this command and environment."""
    global checked
    checked += 1
    with tempfile.TemporaryDirectory() as folder:
        given = {}
        for name, value in environment.items():
            if name.endswith("_FILE"):
                # Of the path, only what it holds matters here.
                key = next((key for key in SECRETS if value.replace("_", "-").endswith(key)), None)
                if key is None:
                    problems.append(f"{origin}: nobody knows the secret {value}")
                    continue
                path = Path(folder, key)
                path.write_text(SECRETS[key])
                path.chmod(0o400)
                value = str(path)
            given[name] = value
        arguments = [program, *command, "--print-config"]
        result = subprocess.run(arguments, env=given, capture_output=True, text=True, timeout=30)
        if result.returncode != 0:
            problems.append(f"{origin}: {shlex.join(command)}: {result.stderr.strip()}")
            return
        for name in given:
            if name not in result.stdout:
                problems.append(f"{origin}: {shlex.join(command)} knows no {name}")


def image():
    """The command and the environment of the image."""
    text = (DEPLOY / "Dockerfile").read_text().split("FROM")[-1]
    environment = dict(re.findall(r"(COMPLIANCE_\w+)=(\S+)", text))
    return environment


def compose(program, base):
    file = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    services = file["services"]
    for name, service in services.items():
        origin = f"compose.yaml: {name}"
        for kind in ("secrets", "configs"):
            for used in service.get(kind, []):
                used = used if isinstance(used, str) else used["source"]
                if used not in file.get(kind, {}):
                    problems.append(f"{origin}: there is no {used} among the {kind}")
        for needed, how in service.get("depends_on", {}).items():
            if needed not in services:
                problems.append(f"{origin}: there is no service {needed}")
            elif how["condition"] == "service_healthy" and services[needed].get("image") != "compliance":
                if "healthcheck" not in services[needed]:
                    problems.append(f"{origin}: {needed} has no health check")
        for mounted in service.get("volumes", []):
            source = mounted.split(":")[0]
            if not (source in file["volumes"] or (DEPLOY / source).is_file()):
                problems.append(f"{origin}: there is no {source}")
        for value in service.get("environment", {}).values():
            mounted = re.fullmatch(r"/run/secrets/(\w+)", value)
            if mounted and mounted[1] not in service["secrets"]:
                problems.append(f"{origin}: the secret {mounted[1]} is not mounted")
        if service["image"] == "compliance":
            check(origin, program, service["command"], relevant(service["command"], base) | service["environment"])
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([DEPLOY / "make-secrets", folder], check=True)
        made = set(os.listdir(folder))
    named = {Path(secret["file"]).name for secret in file["secrets"].values()}
    if made != named:
        problems.append(f"make-secrets makes {sorted(made)}, compose.yaml needs {sorted(named)}")


def kubernetes(program, base):
    mounted = set()
    for path in sorted((DEPLOY / "kubernetes").glob("*.yaml")):
        for document in yaml.safe_load_all(path.read_text()):
            pod = document.get("spec", {}).get("template", {}).get("spec")
            if pod is None:
                continue
            keys = {item["path"] for volume in pod["volumes"] for item in volume["secret"]["items"]}
            for container in pod["containers"]:
                origin = f"{path.name}: {container['name']}"
                environment = {variable["name"]: variable["value"] for variable in container["env"]}
                for value in environment.values():
                    if value.startswith("/secrets/") and value.removeprefix("/secrets/") not in keys:
                        problems.append(f"{origin}: {value} is not mounted")
                command = container["args"]
                check(origin, program, command, relevant(command, base) | environment)
                mounted |= keys
    resources = yaml.safe_load((DEPLOY / "kubernetes/kustomization.yaml").read_text())["resources"]
    files = {path.name for path in (DEPLOY / "kubernetes").glob("*.yaml")} - {"kustomization.yaml"}
    if files != set(resources):
        problems.append(f"kustomization.yaml names {resources}, and there are {sorted(files)}")


def systemd(program):
    for path in sorted((DEPLOY / "systemd").glob("*.service")):
        text = path.read_text()
        command = shlex.split(re.search(r"^ExecStart=/usr/local/bin/compliance (.*)$", text, re.MULTILINE)[1])
        environment = dict(re.findall(r"^Environment=(\w+)=(.*)$", text, re.MULTILINE))
        check(path.name, program, command, environment)


def relevant(command, environment):
    """Of the image's environment, what this command has a setting for."""
    names = {"core": ("GRPC", "LOG"), "gateway": ("REST", "LOG"), "migrate": (), "serve": ("REST", "GRPC", "LOG")}[command[0]]
    return {name: value for name, value in environment.items() if name.split("_")[1] in names}


def main():
    program = os.path.abspath(sys.argv[1])
    base = image()
    check("Dockerfile", program, ["serve"], base)
    compose(program, base)
    kubernetes(program, base)
    systemd(program)
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{checked} commands, {len(problems)} problems")
    sys.exit(1 if problems else 0)


main()
