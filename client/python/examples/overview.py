"""Counts a company's affiliates, URLs and cases by status.

    pip install ./client/python
    BASE=http://127.0.0.1:8080 TOKEN=… python client/python/examples/overview.py

With `--add ID NAME`, it first creates an affiliate. With `--case ID`, it first prints a case.
"""

import argparse
import os
import sys
from collections import Counter

from affiliate_compliance import Client, ComplianceCase, ComplianceError, Invalid


def case_text(case: ComplianceCase) -> str:
    lines = [f"Case {case['case_id']} of {case['affiliate_name']}: {case['case_status']}, risk {case['risk_level'] or 'unknown'}"]
    lines += [f"  {incident['incident_type']}: {incident['infraction_name'] or 'no infraction'}" for incident in case["incidents"]]
    return "\n".join(lines)


def overview(client: Client, add: list[str] | None, case: int | None) -> None:
    if add:
        identifier, name = add
        print(f"created the affiliate {client.create_affiliate({'client_affiliate_id': identifier, 'affiliate_name': name})}")
    if case:
        print(case_text(client.case(case)))
    print("affiliates:", dict(Counter(affiliate["distributor_status"] for affiliate in client.affiliates())))
    print("URLs:", dict(Counter(url["incident_status"] for url in client.urls())))
    print("cases:", dict(Counter(case["case_status"] for case in client.cases())))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--add", nargs=2, metavar=("ID", "NAME"), help="create an affiliate")
    parser.add_argument("--case", type=int, metavar="ID", help="print a case")
    arguments = parser.parse_args()
    base, token = os.environ.get("BASE", "http://127.0.0.1:8080"), os.environ.get("TOKEN")
    if not token:
        print("overview: set TOKEN to a service token", file=sys.stderr)
        return 2
    try:
        with Client(base, token) as client:
            overview(client, arguments.add, arguments.case)
    except (ComplianceError, ValueError) as error:
        print(f"overview: {error}", file=sys.stderr)
        for path, sentences in error.violations.items() if isinstance(error, Invalid) else ():
            print(f"  {path}: {' '.join(sentences)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
