"""Runs the job against a running service, through a proxy that fails as networks and busy services do.

    BASE=http://127.0.0.1:8080 TOKEN=… python -m unittest discover client/python/tests
"""

import csv
import io
import shutil
import subprocess
import sys
import tempfile
import unittest
import uuid
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from affiliate_compliance import AFFILIATE_FIELDS, NUMERIC, Client, Unavailable
from affiliate_compliance.sync import NotReadable, Summary, sync
from failing_proxy import BASE, TOKEN, FailingProxy, start_proxy

# A valid value of every field, and another one.
VALUES = {field: (f"{field} 1", f"{field} 2") for field in AFFILIATE_FIELDS} | {
    "email_one": ("one@example.org", "two@example.org"),
    "email_two": ("three@example.org", "four@example.org"),
    "sponsor_email": ("five@example.org", "six@example.org"),
    "country": ("ch", "DE"),
    "zip": ("8000", "08000"),
    "replicated_website": ("https://example.org/a", "https://example.org/b"),
    "status": ("active", "probation"),
    "start_date": ("01/31/2026", "2026-02-01"),
}


class SyncTest(unittest.TestCase):
    def setUp(self) -> None:
        self.service = self.enterContext(Client(BASE, TOKEN))
        self.client = self.enterContext(Client(start_proxy(self), TOKEN))
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.path = self.folder / "affiliates.csv"
        self.prefix = uuid.uuid4().hex[:12]

    def row(self, number: int, **fields: str) -> dict[str, str]:
        return {"client_affiliate_id": f"{self.prefix}-{number}", "affiliate_name": f"{self.prefix} {number}"} | fields

    def write(self, rows: list[dict[str, str]]) -> None:
        columns = list(dict.fromkeys(name for row in rows for name in row))
        with self.path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, columns)
            writer.writeheader()
            writer.writerows(rows)

    def sync(self, rows: list[dict[str, str]], failures: list[Any] | None = None, **options: Any) -> Summary:
        self.write(rows)
        FailingProxy.failures, FailingProxy.seen = failures or [], []
        return sync(self.client, str(self.path), **options)

    def expect(self, rows: list[dict[str, str]], created: int = 0, changed: int = 0, **options: Any) -> None:
        """All rows are applied, and applying them again changes nothing. What a lost response said is unchanged the next time."""
        lost = "lost after" in options.get("failures", []) or "half" in options.get("failures", [])
        summary = self.sync(rows, **options)
        if lost:
            self.assertEqual((summary.refused, summary.created + summary.changed + summary.unchanged), (0, len(rows)))
        else:
            self.assertEqual(summary, Summary(created, changed, len(rows) - created - changed))
        self.assertEqual(FailingProxy.failures, [], "the failures have happened")
        self.assertEqual(self.sync(rows), Summary(unchanged=len(rows)))

    def problems(self, summary: Summary) -> list[tuple[int, str | None]]:
        return [(problem.line, problem.field) for problem in summary.problems]

    def stored(self) -> dict[str, dict[str, Any]]:
        """The affiliates of this test by name."""
        found = [dict(one) for one in self.service.affiliates() if str(one["client_distributor_id"]).startswith(self.prefix)]
        return {one["distributor_name"]: one for one in found}

    def command(self, *options: str) -> "subprocess.CompletedProcess[str]":
        token = self.folder / "token"
        token.write_text(f"{TOKEN}\n")
        program = shutil.which("compliance-sync-affiliates", path=str(Path(sys.executable).parent)) or "not installed"
        command = [program, str(self.path), "--base-url", BASE, "--token-file", str(token), *options]
        return subprocess.run(command, capture_output=True, text=True, timeout=120)


