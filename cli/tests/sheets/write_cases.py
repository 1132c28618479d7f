"""Files of affiliates as spreadsheets and programs write them, and what every reader makes of them: writes `cases.json`.

    python3 cli/tests/sheets/write_cases.py [--check]

`compliance import`, `compliance-sync-affiliates` and the console are tested with the same cases.
"""

import base64
import json
import sys
from pathlib import Path

from workbooks import Date, workbook

OUTPUT = Path(__file__).with_name("cases.json")
# Excel 97 begins so, and so does a workbook with a password.
OLD_EXCEL = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504)
HEADER = ["client_affiliate_id", "affiliate_name", "city", "start_date"]
ROWS = [["A-1", "Jürgen Groß", "Köln", "2026-05-01"], ["A-2", "Renée, Zoë", "Orléans", "2026-05-02"]]
RECORDS = [dict(zip(HEADER, row, strict=True)) for row in ROWS]

cases: list[dict] = []


def case(name, by, content, records=None, *, file="affiliates.csv", refused=(), error=(), advice=None, console=None, **options):
    """A file, what wrote it, and what a reader makes of it: records, refused rows, or an error with these texts. `advice` has the texts
    that differ between the readers, `console` the records there: what is typed by hand needs no header, and the page says what it leaves
    out."""
    content = {"base64": base64.b64encode(content).decode()} if isinstance(content, bytes) else {"text": content}
    expected = {"error": [error] if isinstance(error, str) else list(error)} if error else {"records": records}
    if refused:
        expected["refused"] = [dict(zip(("line", "field"), row, strict=True)) for row in refused]
    if advice:
        expected["advice"] = advice
    if console:
        expected["console"] = console
    cases.append({"name": name, "by": by, "file": file, **content, "options": options, **expected})


def table(separator=",", end="\n", rows=None, header=None):
    def cell(text):
        return f'"{text}"' if separator in text else text

    return "".join(separator.join(map(cell, row)) + end for row in [header or HEADER, *(rows or ROWS)])


def dated(*dates, header="start_date", separator=","):
    rows = [[f"A-{number}", f"Ann {number}", date] for number, date in enumerate(dates, 1)]
    return table(separator, rows=rows, header=["client_affiliate_id", "affiliate_name", header])


def dates(*days):
    return [{"client_affiliate_id": f"A-{number}", "affiliate_name": f"Ann {number}", "start_date": day} for number, day in enumerate(days, 1)]


def encodings():
    excel = table(";", "\r\n")
    mac = table(";", "\r")
    case("utf-8", "LibreOffice, Google Sheets, pandas", table(), RECORDS)
    case("utf-8 with CRLF", "Google Sheets", table(end="\r\n"), RECORDS)
    case("utf-8 with a mark", "Excel, CSV UTF-8", "\ufeff" + table(end="\r\n"), RECORDS)
    case("utf-8 with a mark and semicolons", "Excel, CSV UTF-8, in German", "\ufeff" + excel, RECORDS)
    case("utf-8 with a mark, without a last line end", "PowerShell", ("\ufeff" + excel).removesuffix("\r\n"), RECORDS)
    for name, codec, mark in [("UTF-16 little endian", "utf-16-le", "\ufeff"), ("UTF-16 big endian", "utf-16-be", "\ufeff"),
                              ("UTF-16 little endian without a mark", "utf-16-le", ""), ("UTF-16 big endian without a mark", "utf-16-be", "")]:
        case(name, "Excel, Unicode Text", (mark + table("\t", "\r\n")).encode(codec), RECORDS, file="affiliates.txt")
    case("Windows-1252", "Excel on Windows, CSV", excel.encode("cp1252"), RECORDS, encoding="windows-1252")
    case("Mac Roman", "Excel on a Mac, CSV", excel.encode("mac_roman"), RECORDS, encoding="macintosh")
    case("Mac Roman with CR", "Excel on a Mac, CSV (Macintosh)", mac.encode("mac_roman"), RECORDS, encoding="macintosh")
    case("UTF-8 with CR", "old Macs", mac, RECORDS)
    case("UTF-8 with a given encoding", "LibreOffice", table(), RECORDS, encoding="utf-8")
    case("a mark wins over a given encoding", "Excel, CSV UTF-8", "\ufeff" + excel, RECORDS, encoding="windows-1252")
    for name, codec, text, wrong in [("Windows-1252, not named", "cp1252", excel, ["line 2", "Jürgen Groß", "J¸rgen Groﬂ"]),
                                     ("Mac Roman, not named", "mac_roman", mac, ["line 2", "Jürgen Groß", "JŸrgen Gro§"])]:
        case(name, "Excel", text.encode(codec), error=["is not UTF-8", *wrong], advice={
            "import": "--encoding windows-1252 or --encoding macintosh", "sync": "--encoding windows-1252 or --encoding macintosh",
            "console": "choose the encoding"})
    case("cut within a character", "an interrupted copy", table().encode()[:57], error=["is not UTF-8", "line 2"])


