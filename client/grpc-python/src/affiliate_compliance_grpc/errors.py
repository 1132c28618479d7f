"""Decodes the service's errors."""

from dataclasses import dataclass, field

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status

DOMAIN = "compliance.v1"


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

    def __str__(self) -> str:
        violations = "".join(f"; {violation.field}: {violation.description}" for violation in self.violations)
        return f"{self.reason or self.code.name}: {self.message}{violations}"


def refusal(error: grpc.RpcError) -> Refusal:
    """Decodes an error raised by a generated stub."""
    decoded = Refusal(error.code(), error.details() or "")
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