class Fields(SyncTest):
    def test_a_change_of_any_column_is_saved(self) -> None:
        fields = VALUES.keys() - {"client_affiliate_id", "affiliate_name"}
        first = {field: VALUES[field][0] for field in fields}
        self.expect([self.row(number, **first) for number in range(len(fields))], created=len(fields))
        before = self.stored()
        # Each row differs in another field.
        for value in (1, None, 0):
            rows = [self.row(number, **first | {field: VALUES[field][value] if value is not None else ""}) for number, field in enumerate(fields)]
            self.expect(rows, changed=len(fields))
            for name, after in self.stored().items():
                read_as = {"status": "distributor_status"}.get(field := list(fields)[int(name.split()[1])], field)
                differing = {key for key in after if after[key] != before[name][key]}
                self.assertEqual(differing, set() if value == 0 else {read_as})

    def test_fields_without_a_column_stay_as_they_are(self) -> None:
        self.expect([self.row(0, city="Bern", country="CH")], created=1)
        self.expect([self.row(0, country="")], changed=1)
        one = self.stored()[f"{self.prefix} 0"]
        self.assertEqual((one["city"], one["country"]), ("Bern", None))

    def test_both_forms_of_a_day_and_every_country_are_the_same_as_what_is_read(self) -> None:
        rows = [self.row(number, country=code, start_date="02/29/2024") for number, code in enumerate(NUMERIC)]
        self.expect(rows, created=len(NUMERIC))
        self.expect([row | {"country": row["country"].lower(), "start_date": "2024-02-29"} for row in rows])

    def test_semicolons_a_mark_of_the_encoding_and_further_columns(self) -> None:
        self.path.write_bytes(f"\ufeffclient_affiliate_id;affiliate_name;boss\r\n{self.prefix}-0;Łódź, {self.prefix};x\r\n".encode())
        with self.assertRaisesRegex(NotReadable, 'no field for "boss"'):
            sync(self.client, str(self.path))
        self.assertEqual(sync(self.client, str(self.path), ignored=["boss"]), Summary(created=1))
        self.assertIn(f"Łódź, {self.prefix}", self.stored())

    def test_headings_in_capitals_and_bars_between_cells(self) -> None:
        self.path.write_text(f"CLIENT_AFFILIATE_ID|Affiliate Name|Boss\n{self.prefix}-0|{self.prefix}|x\n")
        with self.assertRaisesRegex(NotReadable, 'no field for "Boss"'):
            sync(self.client, str(self.path))
        self.assertEqual(sync(self.client, str(self.path), ignored=["BOSS"]), Summary(created=1))
        self.assertIn(self.prefix, self.stored())


class Names(SyncTest):
    def test_a_rename_is_an_update(self) -> None:
        self.expect([self.row(0)], created=1)
        (before,) = self.stored().values()
        self.expect([self.row(0, affiliate_name=f"{self.prefix} new")], changed=1)
        (after,) = self.stored().values()
        self.assertEqual((before["id"], after["distributor_name"]), (after["id"], f"{self.prefix} new"))

    def test_names_are_swapped_shifted_and_taken_over_by_new_affiliates(self) -> None:
        count = 12
        self.expect([self.row(number) for number in range(count)], created=count)

        def renamed(names: list[int]) -> list[dict[str, str]]:
            return [self.row(number, affiliate_name=f"{self.prefix} {name}", city="Bern") for number, name in enumerate(names)]

        # Two circles, and a chain, in batches that are smaller than they are; the name 8 is free then.
        names = [1, 0, 3, 4, 5, 6, 2, 7, 9, 10, 11, 12]
        self.expect([*renamed(names), self.row(99, affiliate_name=f"{self.prefix} 8", city="")], created=1, changed=count, batch=2)
        # In the other order, with responses that are lost.
        names = [0, 1, 2, 3, 4, 5, 6, 7, 12, 9, 10, 11]
        self.expect(renamed(names), changed=11, batch=3, failures=["lost after", None, 503, "lost before"])
        numbers = {int(one["client_distributor_id"].split("-")[1]): name for name, one in self.stored().items()}
        self.assertEqual(numbers, {number: f"{self.prefix} {name}" for number, name in enumerate(names)} | {99: f"{self.prefix} 8"})

    def test_a_name_that_another_affiliate_keeps_is_refused(self) -> None:
        self.expect([self.row(0), self.row(1), self.row(2)], created=3)
        # 0 wants the name of 1, which is not in the file; 2 wants that of 0; 3 is new and wants that of 2.
        rows = [self.row(0, affiliate_name=f"{self.prefix} 1"), self.row(2, affiliate_name=f"{self.prefix} 0"),
                self.row(3, affiliate_name=f"{self.prefix} 2"), self.row(4)]
        summary = self.sync(rows)
        self.assertEqual(self.problems(summary), [(line, "affiliate_name") for line in (2, 3, 4)])
        self.assertEqual((summary.created, summary.changed), (1, 0))
        self.assertIn(f"Its ID is {self.stored()[f'{self.prefix} 1']['id']}.", str(summary.problems[0]))

    def test_a_circle_with_a_row_that_is_refused_keeps_its_names(self) -> None:
        self.expect([self.row(0, email_one=""), self.row(1, email_one="")], created=2)
        summary = self.sync([self.row(0, affiliate_name=f"{self.prefix} 1", email_one="a@example.org"),
                             self.row(1, affiliate_name=f"{self.prefix} 0", email_one="nobody")])
        self.assertEqual(self.problems(summary), [(2, "affiliate_name"), (3, "email_one")])
        self.assertEqual(set(self.stored()), {f"{self.prefix} 0", f"{self.prefix} 1"})


