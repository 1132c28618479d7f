"""Reads a table as rows of texts, with the line each begins on: from CSV in the encodings of spreadsheets, or from an Excel workbook."""

import csv
import io
import logging
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

if TYPE_CHECKING:
    from _csv import Reader as CsvReader

# Of as many, the first one: names contain commas more often than tabs and semicolons.
DELIMITERS = "\t;,|"
# How Excel names the delimiter, in a line before the names of the columns.
DELIMITER_LINE = re.compile(r'"?sep=(.)"?\r?\n?', re.IGNORECASE)
# Characters of a cell. A longer one is an error of the file, such as a quote that is not closed.
LONGEST_CELL = 2**20
# Bytes that decide how a file is read, and bytes of a workbook.
HEAD = 2**16
LARGEST_WORKBOOK = 20 * 2**20
# Encodings that can be named, as Python calls them. UTF-16 is detected.
ENCODINGS = {"utf-8": "utf-8-sig", "windows-1252": "cp1252", "macintosh": "mac_roman"}
MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
SAVE = "save it as .xlsx or as CSV in UTF-8"
FOREIGN = (
    (re.compile(rb"\xd0\xcf\x11\xe0"), f"is an Excel 97 workbook (.xls), or a workbook with a password: {SAVE}"),
    (re.compile(rb"%PDF"), f"is a PDF: {SAVE}"),
    (re.compile(rb"\s*<"), f"is HTML or XML: {SAVE}"),
)
JSON = re.compile(r'\s*(?:\{\s*"|\[\s*[{\]])')

log = logging.getLogger(__name__)


class NotReadable(Exception):
    """The file cannot be used. Nothing was sent."""


@dataclass
class Sheet:
    rows: list[tuple[int, list[str]]]
    """The rows that are not blank, with the lines on which they begin. The first names the columns."""
    epoch: datetime | None = None
    """The first day of the dates of a workbook."""
    ends_in_line_end: bool = True

    def day(self, text: str) -> str:
        """The day of a number in a column of dates: the cell of a workbook has lost its format."""
        if self.epoch is None or not re.fullmatch(r"\d{1,7}(?:\.\d+)?", text) or not 1 <= float(text) < 2_958_466:
            return text
        from openpyxl.utils.datetime import from_excel

        return text_of(from_excel(float(text), self.epoch))


def read(path: str, encoding: str | None = None) -> Sheet:
    with open(path, "rb") as file:
        head = file.read(HEAD)
        if head.startswith(b"PK\x03\x04"):
            sheet = of_workbook(file, path)
        else:
            for beginning, reason in FOREIGN:
                if beginning.match(head):
                    raise NotReadable(f"{path} {reason}")
            rows = of_csv(path, encoding_of(file, head, encoding, path))
            sheet = Sheet([row for row in rows if any(cell.strip() for cell in row[1])], ends_in_line_end=ends_in_line_end(file))
    if not sheet.rows:
        raise NotReadable(f"{path}: the file is empty; its first row must name the columns")
    return sheet


def ends_in_line_end(file: io.BufferedReader) -> bool:
    # A character of UTF-16 has two bytes.
    file.seek(-min(2, file.seek(0, io.SEEK_END)), io.SEEK_END)
    return file.read().strip(b"\0").endswith((b"\r", b"\n"))


def encoding_of(file: io.BufferedReader, head: bytes, named: str | None, path: str) -> str:
    """The encoding as Python calls it. The job never guesses it: the caller names every encoding except UTF-8 and UTF-16."""
    for mark, encoding in MARKS:
        if head.startswith(mark):
            break
    else:
        wide = {"0101": "utf-16-le", "1010": "utf-16-be"}.get("".join("01"[byte == 0] for byte in head[:4]))
        encoding = ENCODINGS[named] if named and named != "utf-8" else wide or "utf-8-sig"
    if encoding == "utf-8-sig":
        check_utf8(file, path)
    return encoding


