"""Extracts the program's user-visible texts for the linter: `texts.py FOLDER`.

Writes a file to the folder for each source file with texts, and prints its name. Every text keeps its line number.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

# Sources of error messages, log lines, metric descriptions and console texts. A page, docs/configuration.md, contains the `--help` output.
CODE = re.compile(
    r"^(cli|core-server|rest-gateway|proto|client/rust|crates/[a-z-]+)/src/.*\.rs$|^crates/pages/src/.*\.js$"
    r"|^client/python/src/.*\.py$|^client/grpc-python/src/.*\.py$|^client/typescript/src/.*\.ts$"
)
GENERATED = ("client/python/src/affiliate_compliance/models.py",)
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"|`([^`\n]*)`')
# SQL statements, and names of files and symbols.
NOT_A_TEXT = re.compile(
    r"^\s*(select|insert|update|delete|with|create|alter|grant|revoke|set|drop|lock|begin|commit|do|truncate|vacuum|from|where|and|or)\b"
    r"|\b(bigint|smallint|integer)\b|\w\[\]|^[a-z_.:]+$|[;=]\s*$|\$\d|::|=>|</?[a-z]+[ >]"
)
# A placeholder in a format string, such as `{name:?}`.
FIELD = re.compile(r"\$?\{[^{}]*\}")


def is_a_text(text):
    return len(text.split()) >= 4 and re.match(r"\W*[A-Za-z{]", text) and not NOT_A_TEXT.search(text)


def sentence(text):
    """Returns a text for the linter. Adds a final period, so that the linter does not join it with the next line."""
    text = FIELD.sub("it", text).replace("\\n", " ").replace('\\"', '"').replace("\\u{2028}", " ").strip()
    return text if text.endswith((".", ":", "?", "!", "…")) else text + "."


def from_code(lines):
    in_tests = False
    for number, line in enumerate(lines):
        # A file's tests are at its end.
        in_tests = in_tests or line.strip() in ("mod tests {", "#[cfg(test)]")
        code = line.strip()
        if in_tests or code.startswith(("//", "#[", "* ", "#!", "expect(", "reason =")) and not code.startswith("#[error"):
            continue
        found = (single or template for single, template in LITERAL.findall(line))
        texts = [sentence(text) for text in found if is_a_text(text)]
        if texts:
            yield number, " ".join(texts)


def from_proto(lines):
    for number, line in enumerate(lines):
        if match := re.search(r"^\s*// ?(.*)", line):
            yield number, match[1]


def from_document(lines):
    for number, line in enumerate(lines):
        if match := re.match(r'\s*"(?:description|summary|title)": ("(?:[^"\\]|\\.)*")', line):
            yield number, sentence(json.loads(match[1]).replace("\n", " "))


def from_alerts(lines):
    for number, line in enumerate(lines):
        if match := re.match(r'\s*(?:summary|description): "(.*)"', line):
            yield number, sentence(re.sub(r"\{\{.*?\}\}", "it", match[1]))


def reader_of(path):
    if path.startswith("proto/compliance/") and path.endswith(".proto"):
        return from_proto
    if path == "docs/openapi.json":
        return from_document
    if path == "deploy/observability/alerts.yml":
        return from_alerts
    return from_code if CODE.match(path) and path not in GENERATED and "/tests" not in path else None


def main():
    folder = Path(sys.argv[1])
    listed = subprocess.run(["git", "ls-files"], check=True, capture_output=True, text=True).stdout.split()
    for path in listed:
        reader = reader_of(path)
        if reader is None or not Path(path).exists():
            continue
        lines = Path(path).read_text().split("\n")
        texts = dict(reader(lines))
        if texts:
            target = folder / f"{path}.md"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text("\n".join(texts.get(number, "") for number in range(len(lines))) + "\n")
            print(target)


main()
