"""Reports what a crawler has found, over gRPC: one JSON object a line, in the JSON form of `UrlObservation`.

    pip install ./client/grpc-python
    GRPC=127.0.0.1:50051 TOKEN=… python client/grpc-python/crawler.py findings.ndjson

GRPC is host:port, or https://host:port for TLS. GRPC_CA is a PEM file with the authorities to trust, instead of those of the library;
GRPC_CERT and GRPC_KEY are the PEM files of a certificate to present, and of its key (mutual TLS).

A line: {"url": "https://example.org/offer", "last_seen": "2026-01-31T12:00:00Z", "infractions": [{"infraction_type": "Health Claim",
"infraction_name": "weight loss"}]}. The token needs the scope `monitor`. The report can be repeated at any time. Exit status: 0 if
everything was saved, 1 if some findings were refused (each is named), 2 if the crawler could not go on.

Needs Python 3.11 or newer.
"""

import json
import os
import random
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import grpc
from google.protobuf import json_format
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from compliance.v1 import errors_pb2, exports_pb2, observations_pb2, urls_pb2, vocabularies_pb2
from compliance.v1 import monitoring_pb2_grpc, urls_pb2_grpc

# Seconds that a call may take, its retries included.
DEADLINE = 10
# Seconds that an export may take.
EXPORT_DEADLINE = 600
# Some hundred to two thousand observations a message are fastest.
BATCH = 500
TRIES = 5
DOMAIN = "compliance.v1"

# gRPC itself repeats these calls while the service cannot be reached. Both reads and writes may be repeated.
SERVICE_CONFIG = {
    "methodConfig": [
        {
            "name": [
                {"service": "compliance.v1.ComplianceUrlService", "method": "GetComplianceUrl"},
                {"service": "compliance.v1.MonitoringService", "method": "ListVocabularies"},
                {"service": "compliance.v1.MonitoringService", "method": "ObserveUrls"},
                {"service": "compliance.v1.MonitoringService", "method": "RecordInfractions"},
            ],
            "retryPolicy": {
                "maxAttempts": 4,
                "initialBackoff": "0.2s",
                "maxBackoff": "5s",
                "backoffMultiplier": 2,
                "retryableStatusCodes": ["UNAVAILABLE"],
            },
        }
    ]
}
OPTIONS = [
    ("grpc.service_config", json.dumps(SERVICE_CONFIG)),
    # A connection whose other end is gone is noticed after 40 seconds.
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.max_receive_message_length", 64 << 20),
]
# What the service config does not repeat.
AGAIN = (grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.DEADLINE_EXCEEDED)


@dataclass
class Refusal(Exception):
    """Why a call failed."""

    code: grpc.StatusCode
    message: str
    # Of the ErrorInfo; empty if the service was not reached.
    reason: str = ""
    # Sentences by field, of an invalid request.
    violations: dict[str, str] = field(default_factory=dict)
    # Seconds that the service asks to wait.
    retry_after: float = 0

    def __str__(self):
        violations = "".join(f"; {path}: {sentence}" for path, sentence in self.violations.items())
        return f"{self.reason or self.code.name}: {self.message}{violations}"


def refusal(error):
    """Decodes the details of an error."""
    decoded = Refusal(error.code(), error.details() or "")
    status = rpc_status.from_call(error)
    for detail in status.details if status else []:
        info, request, retry = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest(), error_details_pb2.RetryInfo()
        if detail.Unpack(info) and info.domain == DOMAIN:
            decoded.reason = info.reason
        elif detail.Unpack(request):
            decoded.violations = {violation.field: violation.description for violation in request.field_violations}
        elif detail.Unpack(retry):
            decoded.retry_after = retry.retry_delay.ToTimedelta().total_seconds()
    return decoded


def wait(attempt, refused):
    """Waits before the next try: longer each time, and at least as long as the service asks for."""
    time.sleep(refused.retry_after + min(2**attempt / 10, 5) * random.uniform(0.5, 1))


def open_channel(target, certificates):
    """A channel to host:port or https://host:port. `certificates` are the PEM files GRPC_CA, GRPC_CERT and GRPC_KEY, as far as they are
    given. What would make every call fail is a ValueError here."""
    scheme, _, address = target.rpartition("://")
    if scheme not in ("", "http", "https"):
        raise ValueError(f"GRPC={target} is neither host:port nor https://host:port")
    if scheme != "https":
        if certificates:
            raise ValueError(f"{', '.join(certificates)}: certificates are for https, and GRPC is {target}")
        return grpc.insecure_channel(address.rstrip("/"), OPTIONS)
    if ("GRPC_CERT" in certificates) != ("GRPC_KEY" in certificates):
        raise ValueError("GRPC_CERT and GRPC_KEY belong together")
    pem = {name: Path(path).read_bytes() for name, path in certificates.items()}
    for name, content in pem.items():
        if b"-----BEGIN " not in content:
            raise ValueError(f"{name}={certificates[name]} is no PEM file")
    credentials = grpc.ssl_channel_credentials(pem.get("GRPC_CA"), pem.get("GRPC_KEY"), pem.get("GRPC_CERT"))
    return grpc.secure_channel(address.rstrip("/"), credentials, OPTIONS)


