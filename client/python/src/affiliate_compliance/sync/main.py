"""Brings the affiliates of a company up to date with a file: creates missing affiliates, and changes affiliates that differ.

    compliance-sync-affiliates affiliates.csv --base-url https://compliance.example --token-file token

The file is CSV or an Excel workbook (.xlsx, its first visible sheet). Its first row names the columns: with the field names of requests or of
responses, or with headings of the console. So you can send back every CSV of affiliates from the service. `client_affiliate_id` identifies an
affiliate, so `affiliate_name` can change. An empty cell clears a field. Fields without a column do not change. The file needs at least one
row. CSV is in UTF-8 or UTF-16, or in the encoding of `--encoding`. Commas, semicolons, tabs or vertical bars separate its cells.

`--absent-status` gives a status to affiliates that are not in the file. If more than `--max-absent` affiliates would get the status, nothing
changes, because the file is probably truncated.

Dates are YYYY-MM-DD, or as spreadsheets write them. In 1/5/2026, either the day or the month is first. If another date in the file makes the
order clear, such as 25/5/2026, the job uses this order. Otherwise, it sends nothing and asks for `--dates`.

The job prints the line, field and reason of each row that it cannot apply, and applies all other rows. You can run it again at any time.

Exit status: 0 if everything is up to date, 1 if rows were refused, 2 if the job could not continue.
"""

import argparse
import logging
import sys
from pathlib import Path

from requests.exceptions import SSLError

from ..client import Client
from ..errors import ComplianceError, Refused
from ..transport import AGAIN, BROKEN
from .dates import FIRST
from .job import Summary, sync
from .sheet import ENCODINGS, NotReadable

# The status of a request whose list lacks too many affiliates.
TOO_MANY_ABSENT = 409


def main() -> int:
    arguments = parse()
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    # Waits, and why.
    logging.getLogger("affiliate_compliance").setLevel(logging.INFO)
    token_file = Path(arguments.token_file)
    try:
        # Read for each request, because a token can be replaced while the job runs.
        with Client(arguments.base_url, lambda: token_file.read_text(encoding="utf-8-sig", errors="replace")) as client:
            summary = sync(
                client,
                arguments.file,
                ignored=arguments.ignore,
                dry_run=arguments.dry_run,
                report_absent=arguments.report_absent,
                absent_status=arguments.absent_status,
                max_absent=arguments.max_absent,
                csv_escape=not arguments.no_csv_escape,
                encoding=arguments.encoding,
                dates=arguments.dates,
            )
    except KeyboardInterrupt:
        print("interrupted: run it again to continue", file=sys.stderr)
        return 130
    except (NotReadable, OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    except ComplianceError as error:
        print(f"{error}{request_id(error)}{hint(error, arguments.base_url)}", file=sys.stderr)
        return 2
    return report(summary, arguments.file, arguments.dry_run, arguments.absent_status)


def parse() -> argparse.Namespace:
    about, _, details = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(
        description=about, epilog=details.partition("\n\n")[2], formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", metavar="FILE", help="the file, CSV or .xlsx")
    parser.add_argument("--base-url", default="http://127.0.0.1:8080", help="address of the service (default: %(default)s)")
    parser.add_argument("--token-file", required=True, metavar="PATH", help="file with the token")
    parser.add_argument("--ignore", action="append", default=[], metavar="COLUMN", help="leave out a column; can be repeated")
    parser.add_argument(
        "--no-csv-escape",
        action="store_true",
        help="read cells unchanged; by default, the apostrophe that exports put before a formula is removed, as in '+49",
    )
    parser.add_argument("--encoding", choices=ENCODINGS, help="encoding of CSV (default: UTF-8 or UTF-16; others are refused)")
    parser.add_argument("--dates", choices=FIRST, help="whether the day or the month is first in dates such as 1/5/2026")
    parser.add_argument("--dry-run", action="store_true", help="compare only, and send no changes")
    parser.add_argument("--report-absent", action="store_true", help="list affiliates that are not in the file")
    parser.add_argument("--absent-status", metavar="STATUS", help="give this status to affiliates that are not in the file")
    parser.add_argument(
        "--max-absent",
        type=int,
        metavar="N",
        help="how many affiliates can get the status (default: a tenth of the affiliates with another status, at least 10)",
    )
    return parser.parse_args()


def request_id(error: Exception) -> str:
    found = getattr(error, "request_id", None)
    return f" (request ID {found})" if found else ""


def hint(error: ComplianceError, base_url: str) -> str:
    """What to do next. Running the job again helps only after a temporary error."""
    if isinstance(error, Refused):
        if error.status == TOO_MANY_ABSENT:
            return ": use --max-absent if the file is complete"
        return ": run it again to continue" if error.status in AGAIN else ""
    if isinstance(error.__cause__, SSLError):
        return ""
    return ": run it again to continue" if isinstance(error.__cause__, BROKEN) else f": is {base_url} the address of the service?"


def report(summary: Summary, path: str, dry_run: bool, absent_status: str | None) -> int:
    for problem in summary.problems:
        print(f"{path}:{problem}", file=sys.stderr)
    for identifier in summary.absent:
        print(f"{path}: absent: {identifier}", file=sys.stderr)
    if absent_status:
        kept = summary.absent_total - summary.absent_changed
        what = "would set" if dry_run else "set"
        print(f"{summary.absent_total} absent: {what} {summary.absent_changed} to {absent_status}, {kept} already {absent_status}")
    elif summary.absent_total:
        print(f"{summary.absent_total} absent")
    verb = "to create" if dry_run else "created"
    other = "to change" if dry_run else "changed"
    print(f"{summary.created} {verb}, {summary.changed} {other}, {summary.unchanged} unchanged, {summary.refused} refused")
    if summary.problems:
        return 1
    if summary.absent_changed == 0 and (not dry_run or summary.created + summary.changed == 0):
        print("everything is up to date")
    return 0


if __name__ == "__main__":
    sys.exit(main())
