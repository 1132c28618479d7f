//! Tests what workbook cells display, and what they hide.

use std::io::{Cursor, Write as _};

use spreadsheets::{Encoding, FileError, Options};
use zip::{ZipArchive, ZipWriter, write::SimpleFileOptions};

use crate::support::{Book, fails, options, reads, rows, texts, zip};

/// Returns a row with an identifier, a name, and a third cell in XML.
fn third(cell: &str) -> String {
    rows(&[&format!("{}{}{cell}", text("A2", "A-1"), text("B2", "Ann"))])
}

fn text(name: &str, text: &str) -> String {
    format!(r#"<c r="{name}" t="inlineStr"><is><t>{text}</t></is></c>"#)
}

const ANN: &str = "2 client_affiliate_id=A-1 affiliate_name=Ann";

#[track_caller]
fn shows(book: &Book, zip: &str) {
    reads(book.bytes(), options(), &[&format!("{ANN} zip={zip}")]);
}

#[track_caller]
fn rejects(book: &Book, reason: &str) {
    reads(book.bytes(), options(), &[&format!("2 ! C2 zip: {reason}")]);
}

#[test]
fn shared_inline_and_formula_strings_are_read() {
    for cell in [
        r#"<c r="C2" t="s"><v>1</v></c>"#,
        r#"<c r="C2" t="inlineStr"><is><t>8000 &amp; B</t></is></c>"#,
        r#"<c r="C2" t="inlineStr"><is><r><t>8000 </t></r><r><t>&#38; B</t></r><rPh><t>x</t></rPh></is></c>"#,
        r#"<c r="C2" t="str"><f>A1</f><v>8000 &amp; B</v></c>"#,
        r#"<c t="str"><f>A1</f><v><![CDATA[8000 & B]]></v></c>"#,
    ] {
        let texts = "<si><t>x</t></si><si><r><t>8000 </t></r><rPh sb=\"0\"><t>x</t></rPh><r><t>&amp; B</t></r></si>";
        shows(&Book { texts: texts.to_owned(), ..Book::of(third(cell)) }, "8000 & B");
    }
}

#[test]
fn codes_can_contain_points_but_not_commas() {
    shows(&Book::of(third(&text("C2", "12.345"))), "12.345");
    rejects(&Book::of(third(&text("C2", "12,345"))), "The number 12,345 contains decimals or a separator");
}

#[test]
fn escaped_characters_are_decoded_everywhere() {
    let texts = "<si><t>a_x000D_b_x005F_x000D_</t></si>".to_owned();
    for cell in [
        r#"<c r="C2" t="s"><v>0</v></c>"#,
        r#"<c r="C2" t="inlineStr"><is><t>a_x000D_b_x005F_x000D_</t></is></c>"#,
        r#"<c r="C2" t="str"><v>a_x000D_b_x005F_x000D_</v></c>"#,
    ] {
        shows(&Book { texts: texts.clone(), ..Book::of(third(cell)) }, "a\rb_x000D_");
    }
    rejects(
        &Book::of(third(r#"<c r="C2" t="inlineStr"><is><t>a_xD83D_</t></is></c>"#)),
        "The text has lost a character",
    );
}

#[test]
fn numbers_are_read_as_shown() {
    for (format, number, shown) in [
        ("General", "1001", "1001"),
        ("General", "4.91512345678E+11", "491512345678"),
        ("General_)", "1001", "1001"),
        ("[Red]General;-General", "1001", "1001"),
        ("[red]0000", "501", "0501"),
        ("General", "1.3333333333333333", "1.33333333333333"),
        ("0;-0;;@", "12", "12"),
        ("General", "0.30000000000000004", "0.3"),
        ("00000", "501", "00501"),
        ("00000\\-0000", "80000012", "08000-0012"),
        ("#,##0", "1001", "1001"),
        ("@", "7", "7"),
    ] {
        let cell = format!(r#"<c r="C2" s="1"><v>{number}</v></c>"#);
        shows(&Book { formats: vec![format], ..Book::of(third(&cell)) }, shown);
    }
    for (format, number, reason) in [
        ("General", "1234567890123456", "The cell contains a number with more than 15 digits"),
        ("0", "1E+20", "The cell contains a number with more than 15 digits"),
        ("General", "123456789012345.6", "The cell contains a number with more than 15 digits"),
        ("General", "1234567890123.456", "The cell contains a number with more than 15 digits"),
        ("0;;;", "0", "The cell contains 0, which its format may show differently"),
        ("0;(0)", "-5", "The cell contains -5, which its format may show differently"),
        ("\"#\"General", "5", "The cell shows 5 in the format"),
        ("yyyy", "3000000", "The cell contains 3000000, which is not a date"),
        ("yyyy", "60", "The cell contains 60, which is not a date"),
        ("yyyy", "-1", "The cell contains -1, which is not a date"),
        ("General", "inf", "The cell contains a number with more than 15 digits"),
        ("General", "x", "The cell is stored as a number"),
        ("0%", "0.5", "The cell shows 0.5 in the format 0%"),
        ("0", "12.6", "The cell shows 12.6 with 0 decimals"),
        ("h:mm", "0.5", "The cell shows a time without a date"),
        ("d-mmm", "46143", "The cell is a date, but the field is not"),
    ] {
        let cell = format!(r#"<c r="C2" s="1"><v>{number}</v></c>"#);
        rejects(&Book { formats: vec![format], ..Book::of(third(&cell)) }, reason);
    }
    shows(&Book::of(third(r#"<c r="C2" t="b"><v>1</v></c>"#)), "TRUE");
    rejects(
        &Book::of(third(r#"<c r="C2" t="inlineStr"><is><t>4.91512E+11</t></is></c>"#)),
        "The number 4.91512E+11 has lost",
    );
    rejects(&Book::of(third(r#"<c r="C2" t="d"><v>2026-05-01</v></c>"#)), "The cell is a date");
}

/// Other programs read these cells as empty, or read a different value.
#[test]
fn misplaced_and_invalid_values_are_rejected() {
    for (cell, reason) in [
        (r#"<c r="C2" t="str"><is><t>8000</t></is></c>"#, "The cell stores its value in an unexpected place"),
        (r#"<c r="C2"><is><t>8000</t></is></c>"#, "The cell stores its value in an unexpected place"),
        (r#"<c r="C2" t="inlineStr"><v>8000</v></c>"#, "The cell stores its value in an unexpected place"),
        (r#"<c r="C2"><v>80</v><v>00</v></c>"#, "The cell stores its value in an unexpected place"),
        (r#"<c r="C2" t="b"><v>2</v></c>"#, "The cell is stored as a Boolean"),
        (r#"<c r="C2" t="text"><v>8000</v></c>"#, "The cell has the unknown kind \"text\""),
        (r#"<c r="C2" s="9"><v>8000</v></c>"#, "The cell refers to a missing style"),
        (r#"<c r="C2" t="inlineStr"><is><t>a_x0000_</t></is></c>"#, "The text has lost a character"),
    ] {
        rejects(&Book::of(third(cell)), reason);
    }
    let fallback = r#"<c r="C2" t="inlineStr"><is><Choice><t>8000</t></Choice><Fallback><t>9</t></Fallback></is></c>"#;
    shows(&Book::of(third(fallback)), "8000");
    shows(&Book::of(third(r#"<c r="C2" t="b"><v>0</v></c>"#)), "FALSE");
}

#[test]
fn conditional_formats_do_not_override_cell_formats() {
    let cell = third(r#"<c r="C2" s="1"><v>501</v></c>"#);
    let dxfs = r#"<dxf><numFmt numFmtId="200" formatCode="0.0"/></dxf>"#;
    shows(&Book { formats: vec!["00000"], dxfs, ..Book::of(cell) }, "00501");
}

#[test]
fn workbooks_reject_encoding_option() {
    let named = Options { encoding: Some(Encoding::Utf8), ..options() };
    fails(Book::of(third("")).bytes(), named, "the option encoding has no effect on workbooks");
}

#[test]
fn formulas_without_results_are_rejected() {
    let missing = "The cell contains a formula without a stored result";
    for cell in [
        r#"<c r="C2"><f>A1</f></c>"#,
        r#"<c r="C2"><f>A1</f><v></v></c>"#,
        r#"<c r="C2"><f>A1</f><v/></c>"#,
        r#"<c r="C2" t="str"><f>A1</f></c>"#,
        r#"<c r="C2"><f t="shared" si="0"/></c>"#,
    ] {
        rejects(&Book::of(third(cell)), missing);
    }
    // Programs that do not compute formulas still write a result, and request computation.
    let zero = third(r#"<c r="C2"><f>A1</f><v>0</v></c>"#);
    rejects(&Book { properties: r#"<calcPr calcId="1" fullCalcOnLoad="1"/>"#, ..Book::of(zero.as_str()) }, missing);
    shows(&Book::of(zero), "0");
    // Apache POI writes this result for formulas that it has not computed.
    rejects(&Book::of(third(r#"<c r="C2" t="n"><f>A1</f><v>0.0</v></c>"#)), missing);
    // An empty string is a result.
    reads(Book::of(third(r#"<c r="C2" t="str"><f>A1</f><v></v></c>"#)).bytes(), options(), &[ANN]);
    rejects(
        &Book::of(third(r#"<c r="C2" t="e"><f>NA()</f><v>#N/A</v></c>"#)),
        "The cell contains the formula error #N/A",
    );
    let heading = r#"<row r="1"><c r="A1"><f>B1</f></c><c r="B1" t="inlineStr"><is><t>client_affiliate_id</t></is></c><c r="C1" t="inlineStr"><is><t>Name</t></is></c></row>"#;
    fails(
        Book::of(heading).bytes(),
        options(),
        "the heading in the cell A1 contains a formula without a stored result",
    );
}

/// Only the first cell of an array formula contains the formula.
#[test]
fn array_formulas_without_results_are_rejected() {
    let record = |row: u64, id: &str, zip: &str| {
        format!("{}{}{zip}", text(&format!("A{row}"), id), text(&format!("B{row}"), "Ann"))
    };
    let formula = |value: &str| format!(r#"<c r="C2"><f t="array" ref="C2:C4">A2:A4</f>{value}</c>"#);
    let missing = |row: u64| format!("{row} ! C{row} zip: The cell contains a formula without a stored result");
    let book = |first: &str, others: [&str; 3]| {
        let cells = [
            record(2, "A-1", first),
            record(3, "A-2", others[0]),
            record(4, "A-3", others[1]),
            record(5, "A-4", others[2]),
        ];
        Book::of(rows(&cells.each_ref().map(String::as_str)))
    };
    let last = "5 client_affiliate_id=A-4 affiliate_name=Ann";
    // As openpyxl writes it.
    reads(book(&formula(""), [""; 3]).bytes(), options(), &[&missing(2), &missing(3), &missing(4), last]);
    // As Excel writes it.
    let computed = book(&formula("<v>1</v>"), [r#"<c r="C3"><v>2</v></c>"#, r#"<c r="C4" t="str"><v></v></c>"#, ""]);
    let lines =
        ["2 client_affiliate_id=A-1 affiliate_name=Ann zip=1", "3 client_affiliate_id=A-2 affiliate_name=Ann zip=2"];
    let empty = "4 client_affiliate_id=A-3 affiliate_name=Ann";
    reads(computed.bytes(), options(), &[lines[0], lines[1], empty, last]);
    // XlsxWriter stores 0 as the result of every formula.
    let zeros = book(&formula("<v>0</v>"), [r#"<c r="C3"><v>0</v></c>"#, r#"<c r="C4"><v>0</v></c>"#, ""]);
    let zeros = Book { properties: r#"<calcPr fullCalcOnLoad="1"/>"#, ..zeros };
    // An uncomputed formula may also fill the rows below its range.
    reads(zeros.bytes(), options(), &[&missing(2), &missing(3), &missing(4), &missing(5)]);
}

#[test]
fn text_changing_formats_are_rejected() {
    for (code, is_changed) in [("\"A-\"@", true), (";;;", true), ("@", false), ("_(@_)", false), ("00000", false)] {
        let book =
            Book { formats: vec![code], ..Book::of(third(r#"<c r="C2" s="1" t="inlineStr"><is><t>17</t></is></c>"#)) };
        if is_changed { rejects(&book, "The cell has a format that changes its text") } else { shows(&book, "17") }
    }
}

#[test]
fn merged_cell_errors_name_their_range() {
    let sheet = rows(&[
        &format!("{}{}{}", text("A2", "A-1"), text("B2", "Ann"), text("C2", "8000")),
        &format!("{}{}", text("A3", "A-2"), text("B3", "Ben")),
        &format!("{}{}", text("A4", "A-3"), text("B4", "Carl")),
    ]);
    let book = |ranges: &str| Book::of(sheet.as_str()).with(&format!("<mergeCells>{ranges}</mergeCells>")).bytes();
    let carl = "4 client_affiliate_id=A-3 affiliate_name=Carl";
    reads(
        book(r#"<mergeCell ref="C2:C3"/>"#),
        options(),
        &[&format!("{ANN} zip=8000"), "3 ! C3 zip: The cell is part of the merged range C2:C3", carl],
    );
    // Merged within a row, and outside the columns that are read.
    reads(
        book(r#"<mergeCell ref="B3:C3"/><mergeCell ref="D2:D4"/><mergeCell ref="A1:C1"/>"#),
        options(),
        &[&format!("{ANN} zip=8000"), "3 ! C3 zip: The cell is part of the merged range B3:C3", carl],
    );
}

#[test]
fn dates_support_both_epochs() {
    let sheet = format!(
        "{}{}",
        texts(1, &["client_affiliate_id", "affiliate_name", "start_date"]),
        r#"<row r="2"><c r="A2"><v>1</v></c><c r="B2"><v>2</v></c><c r="C2" s="1"><v>46143.0</v></c></row><row r="3"><c r="A3"><v>2</v></c><c r="B3"><v>3</v></c><c r="C3" s="1"><v>46144</v></c></row><row r="4"><c r="A4"><v>3</v></c><c r="B4"><v>4</v></c><c r="C4" t="d"><v>2026-05-03T00:00:00</v></c></row>"#
    );
    let lines = |days: [&str; 3]| {
        let lines = (2..).zip(days).map(|(line, day)| {
            format!("{line} client_affiliate_id={} affiliate_name={line} start_date={day}", line - 1)
        });
        lines.collect::<Vec<String>>()
    };
    for (properties, days) in
        [("", ["2026-05-01", "2026-05-02"]), (r#"<workbookPr date1904="1"/>"#, ["2030-05-02", "2030-05-03"])]
    {
        let book = Book { properties, formats: vec!["dd.mm.yyyy"], ..Book::of(sheet.as_str()) };
        let lines = lines([days[0], days[1], "2026-05-03"]);
        reads(book.bytes(), options(), &lines.iter().map(String::as_str).collect::<Vec<_>>());
    }
}

#[test]
fn first_visible_or_named_sheet_is_read() {
    let sheet = |id: &str| {
        let row = format!(r#"<row r="3">{}{}</row>"#, text("A3", id), text("B3", "Ann"));
        format!("<sheetData>{}{row}</sheetData>", texts(1, &["client_affiliate_id", "affiliate_name"]))
    };
    let sheets =
        vec![("Old", "hidden", sheet("A-1")), ("May", "visible", sheet("A-2")), ("June", "visible", sheet("A-3"))];
    let book = Book { sheets, ..Book::default() }.bytes();
    let named = |name: &str| Options { sheet: Some(name.to_owned()), ..options() };
    let note = "# only the sheet \"May\" is read; ignored: Old (hidden), June";
    reads(book.as_slice(), options(), &[note, "3 client_affiliate_id=A-2 affiliate_name=Ann"]);
    let note = "# only the sheet \"Old\" is read; ignored: May, June";
    reads(book.as_slice(), named("Old"), &[note, "3 client_affiliate_id=A-1 affiliate_name=Ann"]);
    let error =
        fails(book, named("July"), "the workbook contains no sheet \"July\"; its sheets are: Old (hidden), May, June");
    assert_eq!(error.option(), Some("sheet"));
    // A heading error may come from reading the wrong sheet.
    let cover = "<sheetData><row><c t=\"str\"><v>Read me</v></c></row></sheetData>";
    for (cover, expected) in
        [(cover, "no cell in the first row is a field name"), ("<sheetData/>", "the file is empty")]
    {
        let sheets = vec![("Cover", "visible", cover.to_owned()), ("May", "visible", sheet("A-1"))];
        let error = fails(Book { sheets, ..Book::default() }.bytes(), options(), "only the sheet \"Cover\" was read");
        assert!(error.to_string().contains(expected) && error.to_string().ends_with("also contains May"), "{error}");
        assert_eq!(error.option(), Some("sheet"));
    }
    let hidden = Book { sheets: vec![("Old", "veryHidden", sheet("A-1"))], ..Book::default() };
    fails(hidden.bytes(), options(), "the workbook contains no visible sheet");
}

#[test]
fn rows_around_records_are_reported() {
    let sheet = format!(
        r#"{}{}{}<row r="6" hidden="1">{}{}{}</row>{}"#,
        texts(1, &["", "Affiliates"]),
        texts(3, &["client_affiliate_id", "affiliate_name"]),
        texts(5, &["A-1", "Ann"]),
        text("A6", "A-2"),
        text("B6", "Ben"),
        text("XFD6", "far"),
        texts(9, &["Total", "2"]),
    );
    reads(
        Book::of(sheet).bytes(),
        options(),
        &[
            "# ignored rows above the headings: 1 to 1",
            "# ignored columns without a heading: 16384 (XFD)",
            "# hidden rows, read like visible rows: 1",
            "5 client_affiliate_id=A-1 affiliate_name=Ann",
            "6 client_affiliate_id=A-2 affiliate_name=Ben",
            "9 !  : The row seems to contain totals",
        ],
    );
}

#[test]
fn numbers_without_date_format_are_not_dates() {
    let heading = texts(1, &["client_affiliate_id", "affiliate_name", "start_date"]);
    let read = |number: &str, code: &'static str, expected: &str| {
        let row = format!(
            r#"<row r="2">{}{}<c r="C2" s="1"><v>{number}</v></c></row>"#,
            text("A2", "A-1"),
            text("B2", "Ann")
        );
        let book = Book { formats: vec![code], ..Book::of(format!("{heading}{row}")) };
        reads(book.bytes(), options(), &[expected]);
    };
    for number in ["2026", "46144", "260131", "202601", "20260131", "1312026"] {
        let error = format!("2 ! C2 start_date: The cell contains the number {number}, not a date");
        read(number, "0", &error);
        read(number, "General", &error);
    }
    read("1312026", "0\\/00\\/0000", "2 client_affiliate_id=A-1 affiliate_name=Ann start_date=2026-01-31");
}

#[test]
fn error_cells_without_value_and_invalid_merges_are_rejected() {
    rejects(&Book::of(third(r#"<c r="C2" t="e"/>"#)), "The cell contains a formula error");
    for range in ["C3:C2", "$C$2:$C$3", ""] {
        let merged =
            format!(r#"<sheetData>{}</sheetData><mergeCells><mergeCell ref="{range}"/></mergeCells>"#, third(""));
        let book = Book { sheets: vec![("Sheet", "visible", merged)], ..Book::default() };
        fails(book.bytes(), options(), "the merged range");
    }
}

#[test]
fn strict_and_unusual_workbooks_are_read() {
    let cell = third(r#"<c r="C2"><v>8000</v></c>"#);
    let strict =
        ("http://purl.oclc.org/ooxml/spreadsheetml/main", "http://purl.oclc.org/ooxml/officeDocument/relationships");
    shows(&Book { namespace: strict, ..Book::of(cell.as_str()) }, "8000");
    shows(&Book { main: "xl/workbook2.xml", ..Book::of(cell.as_str()) }, "8000");
    // Names with prefixes, different case and backslashes.
    let parts = Book::of(cell.as_str()).parts().into_iter().map(|(name, part)| {
        (name.replace("worksheets/", "WorkSheets\\"), part.replace("<c ", "<x:c ").replace("</c>", "</x:c>"))
    });
    reads(zip(&parts.collect::<Vec<_>>()), options(), &[&format!("{ANN} zip=8000")]);
}

#[test]
fn damaged_workbooks_are_rejected() {
    let of = |sheet: &str| Book::of(sheet).bytes();
    let header = texts(1, &["client_affiliate_id", "affiliate_name"]);
    for (sheet, expected) in [
        (
            format!("{header}<row r=\"2\"><c r=\"ZZZZZZ2\"><v>1</v></c></row>"),
            "row 2 contains the cell \"ZZZZZZ2\" in the wrong place",
        ),
        (format!("{header}<row r=\"2\"><c r=\"XFE2\"><v>1</v></c></row>"), "\"XFE2\" in the wrong place"),
        (format!("{header}<row r=\"2\"><c r=\"A3\"><v>1</v></c></row>"), "\"A3\" in the wrong place"),
        (
            format!("{header}<row r=\"2\"><c r=\"B2\"><v>1</v></c><c r=\"A2\"><v>1</v></c></row>"),
            "\"A2\" in the wrong place",
        ),
        (format!("{header}<row r=\"1\"/>"), "row 1 follows row 1"),
        (format!("{header}<row r=\"4294967295\"/>"), "row 4294967295 follows"),
        (
            format!("{header}<row r=\"2\"><c r=\"A2\" t=\"s\"><v>7</v></c></row>"),
            "the cell A2 refers to a missing shared string",
        ),
        (format!("{header}<row r=\"2\"><c r=\"A2\"><v>&nbsp;</v></c></row>"), "the unknown entity"),
        (format!("{header}<row r=\"2\"><c r=\"A2\"></row>"), "is not XML"),
    ] {
        assert!(matches!(fails(of(&sheet), options(), expected), FileError::Damaged(_)), "{sheet}");
    }
    let whole = of(&header);
    for cut in [20, whole.len() / 2, whole.len() - 30] {
        assert!(matches!(fails(&whole[..cut], options(), "the workbook is damaged"), FileError::Damaged(_)));
    }
    // One changed byte in a stored text.
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, part) in Book::of(third(r#"<c r="C2"><v>8000</v></c>"#)).parts() {
        archive
            .start_file(name, SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored))
            .unwrap();
        archive.write_all(part.as_bytes()).unwrap();
    }
    let mut bytes = archive.finish().unwrap().into_inner();
    let at = bytes.windows(4).position(|window| window == b"8000").unwrap();
    bytes[at] = b'9';
    fails(bytes, options(), "the workbook is damaged");
    // A part that the workbook refers to but does not contain.
    let parts: Vec<_> = Book::of(header).parts().into_iter().filter(|(name, _)| !name.contains("sheet1")).collect();
    let mut names = ZipArchive::new(Cursor::new(zip(&parts))).unwrap();
    let unpacked = std::io::copy(&mut names.by_index(0).unwrap(), &mut std::io::sink()).unwrap();
    assert_eq!(unpacked, parts[0].1.len() as u64);
    fails(zip(&parts), options(), "the part xl/worksheets/sheet1.xml is missing");
}
