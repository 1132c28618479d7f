"""Decodes the service's errors."""

from dataclasses import dataclass, field

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status

DOMAIN = "compliance.v1"
# Texts in gRPC's messages that make a retry pointless, and their meanings.
PERMANENT = {
    "WRONG_VERSION_NUMBER": "the port does not use TLS",
    "CERTIFICATE_VERIFY_FAILED": "the service's certificate is not trusted",
    "Hostname Verification Check failed": "the service's certificate is for a different host",
    "Received http2 header with status: 404": "this is not the gRPC port",
}


@dataclass
class Refusal(Exception):
    """Raised if a call fails after its retries."""

    code: grpc.StatusCode
    message: str
    """The error, as a sentence."""
    reason: str = ""
    """A `compliance.v1.Reason` without its prefix, such as `ETAG_MISMATCH`. Empty if the client cannot reach the service."""
    violations: list[error_details_pb2.BadRequest.FieldViolation] = field(default_factory=list)
    """The `field` and a `description` for each violated rule. A field can have several violations."""
    metadata: dict[str, str] = field(default_factory=dict)
    """Details for programs, such as `last_position` for `POSITION_GONE`."""
    retry_after: float = 0
    """How long the service asks you to wait, in seconds."""
    is_retry: bool = False
    """Whether an earlier attempt failed, for example with a lost response. It may have made the change: if the reason is `ETAG_MISMATCH`, read
    the record."""

    is_permanent: bool = False
    """Whether the client cannot connect because of its settings, for example because it does not trust the service's certificate."""

    def __str__(self) -> str:
        violations = "".join(f"; {violation.field}: {violation.description}" for violation in self.violations)
        return f"{self.reason or self.code.name}: {self.message}{violations}"


def refusal(error: grpc.RpcError) -> Refusal:
    """Decodes an error raised by a generated stub."""
    decoded = Refusal(error.code(), error.details() or "")
    if meaning := next((meaning for part, meaning in PERMANENT.items() if part in decoded.message), ""):
        decoded.message, decoded.is_permanent = f"{meaning}: {decoded.message}", True
    status = rpc_status.from_call(error)
    for detail in status.details if status else []:
        info, request, retry = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest(), error_details_pb2.RetryInfo()
        if detail.Unpack(info) and info.domain == DOMAIN:
            decoded.reason, decoded.metadata = info.reason, dict(info.metadata)
        elif detail.Unpack(request):
            decoded.violations = list(request.field_violations)
        elif detail.Unpack(retry):
            decoded.retry_after = retry.retry_delay.ToTimedelta().total_seconds()
    return decoded