def forms():
    case("sep=", "Excel, for itself", "sep=;\r\n" + table(";", "\r\n"), RECORDS)
    case("sep= with quotes and a bar", "a reporting tool", '"sep=|"\n' + table("|"), RECORDS)
    case("sep= with a tab", "a reporting tool", "\ufeffSEP=\t\r\n" + table("\t", "\r\n"), RECORDS)
    case("tabs", "Excel, Text (Tab delimited)", table("\t", "\r\n"), RECORDS, file="affiliates.tsv")
    case("bars", "a mainframe", table("|"), RECORDS)
    case("semicolons, and commas in texts", "LibreOffice in German", table(";"), RECORDS)
    case("an empty last column", "Excel", table(rows=[[*row, ""] for row in ROWS], header=[*HEADER, ""]), RECORDS)
    case("an empty last column that rows lack", "Excel", table(rows=ROWS, header=[*HEADER, "", ""]), RECORDS)
    case("more empty cells than columns", "LibreOffice", table(rows=[[*row, "", ""] for row in ROWS]), RECORDS)
    case("rows of separators", "Excel, after rows were emptied", f"{table(';')};;;\r\n ;; ;\n\n", RECORDS)
    case("rows of separators before the header", "Excel", f";;;\n\n{table(';')}", RECORDS)
    case("an index column", "pandas, to_csv()", table(rows=[[str(number), *row] for number, row in enumerate(ROWS)], header=["", *HEADER]), RECORDS)
    case("an index column, read again", "pandas, read_csv() and to_csv()",
         table(rows=[[str(number), *row] for number, row in enumerate(ROWS)], header=["Unnamed: 0", *HEADER]), RECORDS)
    case("line ends and quotes in texts", "Excel",
         'client_affiliate_id,affiliate_name,notes\r\nA-1,"Ann ""A"" B","one\ntwo"\r\n\r\nA-2,Ben,\r\nA-3,,x\r\n',
         [{"client_affiliate_id": "A-1", "affiliate_name": 'Ann "A" B', "notes": "one\ntwo"}, {"client_affiliate_id": "A-2", "affiliate_name": "Ben"}],
         refused=[(6, "affiliate_name")])
    case("an apostrophe before a formula", "the service, text/csv",
         "client_affiliate_id,affiliate_name,phone_one,notes\nA-1,Ann,'+49 30 1,'t Hooft\n",
         [{"client_affiliate_id": "A-1", "affiliate_name": "Ann", "phone_one": "+49 30 1", "notes": "'t Hooft"}])
    case("too few and too many cells", "an editor", "client_affiliate_id,affiliate_name\nA-1,Ann\nA-2\nA-3,Ben,x\nA-4,Carl\n",
         [{"client_affiliate_id": "A-1", "affiliate_name": "Ann"}, {"client_affiliate_id": "A-4", "affiliate_name": "Carl"}], refused=[(3, ""), (4, "")])
    header = "client_affiliate_id,affiliate_name,city,notes\r\n"
    short = [{"client_affiliate_id": "A-1", "affiliate_name": "Ann", "city": "Ulm"}, {"client_affiliate_id": "A-2", "affiliate_name": "Ben"}]
    for name, end in [("with CRLF", "\r\n"), ("with LF", "\n"), ("with CR", "\r")]:
        case(f"rows without their last separators, {name}", "Excel, which leaves out empty cells at the end of a row",
             f"{header}A-1,Ann,Ulm\r\nA-2,Ben\r\n".replace("\r\n", end), short)
    case("a row without its last separators, and a whole last row without a line end", "Excel, and an editor", f"{header}A-1,Ann,Ulm\r\nA-2,Ben,,", short)
    case("a last row that is short and has no line end", "an interrupted copy", f"{header}A-1,Ann,Ulm\r\nA-2,Ben", short[:1], refused=[(3, "")])
    case("the same in UTF-16", "an interrupted copy", f"\ufeff{header}A-1,Ann,Ulm\r\nA-2,Ben".encode("utf-16-le"), short[:1], refused=[(3, "")])
    case("a row that ends before its name", "an interrupted copy", f"{header}A-1\r\nA-2,Ben\r\n", short[1:], refused=[(2, "")])
    case("errors of formulas", "Excel", "Your affiliate ID,Name,City\nA-1,Ann,#N/A\nA-2,Ben,#REF!\nA-3,Carl,Ulm\n",
         [{"client_affiliate_id": "A-3", "affiliate_name": "Carl", "city": "Ulm"}], refused=[(2, "city"), (3, "city")])


