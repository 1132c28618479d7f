"""Sends a crawler's findings to the service over gRPC. Each line of the file is a `UrlObservation` in JSON.

    pip install ./client/grpc-python
    GRPC=127.0.0.1:50051 TOKEN=… python client/grpc-python/examples/crawler.py findings.ndjson

TOKEN is the token without `Bearer`. GRPC is host:port, or https://host:port for TLS. GRPC_CA is a PEM file with the CA certificates to trust
instead of gRPC's defaults. For mutual TLS, GRPC_CERT and GRPC_KEY are PEM files with a client certificate and its key.

Example line: {"url": "https://example.org/offer", "last_seen": "2026-01-31T12:00:00Z", "infractions": [{"infraction_type":
"Health Claim", "infraction_name": "weight loss"}]}. The token needs the scope `monitor`. Sending a file again is safe.

Exit status: 0 if the service saved everything, 1 if some findings are invalid (the program prints each with the reason), 2 if the crawler could
not continue. It always prints how many findings the service has saved.

Requires Python 3.11 or newer.
"""

import logging
import os
import re
import sys

from affiliate_compliance_grpc import Client, Refusal
from compliance.v1 import errors_pb2, observations_pb2
from google.protobuf import json_format


def read_finding(line):
    if not line.lstrip().startswith("{"):
        raise json_format.ParseError("the line is not a JSON object")
    try:
        return json_format.Parse(line, observations_pb2.UrlObservation())
    except json_format.ParseError as error:
        # The library lists the fields in camel case.
        sentence, _, names = str(error).partition("\n Available Fields(except extensions): ")
        known = re.sub("[A-Z]", lambda capital: f"_{capital[0].lower()}", ", ".join(re.findall(r"\w+", names)))
        raise json_format.ParseError(f"{sentence} Known fields: {known}" if known else sentence) from None


def main():
    if len(sys.argv) != 2:
        print(f"usage: {sys.argv[0]} FINDINGS", file=sys.stderr)
        return 2
    # Logs the waits and their reasons.
    logging.basicConfig(format="crawler: %(message)s")
    logging.getLogger("affiliate_compliance_grpc").setLevel(logging.INFO)
    path, token = sys.argv[1], os.environ.get("TOKEN")
    if not token:
        print("crawler: set TOKEN to a service token with the scope `monitor`", file=sys.stderr)
        return 2
    findings, saved, created, refused, failed = [], 0, 0, 0, False
    try:
        with open(path, encoding="utf-8-sig") as file:
            for number, line in enumerate(file, 1):
                try:
                    findings += [(number, read_finding(line))] if line.strip() else []
                except json_format.ParseError as error:
                    refused += 1
                    print(f"{path}:{number}: {error}", file=sys.stderr)
        files = {"ca": "GRPC_CA", "certificate": "GRPC_CERT", "key": "GRPC_KEY"}
        certificates = {name: os.environ.get(variable) for name, variable in files.items()}
        with Client(os.environ.get("GRPC", "127.0.0.1:50051"), token, **certificates) as client:
            for (number, _), result in zip(findings, client.observe(observation for _, observation in findings)):
                if result.code == errors_pb2.RESULT_CODE_SAVED:
                    saved, created = saved + 1, created + result.created
                else:
                    refused += 1
                    reasons = "; ".join(f"{violation.field}: {violation.description}" for violation in result.violations)
                    print(f"{path}:{number}: {reasons or result.msg}", file=sys.stderr)
    except (Refusal, OSError, ValueError) as error:
        failed = True
        print(f"crawler: {error}", file=sys.stderr)
    print(f"{created} new, {saved - created} known, {refused} refused")
    return 2 if failed else 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
