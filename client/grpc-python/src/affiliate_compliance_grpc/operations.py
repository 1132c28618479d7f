"""Finds the contract's operations by their request types."""

import importlib
import pkgutil
from dataclasses import dataclass
from typing import Any

import compliance.v1
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass


@dataclass(frozen=True)
class Operation:
    path: str
    """`/package.Service/Operation`"""
    response: type[Message]
    is_stream: bool
    takes_stream: bool


def operations() -> dict[str, Operation]:
    """Returns the operations by full request name."""
    modules = [name for _, name, _ in pkgutil.iter_modules(compliance.v1.__path__) if name.endswith("_pb2")]
    files = [importlib.import_module(f"compliance.v1.{name}").DESCRIPTOR for name in modules]
    methods = [method for file in files for service in file.services_by_name.values() for method in service.methods]
    return {
        method.input_type.full_name: Operation(
            f"/{method.containing_service.full_name}/{method.name}",
            GetMessageClass(method.output_type),
            method.server_streaming,
            method.client_streaming,
        )
        for method in methods
    }


@dataclass(frozen=True)
class Stream:
    """Describes how to resume a stream of records."""

    records: str
    """The message field that contains the records, or the only record."""
    last: tuple[str, ...]
    """The path to the position to resume after, in the message or its last record."""
    after: str
    """The request field for this position, or empty if the service always sends all records."""


STREAMS = {
    "ListAffiliatesRequest": Stream("affiliates", ("affiliates", "id"), ""),
    "ListAllComplianceUrlsRequest": Stream("urls", ("urls", "id"), "after_id"),
    "ListAllComplianceCasesRequest": Stream("cases", ("cases", "case_id"), "after_id"),
    "ExportUrlsRequest": Stream("observations", ("last_url_id",), "after_url_id"),
    "ExportCasesRequest": Stream("cases", ("last_case_id",), "after_case_id"),
    "WatchChangesRequest": Stream("page", ("page", "position"), "after"),
}


def position(message: Any, path: tuple[str, ...]) -> int | None:
    """Returns the value at a path. In a list, reads the last element. Returns None if the list is empty."""
    for name in path:
        message = getattr(message, name)
        if hasattr(message, "__len__") and hasattr(message, "__getitem__"):
            if not message:
                return None
            message = message[-1]
    return int(message)