def headings():
    full = {"client_affiliate_id": "A-1", "affiliate_name": "Ann", "email_one": "ann@example.org", "phone_one": "1", "zip": "8000",
            "status": "active", "start_date": "2026-05-01", "company_name": "C", "first_name": "F"}

    def of(*names, values=full, separator=","):
        return table(separator, rows=[list(values.values())], header=list(names))

    case("field names", "the guide", of(*full), [full])
    case("field names in capitals", "SQL", of(*(name.upper() for name in full)), [full])
    case("field names with spaces", "a person", of(*(name.replace("_", " ").title() for name in full)), [full])
    case("field names with no-break spaces", "Word, Excel on a Mac", of(*(name.replace("_", "\u00a0") for name in full)), [full])
    case("field names with hyphens and spaces around", "a person", of(*(f" {name.replace('_', '-')} " for name in full)), [full])
    case("field names in camel case", "JavaScript", of(*(name.split("_")[0] + "".join(word.title() for word in name.split("_")[1:]) for name in full)), [full])
    case("the headings of the console's table", "the console", of("Your affiliate ID", "Name", "E-mail", "Phone", "ZIP or postal code", "Status",
                                                                "Start date", "Company", "First name", separator="\t"), [full])
    case("the labels of the console's form", "the console", of("Your affiliate ID", "Affiliate name", "E-mail 1", "Phone 1", "ZIP or postal code",
                                                             "Status", "Start date", "Company name", "First name"), [full])
    case("the names of lists", "GET /api/affiliates", of("id", "client_id", "client_distributor_id", "distributor_name", "distributor_status", "country",
                                                         values={"id": "7", "client_id": "1", "name": "A-1", "x": "Ann", "status": "active", "country": "276"}),
         [{"client_affiliate_id": "A-1", "affiliate_name": "Ann", "status": "active", "country": "DE"}])
    twice = "client_affiliate_id,affiliate_name,{},{}\nA-1,Ann,Bern,Ulm\n"
    for one, other in [("city", "city"), ("City", "CITY")]:
        case(f"a heading twice: {one}, {other}", "a person", twice.format(one, other),
             error=[f'the columns 3 ("{one}") and 4 ("{other}") are the same field, city', "remove one of them"])
    case("the identifier twice", "a join in SQL", "client_affiliate_id,affiliate_name,client_affiliate_id\nA-1,Ann,A-1\n",
         error=["the columns 1 (", "and 3 (", "are the same field, client_affiliate_id", "remove one of them"])
    case("a field under two names", "a join in SQL", "client_affiliate_id,affiliate_name,distributor_name\nA-1,Ann,Ben\n",
         error='the columns 2 ("affiliate_name") and 3 ("distributor_name") are the same field, affiliate_name',
         advice={"import": '--map "distributor_name="', "sync": '--ignore "distributor_name"', "console": "remove one of them"})
    case("an unknown heading", "a person", "client_affiliate_id,affiliate_name,shoe size\nA-1,Ann,44\n", error='"shoe size"',
         console=[{"client_affiliate_id": "A-1", "affiliate_name": "Ann"}],
         advice={"import": '--map "shoe size="', "sync": '--ignore "shoe size"'})
    case("no header", "a person", "A-1,Ann\nA-2,Ben\n", error=["the first row must name the columns", "A-1, Ann"],
         console=[{"client_affiliate_id": "A-1", "affiliate_name": "Ann"}, {"client_affiliate_id": "A-2", "affiliate_name": "Ben"}])
    case("no identifier", "a person", "affiliate_name,city\nAnn,Bern\n", error="no column is the field client_affiliate_id")


