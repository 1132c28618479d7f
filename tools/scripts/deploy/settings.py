"""Checks that the service knows every command and every setting in deploy/ (it ignores variables that it does not know), and that
files which are mounted or named exist. `settings.py PROGRAM`"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

from dockerfile import Stage

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
                key = next((key for key in SECRETS if value.endswith(key)), None)
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


def compose(program, base):
    file = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    for name, service in file["services"].items():
        origin = f"compose.yaml: {name}"
        for mounted in service.get("volumes", []):
            source = mounted.split(":")[0]
            if not (source in file["volumes"] or (DEPLOY / source).is_file()):
                problems.append(f"{origin}: there is no {source}")
        if service["image"].startswith("compliance"):
            check(origin, program, service["command"], relevant(service["command"], base) | service["environment"])


def kubernetes(program, base):
    for path in sorted((DEPLOY / "kubernetes").glob("*.yaml")):
        for document in yaml.safe_load_all(path.read_text()):
            pod = document.get("spec", {}).get("template", {}).get("spec", {})
            for container in pod.get("initContainers", []) + pod.get("containers", []):
                environment = {variable["name"]: variable["value"] for variable in container["env"]}
                command = container["args"]
                check(f"{path.name}: {container['name']}", program, command, relevant(command, base) | environment)
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
    base = Stage(2, {}).environment
    check("Dockerfile", program, ["serve"], base)
    compose(program, base)
    kubernetes(program, base)
    systemd(program)
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{checked} commands, {len(problems)} problems")
    sys.exit(1 if problems else 0)


main()