class Refusals(SyncTest):
    def test_rows_are_refused_one_by_one_with_their_lines(self) -> None:
        self.service.create_affiliates([{"client_affiliate_id": f"{self.prefix}-20", "affiliate_name": f"{self.prefix} {name}"} for name in "ab"])
        good = [self.row(number, notes="two\nlines", city="Bern") for number in range(30, 60)]
        bad = [
            self.row(0, email_one="nobody", replicated_website="ftp:x"),
            self.row(1, country="ZZ", start_date="2026-02-30", status="Active", zip="8" * 17, city="a\0b"),
            self.row(2, affiliate_name=" "),
            self.row(3), self.row(3, affiliate_name=f"{self.prefix} x"),
            self.row(4, affiliate_name=f"{self.prefix} y"), self.row(5, affiliate_name=f"{self.prefix} y"),
            self.row(20),
        ]
        self.write([*good[:20], *bad, *good[20:]])
        with self.path.open("ab") as file:
            # A row without a required cell is damaged.
            file.write(f"{self.prefix}-8\n".encode())
        summary = sync(self.client, str(self.path), batch=7)
        start = 2 + 20 * 2
        last = start + len(bad) + 10 * 2
        self.assertEqual(self.problems(summary), [
            (start, "email_one"), (start, "replicated_website"),
            (start + 1, "city"), (start + 1, "country"), (start + 1, "start_date"), (start + 1, "status"), (start + 1, "zip"),
            (start + 2, "affiliate_name"),
            (start + 3, "client_affiliate_id"), (start + 4, "client_affiliate_id"),
            # Of two rows with the same name, the first gets it.
            (start + 6, "affiliate_name"),
            (start + 7, "client_affiliate_id"),
            (last, None),
        ])
        self.assertEqual((summary.created, summary.refused), (31, 8))
        ids = [str(self.stored()[f"{self.prefix} {name}"]["id"]) for name in "ab"]
        self.assertIn(f"{ids[0]}, {ids[1]}", "".join(str(problem) for problem in summary.problems))
        self.assertEqual(str(summary.problems[0]), f"{start}: email_one: The email one field must be a valid email address.")

    def test_a_bad_change_does_not_stop_the_others(self) -> None:
        self.expect([self.row(number, email_one="") for number in range(20)], created=20)
        rows = [self.row(number, email_one="nobody" if number % 5 == 0 else "a@example.org") for number in range(20)]
        summary = self.sync(rows)
        self.assertEqual(self.problems(summary), [(line, "email_one") for line in (2, 7, 12, 17)])
        self.assertEqual(summary.changed, 16)
        self.assertEqual(sum(one["email_one"] == "a@example.org" for one in self.stored().values()), 16)

    def test_a_batch_that_is_too_large_is_divided(self) -> None:
        self.expect([self.row(number) for number in range(9)], created=9, failures=[413, 413, None, 413])

    def test_a_file_that_is_damaged_sends_nothing(self) -> None:
        for text, reason in [
            ("affiliate_name\nx\n", "no column is the field client_affiliate_id"),
            ("client_affiliate_id,city,city\n", "are the same field, city"),
            ('client_affiliate_id,city\nA,"Bern\nB,Genf\n', r"affiliates\.csv: the file ends within the quoted cell"),
            ("", "the file is empty"),
            ("client_affiliate_id,city\n", "the file has no rows"),
            ("client_affiliate_id,city\n\n\n", "the file has no rows"),
            ('[{"client_affiliate_id":"A"}]', "is JSON or NDJSON: export CSV"),
            (' {"client_affiliate_id":"A"}\n', "is JSON or NDJSON: export CSV"),
            ("client_affiliate_id,city\nA,K\xf6ln\n".encode("latin-1"), "is not UTF-8: line 2"),
        ]:
            self.path.write_bytes(text if isinstance(text, bytes) else text.encode())
            with self.assertRaisesRegex(NotReadable, reason):
                sync(self.client, str(self.path))
        self.assertEqual(FailingProxy.seen, [])

    def test_without_names_affiliates_are_changed_but_not_created(self) -> None:
        self.expect([self.row(0)], created=1)
        summary = self.sync([{"client_affiliate_id": f"{self.prefix}-{number}", "city": "Bern"} for number in (0, 1)])
        self.assertEqual((summary.changed, self.problems(summary)), (1, [(3, "affiliate_name")]))


