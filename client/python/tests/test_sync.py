"""Tests the job against a running service, directly and through a failing proxy.

    BASE=http://127.0.0.1:8080 TOKEN=… python -m unittest discover client/python/tests
"""

import contextlib
import csv
import functools
import io
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
import uuid
import zipfile
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.request import Request, urlopen

import requests

from affiliate_compliance import Client, Refused, Unavailable, sync
from failing_proxy import BASE, TOKEN, FailingProxy, start_proxy

Done = subprocess.CompletedProcess[str]


class SyncTest(unittest.TestCase):
    def setUp(self) -> None:
        self.service = self.enterContext(Client(BASE, TOKEN))
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.path = self.folder / "affiliates.csv"
        self.token = self.folder / "token"
        self.token.write_text(f"{TOKEN}\n")
        self.prefix = uuid.uuid4().hex[:12]

    def row(self, number: int, **fields: str) -> dict[str, str]:
        return {"client_affiliate_id": f"{self.prefix}-{number}", "affiliate_name": f"{self.prefix} {number}"} | fields

    def write(self, rows: list[dict[str, str]]) -> None:
        columns = list(dict.fromkeys(name for row in rows for name in row))
        with self.path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, columns)
            writer.writeheader()
            writer.writerows(rows)

    def stored(self) -> dict[str, dict[str, Any]]:
        """Returns this test's affiliates by name."""
        found = [dict(one) for one in self.service.affiliates() if str(one["client_distributor_id"]).startswith(self.prefix)]
        return {one["distributor_name"]: one for one in found}

    def command(self, *options: str, base: str = BASE) -> Done:
        program = shutil.which("compliance-sync-affiliates", path=str(Path(sys.executable).parent)) or "not installed"
        command = [program, str(self.path), "--base-url", base, "--token-file", str(self.token), *options]
        return subprocess.run(command, capture_output=True, text=True, timeout=120)

    def stopped(self, *options: str) -> str:
        """Runs the job, and returns why it stopped."""
        done = self.command(*options)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        return done.stderr


class Reports(SyncTest):
    def test_command_reports_created_and_changed_counts(self) -> None:
        self.write([self.row(0), self.row(1)])
        planned = self.command("--dry-run")
        self.assertEqual((planned.returncode, planned.stdout), (0, "2 to create, 0 to change, 0 unchanged, 0 refused\n"), planned.stderr)
        self.assertEqual(self.stored(), {})
        done = self.command()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, "2 created, 0 changed, 0 unchanged, 0 refused\neverything is up to date\n")
        self.write([self.row(0, city="Bern"), self.row(1)])
        self.assertEqual(self.command().stdout, "0 created, 1 changed, 1 unchanged, 0 refused\neverything is up to date\n")

    def test_refused_rows_are_printed_with_their_location(self) -> None:
        self.service.create_affiliate({"client_affiliate_id": f"{self.prefix}-x", "affiliate_name": f"{self.prefix} 3"})
        bad = [self.row(1, country="ZZ", email_one="nobody"), self.row(2, zip="#N/A"), self.row(3), self.row(4), self.row(4)]
        self.write([self.row(0), *bad])
        refused = self.command()
        self.assertEqual((refused.returncode, refused.stdout), (1, "1 created, 0 changed, 0 unchanged, 5 refused\n"))
        lines = refused.stderr.splitlines()
        for row, text in ((3, "column country: "), (3, "column email_one: "), (4, "column zip: "), (5, "name"), (6, "identifier: 6, 7"), (7, "identifier: 6, 7")):
            found = [line for line in lines if line.startswith(f"{self.path}: Row {row}") and text in line]
            self.assertEqual(len(found), 1, (row, text, refused.stderr))
        self.assertEqual(set(self.stored()), {f"{self.prefix} 0", f"{self.prefix} 3"})

    def test_sync_survives_network_failures(self) -> None:
        rows = [self.row(number, city="Łódź") for number in range(450)]
        self.write(rows)
        for failures in ([429, "lost before", 503, "half"], ["lost after", 504]):
            done = self.command(base=start_proxy(self, list(failures)))
            self.assertEqual(done.stdout, "0 created, 0 changed, 450 unchanged, 0 refused\neverything is up to date\n", done.stderr)
            self.assertEqual([failure for _, failure in FailingProxy.seen], [*failures, None])
        self.assertEqual(set(self.stored()), {row["affiliate_name"] for row in rows})


