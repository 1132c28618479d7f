"""Errors that calls raise."""

from collections.abc import Mapping
from typing import Any


class ComplianceError(Exception):
    """A call failed."""


class Unavailable(ComplianceError):
    """No attempt received a complete response."""


class Refused(ComplianceError):
    """The service rejected the request."""

    def __init__(self, status: int, code: str | None, message: str, request_id: str | None, detail: Mapping[str, Any] | None = None) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status
        """The HTTP status."""
        self.code = code
        """The result code, such as `1023`. None for violations (422) and for a proxy's responses."""
        self.message = message
        """The error, as a sentence."""
        self.request_id = request_id
        """The request's ID in the service's logs."""
        self.detail = dict(detail or {})
        """The response's `detail`, such as the `case_id` of an open case. Empty for violations (422) and for a proxy's responses."""


class Changed(Refused):
    """The record has changed since it was read (412). This request saved nothing.

    If a response was lost, an earlier attempt may have changed the record. Read the record again.
    """


class Invalid(Refused):
    """Some fields are invalid (422). Nothing was saved."""

    def __init__(self, message: str, violations: dict[str, list[str]], request_id: str | None) -> None:
        super().__init__(422, None, message, request_id)
        self.violations = violations
        """Messages by path, such as `affiliate_name`, `affiliates.3.email_one` or `per_page`."""