class Failures(SyncTest):
    def test_everything_arrives_once_although_much_fails(self) -> None:
        rows = [self.row(number, city="Łódź") for number in range(450)]
        failures = [429, "half", None, "lost before", None, 503, "lost after", 504, None]
        self.expect(rows, created=450, failures=failures, batch=150)
        self.expect([row | {"city": "Gdańsk"} for row in rows], changed=450, failures=[None, "lost after", 503], batch=150)
        self.assertEqual({one["city"] for one in self.stored().values()}, {"Gdańsk"})
        self.assertEqual(len(self.stored()), 450)

    def test_a_run_that_was_interrupted_is_finished_by_the_next(self) -> None:
        rows = [self.row(number, city="") for number in range(10)]
        with Client(start_proxy(self), TOKEN, tries=1) as client:
            self.write(rows)
            FailingProxy.failures = [None, "lost after"]
            with self.assertRaises(Unavailable):
                sync(client, str(self.path), batch=3)
            self.assertEqual(len(self.stored()), 6)
            self.expect(rows, created=4)
        self.assertEqual(set(self.stored()), {row["affiliate_name"] for row in rows})

    def test_the_command_reports_what_it_did(self) -> None:
        self.write([self.row(0), self.row(1)])
        planned = self.command("--dry-run")
        self.assertEqual((planned.returncode, planned.stdout), (0, "2 to create, 0 to change, 0 unchanged, 0 refused\n"), planned.stderr)
        self.assertEqual(self.stored(), {})
        done = self.command()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, "2 created, 0 changed, 0 unchanged, 0 refused\neverything is up to date\n")
        self.write([self.row(0), self.row(1, country="ZZ"), self.row(2, country="")])
        refused = self.command()
        self.assertEqual((refused.returncode, refused.stdout), (1, "1 created, 0 changed, 1 unchanged, 1 refused\n"))
        self.assertEqual(refused.stderr, f"{self.path}:3: country: The selected country is invalid. It must be an ISO 3166-1 alpha-2 code.\n")
        (self.folder / "nonsense").write_text("nonsense")
        stopped = self.command("--token-file", str(self.folder / "nonsense"))
        self.assertEqual((stopped.returncode, stopped.stdout), (2, ""))
        self.assertRegex(stopped.stderr, r"^401: The bearer token is invalid\. \(request ID \S+\)")


