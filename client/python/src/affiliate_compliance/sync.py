"""Syncs affiliates from a file.

    compliance-sync-affiliates affiliates.csv --base-url https://compliance.example --token-file token

The file is CSV or an Excel workbook (.xlsx). Its first row contains the column names: field names from requests or responses, or
console headings. `client_affiliate_id` identifies an affiliate, so `affiliate_name` can change. An empty cell clears a field. Fields
without a column do not change.

`--absent-status` sets the status of affiliates that are not in the file. If more than `--max-absent` affiliates would receive the status,
nothing changes, because the file is probably truncated.

The job prints each row that the service refuses, with the cell and the reason. The service applies all other rows. You can run the job again
at any time.

Exit status: 0 if everything is up to date, 1 if rows were refused, 2 if the job could not continue.
"""

import argparse
import logging
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from requests.exceptions import SSLError

from .client import Client
from .errors import ComplianceError, Invalid, Refused
from .transport import AGAIN, BROKEN, checked_token, is_unknown_host

# Maximum characters of a file's name in an error. The option can contain the token instead of the file's name, and a token is longer.
SHOWN = 64
# Seconds. The service takes a long time to respond to a large file.
READ_TIMEOUT = 300
# Command-line options by the service's parameter names.
OPTIONS = {"dates": "--dates", "encoding": "--encoding", "sheet": "--sheet", "columns": "--column or --ignore"}


