"""What deploy/Dockerfile says, as far as the checks need it."""

import json
import re
import shlex
from pathlib import Path

PATH = Path("deploy/Dockerfile")


def instructions(arguments):
    """The instructions as (stage, name, rest), with what the ARGs stand for; `arguments` are those of the build."""
    text = re.sub(r"^\s*#.*\n", "", PATH.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    values, stage, found = {}, 0, []
    for line in filter(None, map(str.strip, text.splitlines())):
        name, rest = line.split(None, 1)
        if name == "ARG":
            name, _, default = rest.partition("=")
            values[name] = arguments.get(name, default)
            continue
        if name == "FROM":
            stage += 1
        if name != "RUN":
            # A shell has them in its environment.
            rest = re.sub(r"\$\{(\w+)\}", lambda match: values[match[1]], rest)
        found.append((stage, name, rest))
    return values, found


class Stage:
    """One stage: its instructions, in order."""

    def __init__(self, number, arguments):
        self.values, all_instructions = instructions(arguments)
        self.instructions = [(name, rest) for stage, name, rest in all_instructions if stage == number]
        self.environment = {}
        for name, rest in self.instructions:
            if name == "ENV":
                self.environment |= dict(pair.split("=", 1) for pair in shlex.split(rest))

    def all(self, name):
        return [rest for instruction, rest in self.instructions if instruction == name]

    def one(self, name):
        return self.all(name)[-1]

    def command(self, name):
        """The arguments of ENTRYPOINT, CMD or HEALTHCHECK."""
        text = self.one(name).split("CMD ", 1)[-1]
        return json.loads(text) if text.startswith("[") else ["/bin/sh", "-c", text]