class Crawler:
    """What a crawler calls."""

    def __init__(self, channel, token):
        self.monitoring = monitoring_pb2_grpc.MonitoringServiceStub(channel)
        self.urls = urls_pb2_grpc.ComplianceUrlServiceStub(channel)
        # For a channel with TLS, grpc.access_token_call_credentials does the same.
        self.metadata = [("authorization", f"Bearer {token}")]

    def call(self, operation, request):
        """The response. A call is repeated when the limit is used up, as long after it as the service asks for."""
        for attempt in range(TRIES):
            try:
                return operation(request, timeout=DEADLINE, metadata=self.metadata)
            except grpc.RpcError as error:
                refused = refusal(error)
            if refused.code not in AGAIN or attempt + 1 == TRIES:
                break
            wait(attempt, refused)
        raise refused

    def vocabulary(self, kind):
        """The names of a vocabulary, with the IDs that filters take."""
        vocabularies = self.call(self.monitoring.ListVocabularies, vocabularies_pb2.ListVocabulariesRequest()).vocabularies
        return {entry.name: entry.id for names in vocabularies if names.vocabulary == kind for entry in names.entries}

    def observe(self, observations):
        """Saves observations, and returns a result for each."""
        results = []
        for start in range(0, len(observations), BATCH):
            request = observations_pb2.ObserveUrlsRequest(observations=observations[start : start + BATCH])
            results += self.call(self.monitoring.ObserveUrls, request).results
        return results

    def record(self, url_id, *infractions):
        """Records infractions, given as (type, name), on a URL that the company has, and returns a result for each."""
        request = observations_pb2.RecordInfractionsRequest(
            infractions=[
                {"url_id": url_id, "infraction": {"infraction_type": kind, "infraction_name": name}} for kind, name in infractions
            ]
        )
        return self.call(self.monitoring.RecordInfractions, request).results

    def read(self, url_id):
        return self.call(self.urls.GetComplianceUrl, urls_pb2.GetComplianceUrlRequest(id=url_id))

    def export(self, after=0):
        """Every URL, as (ID of the last one of its message, observation). An export that breaks off continues after the last message
        that was received; one that ends without an error is complete."""
        failures = 0
        while True:
            request = exports_pb2.ExportUrlsRequest(after_url_id=after)
            try:
                for message in self.monitoring.ExportUrls(request, timeout=EXPORT_DEADLINE, metadata=self.metadata):
                    failures = 0
                    for observation in message.observations:
                        yield message.last_url_id, observation
                    after = message.last_url_id
                return
            except grpc.RpcError as error:
                refused = refusal(error)
            failures += 1
            # Once a stream has begun, gRPC leaves its repetition to the caller.
            if refused.code not in (*AGAIN, grpc.StatusCode.UNAVAILABLE) or failures == TRIES:
                raise refused
            wait(failures, refused)


def read_findings(path):
    """The observations of a file, with their line numbers."""
    findings = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                findings.append((number, json_format.Parse(line, observations_pb2.UrlObservation())))
            except json_format.ParseError as error:
                raise json_format.ParseError(f"{path}:{number}: {error}") from None
    return findings


def main():
    if len(sys.argv) != 2:
        print(f"usage: {sys.argv[0]} FINDINGS", file=sys.stderr)
        return 2
    path, token = sys.argv[1], os.environ.get("TOKEN")
    if not token:
        print("crawler: TOKEN is not set: a token of the service, with the scope `monitor`", file=sys.stderr)
        return 2
    try:
        findings = read_findings(path)
        certificates = {name: os.environ[name] for name in ("GRPC_CA", "GRPC_CERT", "GRPC_KEY") if os.environ.get(name)}
        with open_channel(os.environ.get("GRPC", "127.0.0.1:50051"), certificates) as channel:
            crawler = Crawler(channel, token)
            results = crawler.observe([observation for _, observation in findings])
    except (Refusal, OSError, ValueError, json_format.ParseError) as error:
        print(f"crawler: {error}", file=sys.stderr)
        return 2
    refused = 0
    for (line, _), result in zip(findings, results, strict=True):
        if result.code != errors_pb2.RESULT_CODE_SAVED:
            refused += 1
            reasons = "; ".join(f"{violation.field}: {violation.description}" for violation in result.violations)
            print(f"{path}:{line}: {reasons or result.msg}", file=sys.stderr)
    created = sum(result.created for result in results)
    print(f"{created} new, {len(results) - created - refused} known, {refused} refused")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
