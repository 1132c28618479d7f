"""The forms of a field: as a cell of the file, and as the service reads it back."""

import re
from datetime import date
from typing import TypeAlias, get_args

from ..countries import NUMERIC
from ..models import AFFILIATE_FIELDS, AffiliateStatus

Value: TypeAlias = str | int | None
"""As the service reads it back."""

IDENTIFIER, NAME = "client_affiliate_id", "affiliate_name"
REQUIRED = (IDENTIFIER, NAME)
DAY_FORMS = (re.compile(r"(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"),
             re.compile(r"(?P<month>[0-9]{2})/(?P<day>[0-9]{2})/(?P<year>[0-9]{4})"))


class Violation(Exception):
    """A cell is not valid."""


def value_of(field: str, cell: str) -> Value:
    """What the service reads back after it has saved this cell. An empty cell clears an optional field."""
    if field in REQUIRED and not cell.strip():
        raise Violation("is required")
    if not cell:
        return None
    longest = AFFILIATE_FIELDS[field]
    if longest is not None and len(cell) > longest:
        raise Violation(f"has {len(cell)} characters; at most {longest} are allowed")
    if "\0" in cell:
        raise Violation("has a NUL character")
    if any("\ud800" <= character <= "\udfff" for character in cell):
        raise Violation("is not in UTF-8")
    if field == "country":
        return country(cell)
    if field == "start_date":
        return day(cell)
    if field == "status" and cell not in get_args(AffiliateStatus):
        raise Violation(f"{cell!r} is none of " + ", ".join(get_args(AffiliateStatus)))
    return cell


def country(cell: str) -> int:
    if not cell.isascii() or cell.upper() not in NUMERIC:
        raise Violation(f"{cell!r} is no ISO 3166-1 alpha-2 code")
    return NUMERIC[cell.upper()]


def day(cell: str) -> str:
    for form in DAY_FORMS:
        if parts := form.fullmatch(cell):
            try:
                return date(int(parts["year"]), int(parts["month"]), int(parts["day"])).isoformat()
            except ValueError:
                break
    raise Violation(f"{cell!r} is no day in the form YYYY-MM-DD or MM/DD/YYYY")