def main() -> int:
    arguments = parse()
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    # Logs why the job waits.
    logging.getLogger("affiliate_compliance").setLevel(logging.INFO)
    token_file = Path(arguments.token_file)
    shown = f"token file {token_file}" if len(token_file.name) <= SHOWN else "token file"

    def token() -> str:
        """Reads the file for each request, because the token can be replaced while the job runs."""
        try:
            return checked_token(token_file.read_text(encoding="utf-8-sig", errors="replace"))
        except OSError as error:
            raise ValueError(f"cannot read the {shown}: {error.strerror}") from None
        except ValueError as error:
            raise ValueError(f"{shown}: {error}") from None

    try:
        with Client(arguments.base_url, token, read_timeout=READ_TIMEOUT) as client:
            answer = client.call("POST", "/affiliates:sync", query(arguments), Path(arguments.file).read_bytes())
    except KeyboardInterrupt:
        print("interrupted: run the job again to continue", file=sys.stderr)
        return 130
    except OSError as error:
        print(f"cannot read {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    except ComplianceError as error:
        print(f"{sentence(error)}{request_id(error)}{hint(error, arguments.base_url)}", file=sys.stderr)
        return 2
    return report(answer, arguments)


def parse() -> argparse.Namespace:
    about, _, details = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        description=about, epilog=details.partition("\n\n")[2], formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", metavar="FILE", help="the file, CSV or .xlsx")
    parser.add_argument("--base-url", default="http://127.0.0.1:8080", help="address of the service (default: %(default)s)")
    parser.add_argument("--token-file", required=True, metavar="PATH", help="file with the token")
    parser.add_argument("--ignore", action="append", default=[], metavar="COLUMN", help="ignore this column; can be repeated")
    parser.add_argument("--column", action="append", default=[], metavar="HEADING=FIELD", help="map a column to a field; can be repeated")
    parser.add_argument("--sheet", metavar="NAME", help="workbook sheet (default: the first visible sheet)")
    parser.add_argument(
        "--no-csv-escape",
        action="store_true",
        help="read cells unchanged; by default, the service removes the apostrophe that exports put before a formula, as in '+49",
    )
    parser.add_argument("--encoding", metavar="NAME", help="CSV encoding: windows-1252 or macintosh (default: UTF-8 or UTF-16)")
    parser.add_argument("--dates", metavar="ORDER", help="order of dates such as 1/5/2026: dmy or mdy")
    parser.add_argument("--dry-run", action="store_true", help="only compare, and change nothing")
    parser.add_argument("--report-absent", action="store_true", help="list affiliates that are not in the file")
    parser.add_argument("--absent-status", metavar="STATUS", help="set the status of affiliates that are not in the file")
    parser.add_argument(
        "--max-absent",
        type=int,
        metavar="N",
        help="maximum number of affiliates that receive the status (default: a tenth of the affiliates with a different status, at least 10)",
    )
    return parser.parse_args()


def query(arguments: argparse.Namespace) -> dict[str, Any]:
    """Returns the options as query parameters."""
    return {
        "dates": arguments.dates,
        "encoding": arguments.encoding,
        "sheet": arguments.sheet,
        "columns": [*arguments.column, *(f"{heading}=" for heading in arguments.ignore)],
        "escape": "none" if arguments.no_csv_escape else None,
        "validate_only": "true" if arguments.dry_run else None,
        "report_absent": "true" if arguments.report_absent else None,
        "absent_status": arguments.absent_status,
        "max_absent": arguments.max_absent,
    }


def sentence(error: ComplianceError) -> str:
    """Returns the error, with the options that can resolve it."""
    if not isinstance(error, Invalid):
        return str(error).replace("max_absent", "--max-absent")
    sentences = ((sentence, OPTIONS.get(path)) for path, sentences in error.violations.items() for sentence in sentences)
    return "422: " + "\n".join(
        # An option without an effect resolves nothing.
        f"{sentence} Use {option}." if option and not sentence.endswith("remove it.") else sentence
        for sentence, option in sentences
    )


def request_id(error: Exception) -> str:
    found = getattr(error, "request_id", None)
    return f" (request ID {found})" if found else ""


def hint(error: ComplianceError, base_url: str) -> str:
    """Returns what to do next. Running the job again helps only after a temporary error."""
    if isinstance(error, Refused):
        return ": run the job again to continue" if error.status in AGAIN else ""
    if isinstance(error.__cause__, SSLError):
        return ""
    is_temporary = isinstance(error.__cause__, BROKEN) and not is_unknown_host(error.__cause__)
    return ": run the job again to continue" if is_temporary else f": is {base_url} the address of the service?"


def report(answer: Any, arguments: argparse.Namespace) -> int:
    data = answer["data"]
    for note in data["notes"]:
        print(f"{arguments.file}: {note}", file=sys.stderr)
    for result in data["results"]:
        for reason in reasons(result):
            print(f"{arguments.file}: {reason}", file=sys.stderr)
    for affiliate in data["absent"]:
        print(f"{arguments.file}: absent: {affiliate['client_affiliate_id']}", file=sys.stderr)
    counts = Counter(result["outcome"] for result in data["results"])
    wants_absent, dry = arguments.report_absent or arguments.absent_status, arguments.dry_run
    if wants_absent and counts["refused"]:
        # The message says whether the service counted absent affiliates.
        print(answer["detail"]["msg"], file=sys.stderr)
    total, changed = data["absent_total"], data["absent_changed"]
    if arguments.absent_status:
        status, what = arguments.absent_status, "would set" if dry else "set"
        print(f"{total} absent: {what} {changed} to {status}, {total - changed} already {status}")
    elif total:
        print(f"{total} absent")
    created, updated = ("to create", "to change") if dry else ("created", "changed")
    print(
        f"{counts['created']} {created}, {counts['updated']} {updated}, {counts['unchanged']} unchanged, {counts['refused']} refused"
    )
    if counts["refused"]:
        return 1
    if changed == 0 and (not dry or counts["created"] + counts["updated"] == 0):
        print("everything is up to date")
    return 0


def reasons(result: Any) -> list[str]:
    """Returns why the service refused a row. The message for an unreadable cell already names its location."""
    if result["outcome"] != "refused":
        return []
    place = f"Row {result['row']}"
    found = [one["description"] if "row" in one else f"{place}: {one['description']}" for one in result["violations"]]
    return found or [f"{place}: {result['msg']}"]


if __name__ == "__main__":
    sys.exit(main())
