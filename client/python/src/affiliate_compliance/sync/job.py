"""The job: sends the rows of the file as syncs, which the service compares with its affiliates."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..client import Client
from ..errors import Refused
from .dates import Order
from .file import IDENTIFIER, Problem, Row, read

# Items of a request.
BATCH = 5000
# Items of a request, at most.
LONGEST_ROSTER = 100_000
NAME_TAKEN = "1023"
TOO_LARGE = 413


@dataclass
class Summary:
    """How many rows have each outcome."""

    created: int = 0
    changed: int = 0
    unchanged: int = 0
    absent: list[str] = field(default_factory=list)
    """Identifiers of the first 1,000 affiliates that the file lacks, if requested."""
    absent_total: int = 0
    absent_changed: int = 0
    """How many of them got the status, or would get it. The others have it already."""
    problems: list[Problem] = field(default_factory=list)
    """Why the others were refused. A row may have several problems."""

    @property
    def refused(self) -> int:
        return len({problem.line for problem in self.problems})


def sync(
    client: Client,
    path: str,
    *,
    ignored: Collection[str] = (),
    dry_run: bool = False,
    batch: int = BATCH,
    report_absent: bool = False,
    absent_status: str | None = None,
    max_absent: int | None = None,
    csv_escape: bool = True,
    encoding: str | None = None,
    dates: Order | None = None,
) -> Summary:
    """Brings the affiliates up to date with a file, CSV or an Excel workbook.

    When it returns, every row without a problem agrees with the service. With `dry_run`, the service compares, and writes nothing: exactly
    for files of up to 100,000 rows. Affiliates that the file lacks are reported, or get a status, if no row has a problem and the file
    has at most 100,000 rows. If more than `max_absent` (by default a tenth, at least 10) would get it, nothing changes: `Refused` with 409.

    Without `csv_escape`, cells are read unchanged, with the apostrophe before a formula. `encoding` is `windows-1252` or `macintosh` for
    CSV that is neither UTF-8 nor UTF-16. `dates` is `dmy` or `mdy` if no date of the file shows the order of day and month.
    """
    file = read(path, ignored, csv_escape, encoding=encoding, dates=dates)
    summary = Summary(problems=list(file.problems))
    absent: Any = {"report_absent": True, "absent_status": absent_status, "max_absent": max_absent}
    if absent_status and not dry_run and not summary.problems and len(file.rows) <= LONGEST_ROSTER:
        # A truncated file is refused before its rows are sent.
        present: Any = [{IDENTIFIER: row.identifier} for row in file.rows]
        client.sync_affiliates(present, **absent, validate_only=True)
    # Names change at the same time within a request.
    rows, size = file.rows, LONGEST_ROSTER if dry_run else batch
    while rows:
        refused = send(client, rows, size, dry_run, summary)
        again = [row for row, result in refused if result["code"] == NAME_TAKEN]
        # Another request can free a name. Rows that wait for each other are sent together.
        if dry_run or (len(again) == len(rows) and size == LONGEST_ROSTER):
            again = []
        for row, result in refused:
            if not again or result["code"] != NAME_TAKEN:
                summary.problems += problems(row, result)
        rows, size = again, LONGEST_ROSTER
    if (report_absent or absent_status) and not summary.problems:
        if len(file.rows) > LONGEST_ROSTER:
            summary.problems.append(Problem(1, None, f"absent affiliates need a file of at most {LONGEST_ROSTER} rows"))
        else:
            # All rows agree with the service by now, unless this is a dry run.
            answer = client.sync_affiliates([item(row) for row in file.rows], **absent, validate_only=dry_run)
            summary.absent = [affiliate["client_affiliate_id"] for affiliate in answer["absent"]]
            summary.absent_total, summary.absent_changed = answer["absent_total"], answer["absent_changed"]
    summary.problems.sort(key=lambda problem: (problem.line, problem.field or "", problem.reason))
    return summary


def item(row: Row) -> Any:
    """An item of a sync. An empty cell clears its field."""
    return {name: cell or None for name, cell in row.cells.items()}


def send(client: Client, rows: Sequence[Row], size: int, dry_run: bool, summary: Summary) -> list[tuple[Row, Any]]:
    """Counts the outcomes, and returns refused rows with their results."""
    refused = []
    # The next one is last.
    batches = [rows[start : start + size] for start in range(0, len(rows), size)][::-1]
    while batches:
        batch = batches.pop()
        roster: Any = [item(row) for row in batch]
        try:
            results = client.sync_affiliates(roster, validate_only=dry_run)["results"]
        except Refused as error:
            if error.status != TOO_LARGE or len(batch) == 1:
                raise
            middle = len(batch) // 2
            batches += [batch[middle:], batch[:middle]]
            continue
        for row, result in zip(batch, results, strict=True):
            match result["outcome"]:
                case "created":
                    summary.created += 1
                case "updated":
                    summary.changed += 1
                case "unchanged":
                    summary.unchanged += 1
                case _:
                    refused.append((row, result))
    return refused


def problems(row: Row, result: Any) -> list[Problem]:
    """Why a row was refused."""
    if result["violations"]:
        return [Problem(row.line, violation["field"], violation["description"]) for violation in result["violations"]]
    return [Problem(row.line, "affiliate_name" if result["code"] == NAME_TAKEN else "client_affiliate_id", result["msg"])]