def spaces():
    case("spaces around identifiers and typed values", "a person",
         "client_affiliate_id,affiliate_name,country,start_date,status,email_one\n\"A-1 \",Ann, us ,\" 2026-05-01 \",active ,ann@example.org \n\u00a0A-2\u00a0,Ben,,,,\n",
         [{"client_affiliate_id": "A-1", "affiliate_name": "Ann", "country": "US", "start_date": "2026-05-01", "status": "active", "email_one": "ann@example.org"},
          {"client_affiliate_id": "A-2", "affiliate_name": "Ben"}])
    # An export has all fields of the interface.
    description = json.loads((Path(__file__).parents[3] / "docs/openapi.json").read_text(encoding="utf-8"))
    fields = list(description["components"]["schemas"]["AffiliateCreate"]["properties"])
    own = {"client_affiliate_id": " A-1", "affiliate_name": "Ann", "notes": "  both  ", "city": "#N/A"}
    case("spaces in a whole export of the service", "the service", table(header=fields, rows=[[own.get(name, "") for name in fields]]), [own])
    case("spaces in a part of an export", "a person", "client_affiliate_id,affiliate_name,notes\n A-1 ,Ann,  both  \n",
         [{"client_affiliate_id": "A-1", "affiliate_name": "Ann", "notes": "both"}])
    case("spaces around texts of a person", "a person", 'Your affiliate ID,Name,Notes\n A-1 , Ann ,"  both  "\n',
         [{"client_affiliate_id": "A-1", "affiliate_name": "Ann", "notes": "both"}])


def countries():
    names = {"Germany": "DE", "united states": "US", "UNITED STATES OF AMERICA": "US", "U.K.": "GB", "Viet Nam": "VN", "Vietnam": "VN", "Côte d’Ivoire": "CI",
             "Cote d'Ivoire": "CI", "Korea (Republic of)": "KR", "Bosnia and Herzegovina": "BA", "Trinidad & Tobago": "TT", "Türkiye": "TR", "Turkey": "TR",
             " Netherlands ": "NL", "St. Lucia": "LC", "de": "DE", "276": "DE", "8": "AL"}
    rows = [[f"A-{number}", f"Ann {number}", name] for number, name in enumerate(names, 1)]
    header = ["client_affiliate_id", "affiliate_name", "Country"]
    records = [{"client_affiliate_id": row[0], "affiliate_name": row[1], "country": code} for row, code in zip(rows, names.values(), strict=True)]
    case("countries by name and by code", "a person", table(rows=rows, header=header), records)
    case("countries that do not exist", "a person", table(rows=[*rows[:1], ["B-1", "Ben", "Atlantis"], ["B-2", "Carl", "Korea"]], header=header), records[:1],
         refused=[(3, "country"), (4, "country")])
    case("countries by name in a workbook", "Excel", workbook([header, *rows]), records, file="affiliates.xlsx", advice={"console": "save it as CSV UTF-8"})