class Options(SyncTest):
    def test_options_control_file_parsing(self) -> None:
        head = "client_affiliate_id;Member;start_date;Fax\n"
        self.path.write_bytes(f"{head}{self.prefix}-0;{self.prefix} Zoë;1/5/2026;x\n".encode("windows-1252"))
        self.assertIn("Use --column or --ignore.", self.stopped())
        named = ["--column", "Member=affiliate_name", "--ignore", "Fax"]
        self.assertIn("Use --encoding.", self.stopped(*named))
        named += ["--encoding", "windows-1252"]
        self.assertIn("Use --dates.", self.stopped(*named))
        self.assertEqual(self.stored(), {})
        self.assertIn("dates", self.stopped(*named, "--dates", "sometimes"))
        done = self.command(*named, "--dates", "dmy")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.stored()[f"{self.prefix} Zoë"]["start_date"], "2026-05-01")

    def test_workbook_errors_name_cell_and_sheet(self) -> None:
        self.path = self.folder / "affiliates.xlsx"
        main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
        office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
        package = "http://schemas.openxmlformats.org/package/2006"
        cells = [["client_affiliate_id", "affiliate_name", "zip"], [f"{self.prefix}-0", self.prefix, "#N/A"]]
        rows = "".join("<row>" + "".join(f'<c t="inlineStr"><is><t>{text}</t></is></c>' for text in row) + "</row>" for row in cells)
        with zipfile.ZipFile(self.path, "w") as book:
            book.writestr("[Content_Types].xml", f'<Types xmlns="{package}/content-types"/>')
            book.writestr("_rels/.rels", f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>')
            book.writestr("xl/workbook.xml", f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets><sheet name="2026" sheetId="1" r:id="r1"/></sheets></workbook>')
            book.writestr("xl/_rels/workbook.xml.rels", f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" Type="{office}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>')
            book.writestr("xl/worksheets/sheet1.xml", f'<worksheet xmlns="{main}"><sheetData>{rows}</sheetData></worksheet>')
        refused = self.command("--sheet", "2026")
        self.assertEqual(refused.returncode, 1, refused.stderr)
        self.assertIn("Row 2, cell C2: ", refused.stderr)
        self.assertIn("Use --sheet.", self.stopped("--sheet", "2027"))
        self.path.write_text("client_affiliate_id,affiliate_name\n1,Ann\n")
        unused = self.stopped("--sheet", "2027")
        self.assertTrue("remove it." in unused and "Use" not in unused, unused)

    def test_exported_list_syncs_without_changes(self) -> None:
        nasty = ("@handle", "+49 30 1", "=1+1", "-5", "'=1", "''+1", "'t Hooft", "'", " =1", " both ", '"quoted", and', "a\r\nb", "\ttab", "a,b;c")
        roster: Any = [self.row(number, notes=text, twitter=text, country="DE") for number, text in enumerate(nasty)]
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
            unchanged = f"0 created, 0 changed, {len(nasty)} unchanged, 0 refused"
            self.assertEqual((done.returncode, done.stdout.splitlines()[:1]), (0, [unchanged]), done.stderr)
            self.assertIn("ignored fields that the service assigns: id, client_id", done.stderr)
            self.assertEqual(self.stored(), before)


class Documented(SyncTest):
    def test_crontab_line_succeeds_only_if_all_rows_are_accepted(self) -> None:
        page = (Path(__file__).parents[3] / "docs/partners/nightly-job.md").read_text()
        line = next(line for line in page.splitlines() if line.startswith("30 2 * * * ")).removeprefix("30 2 * * * ")
        for name in ("https://compliance.example/", "/opt/sync"):
            self.assertIn(name, line)
        response = self.folder / "response.json"
        for rows, base, status in (
            ([self.row(0)], BASE, 0),
            ([self.row(0), self.row(1, zip="#N/A")], BASE, 1),
            ([], BASE, 22),
            ([self.row(0)], BASE, 0),
            ([self.row(0)], "http://127.0.0.1:1", 7),
        ):
            self.write(rows)
            command = line.replace("https://compliance.example", base).replace("/opt/sync", str(self.folder))
            done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertEqual((done.stdout, response.exists()), ("", base == BASE))


class Stopped(SyncTest):
    def test_unreadable_files_stop_the_job(self) -> None:
        for content in (b"", b"client_affiliate_id\n", b'client_affiliate_id,city\nA,"Bern\n', b"affiliate_name\nx\n", b'[{"client_affiliate_id":"A"}]', b"PK\3\4", b"%PDF-1.7\n"):
            self.path.write_bytes(content)
            self.assertRegex(self.stopped(), r"^4(15|22): .+", content)
        self.path.unlink()
        self.assertEqual(self.stopped(), f"cannot read {self.path}: No such file or directory\n")

    def test_invalid_absent_options_stop_the_job(self) -> None:
        self.write([self.row(0)])
        for options in (["--absent-status", "gone"], ["--absent-status", "terminated", "--max-absent", "-1"]):
            reason = self.stopped(*options)
            self.assertRegex(reason, "^422: ")
            self.assertNotIn("run the job again", reason)
        self.assertEqual(self.stored(), {})

    def test_invalid_tokens_are_never_printed(self) -> None:
        self.write([self.row(0)])
        for content, reason in (
            (f"{TOKEN}\n{TOKEN}\n".encode(), f"token file {self.token}: the token is invalid"),
            (b"\xffsecret", f"token file {self.token}: the token is invalid"),
            (b"", f"token file {self.token}: the token is empty"),
            (b"secret", r"401: The bearer token is invalid\. \(request ID \S+\)"),
        ):
            self.token.write_bytes(content)
            said = self.stopped()
            self.assertRegex(said, f"^{reason}")
            self.assertEqual((said.count("\n"), "secret" in said or TOKEN in said), (1, False))
        for option, given in (("--token-file", TOKEN), ("--token-file", f"Bearer {TOKEN}"), ("--token-file", "secret" * 100), ("--base-url", "secret")):
            said = self.stopped(option, given)
            self.assertFalse("secret" in said or TOKEN in said, said)
        self.token.unlink()
        self.assertEqual(self.stopped(), f"cannot read the token file {self.token}: No such file or directory\n")

    def unreachable(self, base: str, tries: int = 1) -> str:
        """Returns what the job reports about a service that it cannot reach."""
        self.write([self.row(0)])
        arguments = ["sync", str(self.path), "--token-file", str(self.token), "--base-url", base]
        with (
            patch.object(sys, "argv", arguments),
            patch.object(sync, "Client", functools.partial(Client, tries=tries)),
            contextlib.redirect_stderr(io.StringIO()) as said,
        ):
            self.assertEqual(sync.main(), 2)
        return said.getvalue()

    def test_unreachable_service_is_reported_in_one_line(self) -> None:
        again = "no complete response from http://127.0.0.1:1: Connection refused: run the job again to continue\n"
        with self.assertLogs("affiliate_compliance", "INFO") as logged:
            self.assertEqual(self.unreachable("http://127.0.0.1:1", tries=3), again)
        self.assertEqual([record.getMessage() for record in logged.records], ["no complete response from http://127.0.0.1:1: Connection refused; retrying"])
        secure = BASE.replace("http:", "https:")
        self.assertRegex(self.unreachable(secure), f"^no secure connection to {secure}: .+: the port seems to use http, not https\n$")
        with patch.object(socket, "getaddrinfo", side_effect=socket.gaierror(socket.EAI_NONAME, "unknown")) as resolved:
            said = self.unreachable("http://typo.example", tries=3)
        self.assertEqual(said, "the host of http://typo.example does not exist: unknown: is http://typo.example the address of the service?\n")
        self.assertEqual(resolved.call_count, 3)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            # A proxy that restarts during the handshake.
            closing = threading.Thread(target=lambda: [listener.accept()[0].close() for _ in range(2)], daemon=True)
            closing.start()
            self.assertIn("no complete response from", self.unreachable(f"https://127.0.0.1:{listener.getsockname()[1]}", tries=2))
            closing.join(timeout=60)
            self.assertFalse(closing.is_alive(), "the client did not connect again")
        self.assertIn("is not a valid service URL", self.stopped("--base-url", "127.0.0.1:1"))

    def test_rerun_is_suggested_only_for_temporary_errors(self) -> None:
        def unavailable(cause: Exception) -> Unavailable:
            error = Unavailable("no response")
            error.__cause__ = cause
            return error

        again = ": run the job again to continue"
        for error, expected in (
            (unavailable(requests.ConnectionError()), again),
            (unavailable(requests.Timeout()), again),
            (unavailable(requests.exceptions.SSLError()), ""),
            (unavailable(requests.exceptions.JSONDecodeError("", "", 0)), ": is http://x the address of the service?"),
            (Refused(503, None, "busy", None), again),
            (Refused(401, None, "token", None), ""),
        ):
            self.assertEqual(sync.hint(error, "http://x"), expected)


class Absent(SyncTest):
    def setUp(self) -> None:
        super().setUp()
        # The file also lists all affiliates of other tests, with unique identifiers, to preserve their status.
        others = list(self.service.affiliates())
        self.service.update_affiliates([{"id": one["id"], "client_affiliate_id": f"other-{one['id']}"} for one in others])
        self.others = [self.row(0, client_affiliate_id=f"other-{one['id']}", affiliate_name=str(one["distributor_name"])) for one in others]

    def create(self, count: int) -> list[dict[str, str]]:
        rows = [self.row(number, status="active") for number in range(count)]
        self.service.create_affiliates(rows)  # type: ignore[arg-type]
        return rows

    def test_truncated_file_changes_nothing(self) -> None:
        rows = self.create(200)
        before = self.stored()
        rows[1]["affiliate_name"] += " renamed"
        self.write([*self.others, *rows[:3]])
        for options in (["--dry-run"], [], ["--max-absent", "196"]):
            reason = self.stopped("--absent-status", "terminated", *options)
            self.assertIn("set 197 absent affiliates", reason)
            self.assertRegex(reason, r"set --max-absent to 197\. \(request ID \S+\)\n$")
            self.assertEqual(self.stored(), before)

    def test_each_run_reports_absent_affiliates(self) -> None:
        rows = self.create(5)
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
        reported = self.command("--report-absent")
        self.assertIn(f"absent: {self.prefix}-4\n", reported.stderr)
        self.assertIn("2 absent\n", reported.stdout)

    def test_refused_row_with_unknown_identifier_leaves_absent_affiliates_unchanged(self) -> None:
        rows = self.create(3)
        self.write([*self.others, rows[0] | {"client_affiliate_id": f"{self.prefix}-9", "zip": "#N/A"}])
        before = self.stored()
        done = self.command("--absent-status", "terminated")
        self.assertEqual((done.returncode, self.stored()), (1, before), done.stderr)
        self.assertIn("The service did not check for absent affiliates", done.stderr)


if __name__ == "__main__":
    unittest.main()
