"""Reads files as spreadsheets and programs write them: `cli/tests/sheets/cases.json`, which all readers are tested with."""

import base64
import json
import shlex
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

import requests

from affiliate_compliance import Refused, Unavailable
from affiliate_compliance.sync import NotReadable
from affiliate_compliance.sync.file import File, read
from affiliate_compliance.sync.main import hint

FOLDER = Path(__file__).parents[3] / "cli/tests/sheets"
CASES = json.loads((FOLDER / "cases.json").read_text(encoding="utf-8"))


class Sheets(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_the_table_is_what_its_description_says(self) -> None:
        subprocess.run([sys.executable, "-B", FOLDER / "write_cases.py", "--check"], check=True)

    def read(self, case: dict[str, Any], ignored: list[str], **options: Any) -> File:
        path = self.folder / case["file"]
        path.write_bytes(base64.b64decode(case["base64"]) if "base64" in case else case["text"].encode())
        return read(str(path), ignored, **options)

    def test_every_file_of_the_table_is_read_or_refused_with_its_cause(self) -> None:
        self.assertGreater(len(CASES), 90)
        for case in CASES:
            with self.subTest(case["name"]):
                advice = case.get("advice", {}).get("sync")
                if "error" in case or advice == "is JSON":
                    with self.assertRaises(NotReadable) as raised:
                        self.read(case, [], **case["options"])
                    for text in [*case.get("error", []), *([advice] if advice else [])]:
                        self.assertIn(text, str(raised.exception))
                    continue
                file = self.read(case, [], **case["options"])
                # Some rows are refused by the service.
                refused = [(row["line"], row["field"]) for row in case.get("refused", [])]
                self.assertLessEqual({(problem.line, problem.field or "") for problem in file.problems}, set(refused))
                left = [row for row in file.rows if row.line not in dict(refused)]
                self.assertEqual(len(file.rows) - len(left) + len(file.problems), len(refused))
                self.assertEqual([self.given(row.cells) for row in left], case["records"])

    def given(self, cells: dict[str, str]) -> dict[str, str]:
        """The fields that have a value, as the service returns them."""
        return {name: cell.upper() if name == "country" else cell for name, cell in cells.items() if cell}

    def test_the_advice_of_messages_helps(self) -> None:
        advised = [(case, case["advice"]["sync"]) for case in CASES if case.get("advice", {}).get("sync", "").startswith("--")]
        self.assertGreater(len(advised), 4)
        for case, advice in advised:
            for option, value in map(shlex.split, advice.split(" or ")):
                with self.subTest(case["name"], option=option, value=value):
                    options = {} if option == "--ignore" else {option[2:]: value}
                    self.assertEqual(self.read(case, [value] if option == "--ignore" else [], **options).problems, [])

    def test_the_job_is_to_be_run_again_only_where_that_helps(self) -> None:
        def unavailable(cause: Exception) -> Unavailable:
            error = Unavailable("no response")
            error.__cause__ = cause
            return error

        again = ": run it again to continue"
        for error, expected in (
            (unavailable(requests.ConnectionError()), again),
            (unavailable(requests.Timeout()), again),
            (unavailable(requests.exceptions.SSLError()), ""),
            (unavailable(requests.exceptions.InvalidURL()), ": is http://x the address of the service?"),
            (unavailable(requests.exceptions.JSONDecodeError("", "", 0)), ": is http://x the address of the service?"),
            (Refused(503, None, "busy", None), again),
            (Refused(401, None, "token", None), ""),
            (Refused(409, None, "absent", None), ": use --max-absent if the file is complete"),
        ):
            self.assertEqual(hint(error, "http://x"), expected)


if __name__ == "__main__":
    unittest.main()
