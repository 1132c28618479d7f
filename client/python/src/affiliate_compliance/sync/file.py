"""Reads the file: its rows, with the line each begins on, and what is wrong with some."""

import json
import logging
import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files

from ..countries import ALPHA2
from ..models import AFFILIATE_FIELDS
from .dates import Order, day, order_of
from .headings import EXACT, READ_ONLY, UNNAMED, field_of, letters
from .sheet import NotReadable, Sheet
from .sheet import read as read_sheet

IDENTIFIER = "client_affiliate_id"
DAY = "start_date"
# Rows that lack one of these cells are damaged: spreadsheets leave out empty cells only.
REQUIRED = (IDENTIFIER, "affiliate_name")
# The codes of countries by their English names.
NAMES: dict[str, list[str]] = json.loads((files("affiliate_compliance") / "country_names.json").read_text(encoding="utf-8"))
COUNTRIES = {letters(name): code for code, names in NAMES.items() for name in names}
# What a spreadsheet would run as a formula, behind any number of apostrophes.
FORMULA = re.compile(r"'*[=+\-@\t\r\n]")
# What a spreadsheet shows instead of a value that it cannot compute.
ERRORS = {"#N/A", "#REF!", "#VALUE!", "#DIV/0!", "#NAME?", "#NUM!", "#NULL!"}

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Row:
    line: int
    """Where the row begins. A quoted cell may have several lines."""
    cells: dict[str, str]

    @property
    def identifier(self) -> str:
        return self.cells[IDENTIFIER]


@dataclass(frozen=True, order=True)
class Problem:
    """Why a row was not applied."""

    line: int
    field: str | None
    reason: str

    def __str__(self) -> str:
        return f"{self.line}: {self.field + ': ' if self.field else ''}{self.reason}"


@dataclass
class File:
    rows: list[Row] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


@dataclass(frozen=True)
class Reading:
    """How the rows of a file are read."""

    sheet: Sheet
    header: Sequence[str]
    names: Sequence[str | None]
    """The field of each column, by its name in requests; none for an ignored column."""
    order: Order
    csv_escape: bool

    @cached_property
    def is_exact(self) -> bool:
        """Whether the file is a whole export of the service, so that spaces around texts belong to them."""
        return self.sheet.epoch is None and set(self.names) >= AFFILIATE_FIELDS.keys() and EXACT.issuperset(self.header)

    def text(self, name: str, cell: str) -> str:
        """The text of a cell; a `ValueError` says why it has none."""
        if not self.is_exact and cell.strip() in ERRORS:
            raise ValueError(f"The cell has the error {cell.strip()} of a formula; correct it in the spreadsheet.")
        # Without the apostrophe that exports put before a formula.
        text = cell[1:] if self.csv_escape and cell.startswith("'") and FORMULA.match(cell, 1) else cell
        if not self.is_exact:
            text = text.strip()
        if name == DAY:
            return day(self.sheet.day(text), self.order)
        return country(text) if name == "country" else text


def country(text: str) -> str:
    """The alpha-2 code of a country that is given by its numeric code, as in lists, or by its name. Any other text is returned unchanged."""
    return ALPHA2.get(int(text), text) if text.isdecimal() else COUNTRIES.get(letters(text), text)


def read(path: str, ignored: Collection[str] = (), csv_escape: bool = True, *, encoding: str | None = None, dates: Order | None = None) -> File:
    sheet = read_sheet(path, encoding)
    (_, first), *rows = sheet.rows
    header = [name.strip() for name in first]
    width = len(header)
    while header and not header[-1]:
        header.pop()
    names = checked_header(header, ignored, path)
    if dates is None:
        days = [index for index, name in enumerate(names) if name == DAY]
        dates = order_of(((line, cells[index].strip()) for line, cells in rows for index in days if index < len(cells)), path)
    reading = Reading(sheet, header, names, dates, csv_escape)
    file = File()
    for line, cells in rows:
        is_cut = line == rows[-1][0] and not sheet.ends_in_line_end
        add(file, line, cells, width, reading, is_cut)
    if not file.rows and not file.problems:
        raise NotReadable(f"{path}: the file has no rows")
    if unnamed := [index for index, name in enumerate(header) if UNNAMED.fullmatch(name)]:
        log.info("ignored, because it has no heading: column %s", ", ".join(str(index + 1) for index in unnamed))
    return without_repeated(file)