def check_utf8(file: io.BufferedReader, path: str) -> None:
    """Fails at the first line that is not UTF-8, with its cell in both encodings that the file may have."""
    file.seek(0)
    # Lines that end in a carriage return alone are one line here.
    for before, lines in enumerate(file):
        try:
            lines.decode()
        except UnicodeDecodeError as error:
            number = before + 1 + lines[: error.start].count(b"\r")
            around = [re.split(rb'[,;\t|"\r\n]', part) for part in (lines[: error.start], lines[error.start :])]
            cell = around[0][-1] + around[1][0]
            windows, mac = (cell.decode(other, "replace") for other in ("cp1252", "mac_roman"))
            raise NotReadable(
                f'{path} is not UTF-8: line {number} has "{windows}" if it is Windows-1252 and "{mac}" if it is Mac Roman. Read it with '
                "--encoding windows-1252 or --encoding macintosh, whichever is right, or save it as CSV in UTF-8"
            ) from error


def of_csv(path: str, encoding: str) -> Iterator[tuple[int, list[str]]]:
    csv.field_size_limit(LONGEST_CELL)
    with open(path, encoding=encoding, errors="replace", newline="") as text:
        start = text.read(HEAD)
        if JSON.match(start):
            raise NotReadable(f"{path} is JSON or NDJSON: export CSV")
        text.seek(0)
        named = DELIMITER_LINE.fullmatch(text.readline())
        before = 1 if named else 0
        if not named:
            text.seek(0)
        delimiter = named[1] if named else delimiter_of(start)
        yield from numbered(csv.reader(text, delimiter=delimiter, strict=True), before, path)


def delimiter_of(text: str) -> str:
    """The delimiter that is most frequent in the first line, outside of quotes."""
    plain = re.sub(r'"[^"]*(?:"|$)', "", text).lstrip("\r\n ")
    first = re.split(r"[\r\n]", plain, maxsplit=1)[0]
    found = max(DELIMITERS, key=first.count)
    return found if found in first else ","


def numbered(reader: "CsvReader", before: int, path: str) -> Iterator[tuple[int, list[str]]]:
    while True:
        line = before + reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            if "end of data" in str(error):
                reason = f"the file ends within the quoted cell that begins on line {line}: it was cut off, or a quote is missing"
                raise NotReadable(f"{path}: {reason}") from error
            raise NotReadable(f"{path}:{line}: {error}") from error
        if cells is None:
            return
        yield line, cells


def of_workbook(file: io.BufferedReader, path: str) -> Sheet:
    if file.seek(0, io.SEEK_END) > LARGEST_WORKBOOK:
        raise NotReadable(f"{path} is larger than {LARGEST_WORKBOOK // 2**20} MiB: save it as CSV in UTF-8")
    file.seek(0)
    # Imported only here, because that takes longer than reading CSV.
    import openpyxl

    try:
        with warnings.catch_warnings():
            # Styles and extensions hold no texts.
            warnings.simplefilter("ignore", UserWarning)
            return first_sheet(openpyxl.load_workbook(file, read_only=True, data_only=True), path)
    except (BadZipFile, KeyError, ValueError, TypeError, SyntaxError, OSError) as error:
        raise NotReadable(f"{path} is not a workbook that can be read: {SAVE}") from error


def first_sheet(book: Any, path: str) -> Sheet:
    sheets = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"]
    if not sheets:
        raise NotReadable(f"{path} has no visible sheet")
    first, *others = sheets
    if others:
        log.warning("only the first sheet %r is read; left out: %s", first.title, ", ".join(sheet.title for sheet in others))
    # Some programs write a smaller size than the sheet has.
    first.reset_dimensions()
    rows = [(number, [text_of(cell) for cell in cells]) for number, cells in enumerate(first.iter_rows(values_only=True), 1)]
    return Sheet([row for row in rows if any(cell.strip() for cell in row[1])], book.epoch)


def text_of(cell: Any) -> str:
    """The text of a cell, as CSV has it. Workbooks have no time zones."""
    match cell:
        case None:
            return ""
        case bool():
            return str(cell).upper()
        case float() if cell.is_integer():
            return str(int(cell))
        case datetime():
            return str(cell.date() if cell.time() == time() else cell.replace(microsecond=0))
        case date():
            return str(cell)
        case _:
            return str(cell)
