"""Reads the file: its rows, with the line each begins on, and what is wrong with some."""

import csv
import logging
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..countries import NUMERIC
from ..models import AFFILIATE_FIELDS

if TYPE_CHECKING:
    from _csv import Reader as CsvReader

IDENTIFIER = "client_affiliate_id"
DELIMITERS = ",;\t|"
# Characters of a cell. A longer one is an error of the file, such as a quote that is not closed.
LONGEST_CELL = 2**20
# Names under which lists have fields that are written under other ones.
READ_AS = {"client_distributor_id": IDENTIFIER, "distributor_name": "affiliate_name", "distributor_status": "status"}
# Fields of lists that the service assigns.
READ_ONLY = ("id", "client_id")
# Lists have the numbers of countries.
COUNTRIES = {number: code for code, number in NUMERIC.items()}
# How files begin that are not CSV in UTF-8: the bytes of marks of UTF-16 are read as surrogates.
OTHER_FORMS = {
    "[": "is JSON: export CSV",
    "{": "is JSON or NDJSON: export CSV",
    "\udcff\udcfe": "is in UTF-16: save it as UTF-8",
    "\udcfe\udcff": "is in UTF-16: save it as UTF-8",
}
# What a spreadsheet would run as a formula, behind any number of apostrophes.
FORMULA = re.compile(r"'*[=+\-@\t\r\n]")

log = logging.getLogger(__name__)


class NotReadable(Exception):
    """The file as a whole cannot be used. Nothing was sent."""


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


def read(path: str, ignored: Collection[str] = (), csv_escape: bool = True) -> File:
    csv.field_size_limit(LONGEST_CELL)
    file = File()
    # Bytes that are not UTF-8 become surrogates, so that the row can be named.
    with open(path, encoding="utf-8-sig", errors="surrogateescape", newline="") as text:
        first = text.readline()
        for beginning, reason in OTHER_FORMS.items():
            if first.lstrip().startswith(beginning):
                raise NotReadable(f"{path} {reason}")
        delimiter = max(DELIMITERS, key=first.count)
        text.seek(0)
        lines = numbered(csv.reader(text, delimiter=delimiter, strict=True), path)
        _, header = next(lines, (0, []))
        names = checked_header(header, ignored, path)
        for line, cells in lines:
            add(file, line, names, [text_of(cell) for cell in cells] if csv_escape else cells)
    if not file.rows and not file.problems:
        raise NotReadable(f"{path}: the file has no rows")
    return without_repeated(file)


def numbered(reader: "CsvReader", path: str) -> Iterator[tuple[int, list[str]]]:
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise NotReadable(f"{path}:{line}: {error}") from error
        if cells is None:
            return
        if cells:
            yield line, cells


def text_of(cell: str) -> str:
    """The text of a cell, without the apostrophe that exports put before a formula."""
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell, 1) else cell


def field_name(heading: str) -> str:
    """The name of a field, whatever its case is and whatever separates its words."""
    return heading.lower().replace(" ", "_").replace("-", "_")


def checked_header(header: Sequence[str], ignored: Collection[str], path: str) -> list[str | None]:
    """The field of each column, under the name that it is written with; none for a column that is left out."""
    given = [name.strip() for name in header]
    read_only = [name for name in given if field_name(name) in READ_ONLY and name not in ignored]
    fields = [field_name(name) for name in given]
    columns = [None if name in ignored or written in READ_ONLY else READ_AS.get(written, written) for name, written in zip(given, fields)]
    if IDENTIFIER not in columns:
        raise NotReadable(f"{path} has no column {IDENTIFIER}, which identifies an affiliate")
    if repeated := sorted({name for name in columns if name and columns.count(name) > 1}):
        names = sorted({other for other, name in zip(given, columns) if name in repeated})
        raise NotReadable(f"{path} has a column twice: {', '.join(names)} (--ignore COLUMN leaves one out)")
    if unknown := [name for name, column in zip(given, columns) if column and column not in AFFILIATE_FIELDS]:
        raise NotReadable(f"{path} has columns that are no fields: {', '.join(unknown)} (--ignore COLUMN leaves one out)")
    if read_only:
        log.info("left out, since the service assigns them: %s", ", ".join(read_only))
    return columns


def add(file: File, line: int, names: Sequence[str | None], cells: list[str]) -> None:
    """Adds a row. The service checks what the other cells hold."""
    if len(cells) != len(names):
        file.problems.append(Problem(line, None, f"has {len(cells)} cells; the header has {len(names)}"))
        return
    kept = {name: cell for name, cell in zip(names, cells) if name}
    if (country := kept.get("country", "")).isdecimal():
        kept["country"] = COUNTRIES.get(int(country), country)
    garbled = [name for name, cell in kept.items() if any("\ud800" <= character <= "\udfff" for character in cell)]
    problems = [Problem(line, name, "is not in UTF-8") for name in garbled]
    if not kept[IDENTIFIER].strip():
        problems.append(Problem(line, IDENTIFIER, "is required"))
    file.problems += problems
    if not problems:
        file.rows.append(Row(line, kept))


def without_repeated(file: File) -> File:
    """Which of two rows with the same identifier is right is not known: neither is applied."""
    lines = defaultdict(list)
    for row in file.rows:
        lines[row.identifier].append(row.line)
    for row in file.rows:
        if others := [str(line) for line in lines[row.identifier] if line != row.line]:
            file.problems.append(Problem(row.line, IDENTIFIER, f"{row.identifier!r} is also on line {', '.join(others)}"))
    file.rows = [row for row in file.rows if len(lines[row.identifier]) == 1]
    return file
