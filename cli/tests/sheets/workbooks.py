"""Small Excel workbooks, written as the parts that they have: what programs leave out or write otherwise can be chosen."""

import io
import zipfile
from dataclasses import dataclass
from datetime import date
from xml.sax.saxutils import escape

NAMESPACE = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
KIND = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
MIME = "application/vnd.openxmlformats-officedocument.spreadsheetml"


@dataclass
class Date:
    """A day, and a part of it, in a cell that is formatted as a date."""

    day: str
    time: float = 0


def workbook(rows, *, inline=False, epoch=1900, dimension=None, hidden=None, main="xl/workbook.xml") -> bytes:
    texts: list[str] = []

    def cell(content, reference):
        if content is None:
            return ""
        if isinstance(content, Date):
            # The day 0 of each epoch. The epoch of 1900 counts a 29 February that did not exist.
            first = date(1899, 12, 30) if epoch == 1900 else date(1904, 1, 1)
            return f'<c r="{reference}" s="1"><v>{(date.fromisoformat(content.day) - first).days + content.time}</v></c>'
        if isinstance(content, (int, float)):
            return f'<c r="{reference}"><v>{content}</v></c>'
        if content.startswith("#"):
            return f'<c r="{reference}" t="e"><f>NA()</f><v>{content}</v></c>'
        if inline:
            return f'<c r="{reference}" t="inlineStr"><is><t>{escape(content)}</t></is></c>'
        texts.append(content)
        return f'<c r="{reference}" t="s"><v>{len(texts) - 1}</v></c>'

    def sheet(rows):
        lines = [f'<row r="{number}">{"".join(cell(content, f"{chr(65 + column)}{number}") for column, content in enumerate(row))}</row>'
                 for number, row in enumerate(rows, 1) if row]
        size = f'<dimension ref="{dimension}"/>' if dimension else ""
        return f"<worksheet {NAMESPACE}>{size}<sheetData>{''.join(lines)}</sheetData></worksheet>"

    sheets = [("Affiliates", rows, "")] if hidden is None else [("Notes", hidden, ' state="hidden"'), ("Affiliates", rows, "")]
    parts = {f"xl/worksheets/sheet{number}.xml": sheet(rows) for number, (_, rows, _) in enumerate(sheets, 1)}
    names = "".join(f'<sheet name="{name}" sheetId="{number}"{state} r:id="rId{number}"/>' for number, (name, _, state) in enumerate(sheets, 1))
    relations = "".join(f'<Relationship Id="rId{number}" Type="{KIND}/worksheet" Target="worksheets/sheet{number}.xml"/>' for number in range(1, len(sheets) + 1))
    types = "".join(f'<Override PartName="/{part}" ContentType="{MIME}.worksheet+xml"/>' for part in parts)
    strings = "".join(f'<si><t xml:space="preserve">{escape(text)}</t></si>' for text in texts)
    parts |= {
        main: f'<workbook {NAMESPACE}><workbookPr date1904="{int(epoch == 1904)}"/><sheets>{names}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">' + relations
        + f'<Relationship Id="rId8" Type="{KIND}/styles" Target="styles.xml"/><Relationship Id="rId9" Type="{KIND}/sharedStrings" Target="sharedStrings.xml"/></Relationships>',
        "xl/styles.xml": f'<styleSheet {NAMESPACE}><fonts count="1"><font/></fonts><fills count="1"><fill><patternFill patternType="none"/></fill></fills><borders count="1"><border/></borders>'
        '<cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="14" applyNumberFormat="1"/></cellXfs></styleSheet>',
        "xl/sharedStrings.xml": f"<sst {NAMESPACE}>{strings}</sst>",
        "_rels/.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        f'<Relationship Id="rId1" Type="{KIND}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{MIME}.sheet.main+xml"/>{types}'
        f'<Override PartName="/xl/styles.xml" ContentType="{MIME}.styles+xml"/><Override PartName="/xl/sharedStrings.xml" ContentType="{MIME}.sharedStrings+xml"/></Types>',
    }
    if main != "xl/workbook.xml":
        parts = {main: parts[main]}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, part in parts.items():
            # The same bytes in each run, on every machine.
            archive.writestr(zipfile.ZipInfo(name), f'<?xml version="1.0" encoding="UTF-8"?>{part}')
    return file.getvalue()