def calendar():
    may = ["2026-05-01", "2026-05-02"]
    case("days", "pandas, LibreOffice", dated(*may), dates(*may))
    case("days with midnight", "pandas, datetime64", dated("2026-05-01 00:00:00", "2026-05-02 00:00"), dates(*may))
    case("days with T and midnight", "JavaScript, pandas", dated("2026-05-01T00:00:00", "2026-05-02T00:00:00.000Z"), dates(*may))
    case("days with midnight and an offset", "pandas with a time zone", dated("2026-05-01 00:00:00+02:00", "2026-05-02T00:00:00-0700"), dates(*may))
    case("days with slashes, the year first", "Excel in Japanese", dated("2026/5/1", "2026/05/02"), dates(*may))
    case("the day is first, as one row shows", "Excel in British English", dated("1/5/2026", "25/5/2026"), dates("2026-05-01", "2026-05-25"))
    case("the month is first, as one row shows", "Excel in American English", dated("5/1/2026", "5/25/2026"), dates("2026-05-01", "2026-05-25"))
    case("the month is first, with midnight", ".NET, SQL Server", dated("5/1/2026 12:00:00 AM", "5/25/2026 0:00"), dates("2026-05-01", "2026-05-25"))
    case("points, and the day is first", "Excel in German", dated("1.5.2026", "25.05.2026", separator=";"), dates("2026-05-01", "2026-05-25"))
    case("hyphens, and the day is first", "Excel in Dutch", dated("1-5-2026", "25-05-2026"), dates("2026-05-01", "2026-05-25"))
    case("days that are the same in either order", "Excel", dated("5/5/2026", "12/12/2026"), dates("2026-05-05", "2026-12-12"))
    ambiguous = dated("2026-05-01", "1/5/2026", "02/03/2026")
    case("days that can be two dates", "Excel", ambiguous, error=["1/5/2026 on line 3 can be two dates"],
         advice={"import": "--dates dmy", "sync": "--dates dmy", "console": "Choose whether the day or the month is first"})
    case("days that can be two dates, dmy", "Excel", ambiguous, dates("2026-05-01", "2026-05-01", "2026-03-02"), dates="dmy")
    case("days that can be two dates, mdy", "Excel", ambiguous, dates("2026-05-01", "2026-01-05", "2026-02-03"), dates="mdy")
    case("days that contradict each other", "two people", dated("1/5/2026", "25/5/2026", "2026-01-01", "5/26/2026"),
         error=["25/5/2026 on line 3 has the day first, and 5/26/2026 on line 5 the month", "YYYY-MM-DD"])
    case("a day that contradicts the choice", "Excel", dated("1/5/2026", "05/26/2026"), dates("2026-05-01"), refused=[(3, "start_date")], dates="dmy")
    case("a year of two digits", "LibreOffice in English", dated("05/01/26", "2026-05-02"), dates("", "2026-05-02")[1:], refused=[(2, "start_date")])
    case("times that are not midnight", "pandas", dated("2026-05-01 14:30:00", "2026-05-02"), dates("", "2026-05-02")[1:], refused=[(2, "start_date")])
    case("days that do not exist", "a person", dated("2026-02-30", "31/31/2026", "2026-05-02"), dates("", "", "2026-05-02")[2:],
         refused=[(2, "start_date"), (3, "start_date")])


