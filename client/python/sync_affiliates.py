"""Brings the affiliates of a company up to date with a CSV file: creates those that are missing, and changes those that differ.

    sync_affiliates.py affiliates.csv --base-url http://127.0.0.1:8080 --token-file token

The file has a column for each field, named as in the interface; `affiliate_name` identifies an affiliate and must be there. The
job can be repeated at any time, also after it was interrupted. It waits when the service asks for it (429, 503), and repeats
requests that had no response.

Exit status: 0 if everything is up to date, 1 if some rows were refused (each is named), 2 if the job could not go on.

Needs Python 3.9 or newer and `requests`.
"""

import argparse
import csv
import random
import sys
import time

import requests

# What lists call differently.
IN_LISTS = {
    "affiliate_name": "distributor_name",
    "client_affiliate_id": "client_distributor_id",
    "status": "distributor_status",
}
# Lists have them in another form. They are sent with the others when one of those differs, or with --all.
NOT_COMPARED = {"country", "start_date"}
BATCH = 500
TRIES = 8
# Seconds for a connection, and for the service to respond.
TIMEOUTS = (5, 60)
SAVED = "1020"


class Stopped(Exception):
    """The job cannot go on."""


class Service:
    """The interface, called with a token."""

    def __init__(self, base_url, token, timeouts=TIMEOUTS):
        self.base = base_url.rstrip("/") + "/api"
        self.timeouts = timeouts
        self.session = requests.Session()
        self.session.headers["Authorization"] = f"Bearer {token}"

    def call(self, method, path, body=None):
        """The response's JSON. Repeating is safe for all that this job sends: an affiliate that exists is reported as a duplicate, and
        an update sets the same values again."""
        for attempt in range(TRIES):
            pause = min(2**attempt / 4, 30) * random.uniform(0.5, 1)
            try:
                response = self.session.request(method, self.base + path, json=body, timeout=self.timeouts)
                if response.status_code not in (429, 503, 504):
                    return self.read(response)
                pause = max(pause, float(response.headers.get("Retry-After", 0)))
                problem = f"{response.status_code} {response.text}"
            except (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError) as error:
                problem = str(error)
            if attempt + 1 < TRIES:
                print(f"{method} {path}: {problem}; again in {pause:.1f} s", file=sys.stderr)
                time.sleep(pause)
        raise Stopped(f"{method} {path} failed {TRIES} times: {problem}")

    @staticmethod
    def read(response):
        request_id = response.headers.get("X-Request-Id", "none")
        if response.status_code == 422:
            errors = response.json()["errors"]
            raise Stopped("the service refuses the rows: " + "; ".join(f"{field}: {said[0]}" for field, said in errors.items()))
        if response.status_code not in (200, 201, 207):
            raise Stopped(f"{response.status_code} {response.text} (request ID {request_id})")
        return response.json()


def rows(path):
    """The rows of the file, with their line numbers."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        if "affiliate_name" not in (reader.fieldnames or []):
            raise Stopped(f"{path} has no column affiliate_name")
        return [(reader.line_num, row) for row in reader]


def differs(row, affiliate):
    compared = row.keys() - NOT_COMPARED
    return any(row[name] != (affiliate.get(IN_LISTS.get(name, name)) or "") for name in compared)


def plan(wanted, existing, whole=False):
    """What is to be created and what is to be changed, each as (line, item). `whole`: also what does not differ."""
    known = {affiliate["distributor_name"]: affiliate for affiliate in existing}
    create, change = [], []
    for line, row in wanted:
        affiliate = known.get(row["affiliate_name"])
        if affiliate is None:
            create.append((line, {name: value for name, value in row.items() if value}))
        elif whole or differs(row, affiliate):
            change.append((line, {"id": affiliate["id"], **row}))
    return create, change


def send(service, method, path, items):
    """Sends items in batches, and returns those that were refused, as (line, message)."""
    refused = []
    for start in range(0, len(items), BATCH):
        batch = items[start : start + BATCH]
        body = {"affiliates": [item for _, item in batch]}
        results = service.call(method, path.format(id=batch[0][1].get("id")), body)
        for (line, _), result in zip(batch, results):
            if result["code"] != SAVED:
                refused.append((line, f"{result['code']} {result['detail']['msg']}"))
    return refused


def sync(service, path, whole=False):
    """Returns how many were to be created and changed, and what was refused."""
    wanted = rows(path)
    create, change = plan(wanted, service.call("GET", "/affiliates")["data"], whole)
    refused = send(service, "POST", "/affiliates", create)
    refused += send(service, "PUT", "/affiliates/{id}", change)
    if not refused:
        return len(create), len(change), []
    # A request that was repeated reports what its first try has created as duplicates. What the list says counts.
    left = {line for items in plan(wanted, service.call("GET", "/affiliates")["data"]) for line, _ in items}
    refused = [(line, message) for line, message in refused if line in left]
    return len(create), len(change), sorted(refused)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--base-url", default="http://127.0.0.1:8080")
    parser.add_argument("--token-file", required=True, help="file that holds the token")
    parser.add_argument("--all", action="store_true", help="also send the rows that do not seem to differ")
    arguments = parser.parse_args()
    try:
        with open(arguments.token_file, encoding="utf-8") as file:
            service = Service(arguments.base_url, file.read().strip())
        created, changed, refused = sync(service, arguments.file, arguments.all)
    except (Stopped, OSError, csv.Error) as error:
        print(f"sync_affiliates: {error}", file=sys.stderr)
        return 2
    for line, message in refused:
        print(f"{arguments.file}:{line}: {message}", file=sys.stderr)
    print(f"{created} to create, {changed} to change, {len(refused)} refused")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