def checked_header(header: Sequence[str], ignored: Collection[str], path: str) -> list[str | None]:
    left_out = [name in ignored or letters(name) in map(letters, filter(letters, ignored)) for name in header]
    columns: list[str | None] = []
    unknown = []
    for name, is_left_out in zip(header, left_out):
        is_known = is_left_out or UNNAMED.fullmatch(name) or letters(name) in READ_ONLY
        columns.append(None if is_known else field_of(name))
        if not is_known and columns[-1] is None:
            unknown.append(name)
    read_only = [name for name, is_left_out in zip(header, left_out) if letters(name) in READ_ONLY and not is_left_out]
    if unknown and not any(columns) and not read_only and not any(left_out):
        raise NotReadable(f"{path}: the first row must name the columns, but none of its cells is a field name: {', '.join(header)}")
    for index, field in enumerate(columns):
        if field and (place := columns.index(field)) < index:
            one, other = header[place], header[index]
            # --ignore means all columns that have the heading.
            advice = "remove one of them from the file" if letters(one) == letters(other) else f'leave one out with --ignore "{other}"'
            raise NotReadable(f'{path}: the columns {place + 1} ("{one}") and {index + 1} ("{other}") are the same field, {field}: {advice}')
    if unknown:
        names = ", ".join(f'"{name}"' for name in unknown)
        advice = " ".join(f'--ignore "{name}"' for name in unknown)
        raise NotReadable(f"{path}: there is no field for {names}: correct the heading, or leave the column out with {advice}")
    if IDENTIFIER not in columns:
        raise NotReadable(f"{path}: no column is the field {IDENTIFIER}, which identifies an affiliate; the columns are: {', '.join(header)}")
    if read_only:
        log.info("ignored, because the service assigns them: %s", ", ".join(read_only))
    return columns


def add(file: File, line: int, cells: list[str], width: int, reading: Reading, is_cut: bool) -> None:
    """Adds a row. The service checks what the other cells hold. `is_cut` says that the file ends within the row's line."""
    missing = len(reading.header) - len(cells)
    # Spreadsheets leave out empty cells at the end of a row.
    lacks_required = any(name in REQUIRED for name in reading.names[len(cells) :])
    if any(cell.strip() for cell in cells[width:]) or (missing > 0 and lacks_required and reading.sheet.epoch is None):
        file.problems.append(Problem(line, None, f"has {len(cells)} cells; the header has {width}"))
        return
    if missing > 0 and is_cut:
        file.problems.append(Problem(line, None, f"has {len(cells)} cells and no line end; the header has {width}: was the file cut off?"))
        return
    kept = {}
    problems = []
    for name, cell in zip(reading.names, [*cells, *[""] * missing]):
        if name:
            try:
                kept[name] = reading.text(name, cell)
            except ValueError as error:
                problems.append(Problem(line, name, str(error)))
    if not kept.get(IDENTIFIER, "").strip() and not problems:
        problems.append(Problem(line, IDENTIFIER, "is required"))
    file.problems += problems
    if not problems:
        file.rows.append(Row(line, kept))


def without_repeated(file: File) -> File:
    """Refuses rows with the same identifier, because either can be right."""
    lines = defaultdict(list)
    for row in file.rows:
        lines[row.identifier].append(row.line)
    for row in file.rows:
        if others := [str(line) for line in lines[row.identifier] if line != row.line]:
            file.problems.append(Problem(row.line, IDENTIFIER, f"{row.identifier!r} is also on line {', '.join(others)}"))
    file.rows = [row for row in file.rows if len(lines[row.identifier]) == 1]
    return file
