"""Errors of a call."""


class ComplianceError(Exception):
    """A call did not succeed."""


class Unavailable(ComplianceError):
    """No attempt got a complete response."""


class Refused(ComplianceError):
    """The service refused the request."""

    def __init__(self, status: int, code: str | None, message: str, request_id: str | None) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status
        """The HTTP status."""
        self.code = code
        """The result code, such as `1023`; none for violations (422), and for responses of a proxy."""
        self.message = message
        """A sentence for people."""
        self.request_id = request_id
        """Names the request in the service's logs."""


class Changed(Refused):
    """The record has changed since it was read (412). Nothing was saved by this request.

    If a response was lost and the request repeated, the change itself may be what changed the record: read it again.
    """


class Invalid(Refused):
    """Fields violate their rules (422). Nothing was saved."""

    def __init__(self, message: str, violations: dict[str, list[str]], request_id: str | None) -> None:
        super().__init__(422, None, message, request_id)
        self.violations = violations
        """Sentences by path, such as `affiliate_name`, `affiliates.3.email_one` or `per_page`."""