class Absent(SyncTest):
    def setUp(self) -> None:
        super().setUp()
        # Of the other tests' affiliates, none may get a status here: all are in the file, under identifiers that differ.
        others = list(self.service.affiliates())
        self.service.update_affiliates([{"id": one["id"], "client_affiliate_id": f"other-{one['id']}"} for one in others])
        self.others = [self.row(0, client_affiliate_id=f"other-{one['id']}", affiliate_name=str(one["distributor_name"])) for one in others]

    def test_a_cut_file_changes_nothing(self) -> None:
        rows = [self.row(number, status="active") for number in range(200)]
        self.expect(rows, created=200)
        before = self.stored()
        rows[1]["affiliate_name"] += " renamed"
        self.write([*self.others, *rows[:3]])
        count = 197
        for options in (["--dry-run"], [], ["--max-absent", str(count - 1)]):
            done = self.command("--absent-status", "terminated", *options)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertIn(f"set {count} absent affiliates", done.stderr)
            self.assertIn("--max-absent", done.stderr)
            self.assertEqual(self.stored(), before)

    def test_a_refusal_says_what_helps(self) -> None:
        self.write([self.row(0)])
        for options in (["--absent-status", "gone"], ["--absent-status", "terminated", "--max-absent", "-1"]):
            done = self.command(*options)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertRegex(done.stderr, r"^422: ")
            self.assertNotIn("run it again", done.stderr)
        for options in ([], ["--dry-run"], ["--absent-status", "terminated"], ["--report-absent"]):
            self.path.write_text("client_affiliate_id,affiliate_name\n")
            done = self.command(*options)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("the file has no rows", done.stderr)

    def test_every_run_says_what_became_of_absent_affiliates(self) -> None:
        rows = [self.row(number, status="active") for number in range(5)]
        self.expect(rows, created=5)
        self.write([*self.others, *rows[:3]])
        for options, line, is_done in (
            (["--dry-run"], "2 absent: would set 2 to terminated, 0 already terminated", False),
            ([], "2 absent: set 2 to terminated, 0 already terminated", False),
            ([], "2 absent: set 0 to terminated, 2 already terminated", True),
            (["--dry-run"], "2 absent: would set 0 to terminated, 2 already terminated", True),
        ):
            done = self.command("--absent-status", "terminated", *options)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(line, done.stdout.splitlines())
            self.assertEqual("everything is up to date" in done.stdout, is_done, done.stdout)


class RoundTrip(SyncTest):
    NASTY = ("@handle", "+49 30 1", "=1+1", "-5", "'=1", "''+1", "'t Hooft", "'", " =1", " both ", '"quoted", and', "a\r\nb", "\ttab", "\ufeffmark", "a,b;c")

    def test_lists_can_be_sent_back(self) -> None:
        rows = [self.row(number, notes=f"n{number}", country="DE") for number, _ in enumerate(self.NASTY)]
        self.expect(rows, created=len(rows))
        roster: Any = [{"client_affiliate_id": row["client_affiliate_id"], "notes": text, "twitter": text}
                       for row, text in zip(rows, self.NASTY)]
        self.service.sync_affiliates(roster)
        before = self.stored()
        for accept, options in (("text/csv", []), ("text/csv; escape=none", ["--no-csv-escape"])):
            headers = {"Authorization": f"Bearer {TOKEN}", "Accept": accept}
            with urlopen(Request(f"{BASE}/api/affiliates", headers=headers)) as response:
                header, *lines = csv.reader(io.StringIO(response.read().decode(), newline=""))
            own = [line for line in lines if line[header.index("client_distributor_id")].startswith(self.prefix)]
            with self.path.open("w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows([header, *own])
            done = self.command(*options)
            unchanged = f"0 created, 0 changed, {len(rows)} unchanged, 0 refused"
            self.assertEqual((done.returncode, done.stdout.splitlines()[0]), (0, unchanged), done.stderr)
            self.assertIn("ignored, because the service assigns them: id, client_id", done.stderr)
            self.assertEqual(self.stored(), before)

    def test_a_field_under_both_names_is_refused(self) -> None:
        self.path.write_text("client_affiliate_id,affiliate_name,distributor_name\nA,B,C\n")
        with self.assertRaisesRegex(NotReadable, "are the same field, affiliate_name"):
            sync(self.client, str(self.path))


if __name__ == "__main__":
    unittest.main()