def workbooks():
    known = [HEADER, *([*row[:3], Date(row[3])] for row in ROWS)]
    no_console = {"console": "save it as CSV UTF-8"}

    def sheet(name, by, *arguments, rows=known, records=None, error=(), refused=(), **options):
        case(name, by, workbook(rows, **options), RECORDS if records is None else records, file="affiliates.xlsx", error=error, refused=refused,
             advice=no_console)

    sheet("a workbook", "Excel")
    sheet("a workbook with inline texts", "pandas, openpyxl write-only", inline=True)
    sheet("a workbook of 1904", "Excel on a Mac", epoch=1904)
    sheet("a workbook without a dimension", "a reporting tool", dimension="A1")
    sheet("a workbook with a hidden first sheet", "Excel", hidden=[["x"], [1]])
    sheet("a workbook with blank rows and columns", "Excel", rows=[[], [None] * 3, [None, *HEADER], [], *([None, *row] for row in ROWS), [], [None, "A-3", None, "Ulm"]],
          refused=[(8, "affiliate_name")])
    sheet("a workbook with an index", "pandas, to_excel()", rows=[[None, *HEADER], *([number, *row] for number, row in enumerate(ROWS))])
    sheet("numbers in a workbook", "Excel", rows=[["Your affiliate ID", "Name", "ZIP", "Start date"], [1001, "Ann", 8000.0, 46143], [1002, 17.5, "08000", "2026-05-02"]],
          records=[{"client_affiliate_id": "1001", "affiliate_name": "Ann", "zip": "8000", "start_date": "2026-05-01"},
                   {"client_affiliate_id": "1002", "affiliate_name": "17.5", "zip": "08000", "start_date": "2026-05-02"}])
    sheet("dates as texts in a workbook", "Google Sheets", rows=[HEADER, ["A-1", "Ann", "Ulm", "25/5/2026"], ["A-2", "Ben", "Ulm", "1/6/2026"], ["A-3", "Carl", "Ulm", Date("2026-05-03", 0.5)]],
          records=[{"client_affiliate_id": "A-1", "affiliate_name": "Ann", "city": "Ulm", "start_date": "2026-05-25"},
                   {"client_affiliate_id": "A-2", "affiliate_name": "Ben", "city": "Ulm", "start_date": "2026-06-01"}], refused=[(4, "start_date")])
    sheet("errors of formulas in a workbook", "Excel", rows=[HEADER[:3], ["A-1", "Ann", "#N/A"], ["A-2", "Ben", "Ulm"]],
          records=[{"client_affiliate_id": "A-2", "affiliate_name": "Ben", "city": "Ulm"}], refused=[(2, "city")])
    sheet("a workbook whose dates can be two dates", "Google Sheets", rows=[HEADER, ["A-1", "Ann", "Ulm", "1/5/2026"]], error="1/5/2026 on line 2 can be two dates")
    sheet("an empty workbook", "Excel", rows=[[]], error="the file is empty")
    case("a workbook with the name of CSV", "a person", workbook(known), RECORDS, advice=no_console)
    case("a workbook that is cut", "an interrupted copy", workbook(known)[:-300], error="not a workbook that can be read", advice=no_console)
    case("an archive", "a person", workbook(known, main="other.xml"), file="affiliates.zip", error="not a workbook that can be read", advice=no_console)
    case("Excel 97", "Excel 97", OLD_EXCEL, file="affiliates.xls", error=["Excel 97 workbook (.xls), or a workbook with a password"], advice=no_console)
    case("HTML with the name of Excel", "a reporting tool", "<html><table><tr><td>A-1</td></tr></table></html>", file="affiliates.xls", error="is HTML or XML")
    case("a PDF", "a person", b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", file="affiliates.csv", error="is a PDF")


def others():
    one = [{"client_affiliate_id": "A-1", "affiliate_name": "Ann", "start_date": "2026-05-01"}]
    json_only = {"sync": "is JSON", "console": "is JSON"}
    case("JSON as protobuf prints it", "grpcurl", '[{"clientAffiliateId": "A-1", "affiliateName": "Ann", "startDate": "2026-05-01"}]', one, file="affiliates.json", advice=json_only)
    case("NDJSON as protobuf prints it", "protojson", '{"id":"7","clientDistributorId":"A-1","distributorName":"Ann","startDate":"2026-05-01","country":276}\n',
         [one[0] | {"country": "DE"}], file="affiliates.ndjson", advice=json_only)
    case("JSON with midnights", "pandas, to_json(date_format='iso')", '[{"client_affiliate_id":"A-1","affiliate_name":"Ann","start_date":"2026-05-01T00:00:00.000"}]', one,
         file="affiliates.json", advice=json_only)
    case("JSON with the name of CSV", "a person", '\ufeff [ {"client_affiliate_id": "A-1", "affiliate_name": "Ann", "start_date": "2026-05-01"}]', one, advice=json_only)
    case("an empty file", "a full disk", "", error="the file is empty")
    case("blank lines", "a person", "\n\r\n ,,\n", error="the file is empty")
    case("a quote that is not closed", "an interrupted copy", 'client_affiliate_id,affiliate_name\nA-1,Ann\nA-2,"Ben\nA-3,Carl\n',
         error="the file ends within the quoted cell that begins on line 3")


def main() -> int:
    for group in (encodings, forms, headings, spaces, countries, calendar, workbooks, others):
        group()
    text = json.dumps(cases, ensure_ascii=False, indent=1) + "\n"
    if "--check" in sys.argv:
        return 0 if OUTPUT.read_text(encoding="utf-8") == text else 1
    OUTPUT.write_text(text, encoding="utf-8")
    print(f"{len(cases)} cases")
    return 0


if __name__ == "__main__":
    sys.exit(main())
