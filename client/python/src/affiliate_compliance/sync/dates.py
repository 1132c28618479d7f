"""Days as spreadsheets write them. An ambiguous date is never guessed."""

import re
from collections.abc import Iterable
from typing import Literal

from .sheet import NotReadable

Order = Literal["dmy", "mdy"]
FIRST = {"dmy": "day", "mdy": "month"}
# The year first, or last. A time may follow.
ISO = re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?:[T\s]\s*(.*))?")
OTHER = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d{2})(?:[T\s]\s*(.*))?")
MIDNIGHT = re.compile(r"(?:0?0:00(?::00(?:\.0+)?)?|12:00(?::00)?\s*AM)?\s*(?:Z|UTC|[+-]\d\d:?\d\d)?", re.IGNORECASE)


def order_of_day(text: str) -> tuple[Order | None, bool]:
    """The order of day and month that a date itself shows, and whether it is another date in the other order."""
    found = OTHER.fullmatch(text)
    if not found or len(found[4]) == 2:
        return None, False
    first, second = int(found[1]), int(found[3])
    if 12 < first <= 31 and 1 <= second <= 12:
        return "dmy", False
    if 1 <= first <= 12 and 12 < second <= 31:
        return "mdy", False
    return None, first != second and max(first, second) <= 12


def order_of(days: Iterable[tuple[int, str]], path: str) -> Order:
    """The order of the dates of a file, which have the numbers of their lines."""
    settled: tuple[Order, int, str] | None = None
    open_: tuple[int, str] | None = None
    for line, text in days:
        order, is_ambiguous = order_of_day(text)
        if order and settled and order != settled[0]:
            raise NotReadable(
                f"{path}: {settled[2]} on line {settled[1]} has the {FIRST[settled[0]]} first, and {text} on line {line} the {FIRST[order]}: "
                "write the dates of the file as YYYY-MM-DD"
            )
        if order:
            settled = settled or (order, line, text)
        elif is_ambiguous:
            open_ = open_ or (line, text)
    if settled:
        return settled[0]
    if open_:
        raise NotReadable(
            f"{path}: {open_[1]} on line {open_[0]} can be two dates, and no other date of the file says which: read it with --dates dmy "
            "(the day is first) or --dates mdy (the month is first)"
        )
    return "mdy"


def day(text: str, order: Order) -> str:
    """Returns a day as `YYYY-MM-DD`, without a midnight, and any other text unchanged. A `ValueError` says why a date is refused."""
    if found := ISO.fullmatch(text):
        year, first, second, time = found[1], found[3], found[4], found[5]
    elif found := OTHER.fullmatch(text):
        year, first, second, time = found[4], found[1], found[3], found[5]
        if len(year) == 2:
            raise ValueError(f"The year of {text} has two digits; write the date as YYYY-MM-DD.")
        own, _ = order_of_day(text)
        if own and own != order:
            raise ValueError(f"{text} is not a date with the {FIRST[order]} first; write the date as YYYY-MM-DD.")
        if order == "dmy":
            first, second = second, first
    else:
        return text
    return f"{year}-{first:0>2}-{second:0>2}" if MIDNIGHT.fullmatch(time or "") else text
