//! Tests files that are larger than they look.

use std::{
    io::{self, Cursor, Read, Seek, SeekFrom},
    ops::ControlFlow,
};

use compliance_api::v1::UrlInput;
use spreadsheets::{FileError, Limits, Options, Table};

use crate::support::{Book, fails, options, read, rows, texts};

fn limited(error: FileError) {
    assert!(matches!(error, FileError::Limit(_)), "{error:?}");
}

#[test]
fn rows_and_columns_are_limited() {
    let limits = Limits { rows: 2, columns: 3, ..Options::default().limits };
    let options = || Options { limits, ..options() };
    let header = "client_affiliate_id,affiliate_name";
    assert_eq!(read(format!("{header}\nA-1,Ann\n\nA-2,Ben\n"), options()).unwrap().len(), 2);
    limited(fails(format!("{header}\nA-1,Ann\nA-2,Ben\nA-3,Carl\n"), options(), "more than 2 rows below the headings"));
    // Repeated headings count as rows.
    limited(fails(format!("{header}\n").repeat(4) + "A-1,Ann\n", options(), "more than 2 rows below the headings"));
    assert_eq!(read(format!("{header},city,,,\nA-1,Ann\n"), options()).unwrap().len(), 1);
    limited(fails(format!("{header},city,zip\nA-1,Ann\n"), options(), "more than 3 columns with a heading"));
    let sheet = texts(1, &["client_affiliate_id", "affiliate_name"]) + &texts(2, &["A-1", "Ann", "x", "x", "x"]);
    assert_eq!(read(Book::of(sheet).bytes(), options()).unwrap().len(), 2);
    let wide = format!("{header}\nA-1,Ann{}\n", ",".repeat(20_000));
    limited(fails(wide, options(), "the row on line 2 contains more than 16384 cells"));
    let sheet = rows(&["<c><v>1</v></c><c><v>2</v></c>", "<c><v>1</v></c><c><v>2</v></c>", "<c><v>1</v></c>"]);
    limited(fails(Book::of(sheet).bytes(), options(), "more than 2 rows below the headings"));
}

#[test]
fn dense_parts_and_long_shared_strings_are_limited() {
    let header = texts(1, &["client_affiliate_id", "affiliate_name"]);
    let many = Book { texts: "<si/>".repeat(200_000), ..Book::of(header.as_str()) };
    limited(fails(many.bytes(), options(), "sharedStrings.xml of the workbook contains too many empty elements"));
    let rows = format!("<row>{}</row>", "<c/>".repeat(16_000)).repeat(20);
    limited(fails(
        Book::of(header.clone() + &rows).bytes(),
        options(),
        "sheet1.xml of the workbook contains too many empty elements",
    ));
    let cells = r#"<c t="s"><v>0</v></c>"#.repeat(600);
    let long = Book {
        texts: format!("<si><t>{}</t></si>", "x".repeat(32_000)),
        ..Book::of(format!("{header}<row>{cells}</row>"))
    };
    limited(fails(long.bytes(), options(), "the text of row 2 exceeds 16 MiB"));
}

/// Without these limits, files of a few kilobytes would take minutes.
#[test]
fn small_workbooks_cannot_cause_excessive_work() {
    let text = "x".repeat(15 << 20);
    let shared = r#"<c r="A1" t="s"><v>0</v></c>"#;
    let row = |row: u64, cells: &str| format!(r#"<row r="{row}">{}</row>"#, cells.replace('1', &row.to_string()));
    let titles: String = (1..19).map(|number| row(number, shared)).collect();
    let records =
        |first: u64, cells: &str| -> String { (first..first + 100).map(|number| row(number, cells)).collect() };
    let book = |rows: String| Book { texts: format!("<si><t>{text}</t></si>"), ..Book::of(rows) };
    limited(fails(book(titles).bytes(), options(), "the sheet's cells repeat too much shared text"));
    let header = texts(1, &["client_affiliate_id", "affiliate_name"]);
    let unused = format!("{header}{}", records(2, r#"<c r="D1" t="s"><v>0</v></c>"#));
    limited(fails(book(unused).bytes(), options(), "the sheet's cells repeat too much shared text"));

    let array = |range: &str| format!(r#"<row r="2"><c r="A2"><f t="array" ref="{range}">1</f></c></row>"#);
    limited(fails(Book::of(header.clone() + &array("A2:CV20000")).bytes(), options(), "cells with array formulas"));

    // Ranges outside the table's columns.
    let range = |column: usize| format!(r#"<mergeCell ref="{0}2:{0}100001"/>"#, name(column));
    let merges = format!("<mergeCells>{}</mergeCells>", (3..16_000).map(range).collect::<String>());
    let cells = r#"<c r="A1"><v>7</v></c><c r="B1"><v>7</v></c>"#;
    let sheet = Book::of(header + &records(2, cells)).with(&merges);
    assert_eq!(read(sheet.bytes(), options()).unwrap().len(), 100);
}

/// Returns a column's name.
fn name(column: usize) -> String {
    let letter = char::from(b'A' + (column % 26) as u8);
    if column < 26 { letter.to_string() } else { format!("{}{letter}", name(column / 26 - 1)) }
}

#[test]
fn row_length_is_limited() {
    let long = format!("client_affiliate_id,affiliate_name\nA-1,\"{}\"\n", "x".repeat(17 << 20));
    limited(fails(long, options(), "exceeds 16 MiB"));
}

#[test]
fn url_tables_read_one_column() {
    let mut table = Table::<UrlInput>::open(
        Cursor::new("URL,Comment\nhttps://a.example/,x\nhttps://a\u{ad}.example/,\n,y\n"),
        Options { required: &["url"], columns: vec![("comment".to_owned(), String::new())], ..Options::default() },
    )
    .unwrap();
    assert_eq!((table.row_count(), table.notes()), (3, &[][..]));
    let mut lines = Vec::new();
    let read = |row: spreadsheets::Row<UrlInput>| {
        lines.push((row.line, row.record.map(|it| it.url).map_err(|errors| errors[0].cell.clone())));
        ControlFlow::Continue(())
    };
    table.read(read).unwrap();
    let options = Options { dates: Some(spreadsheets::Order::Dmy), ..Options::default() };
    let error = Table::<UrlInput>::open(Cursor::new("url\nhttps://a.example/\n"), options).err().unwrap();
    assert_eq!(error.option(), Some("dates"));
    let error = || Err("URL".to_owned());
    assert_eq!(lines, [(2, Ok(Some("https://a.example/".to_owned()))), (3, error()), (4, error())]);
}

#[test]
fn claimed_archive_part_count_is_limited() {
    // The end of the directory claims more parts than the archive contains.
    let mut bytes = Book::of(texts(1, &["client_affiliate_id", "affiliate_name"])).bytes();
    let end = bytes.len() - 22;
    assert_eq!(bytes[end..end + 4], *b"PK\x05\x06");
    bytes[end + 8..end + 12].fill(0xfe);
    limited(fails(bytes.as_slice(), options(), "more than 10000 parts"));
    // The record for large archives makes the same claim.
    bytes.truncate(end);
    let large = bytes.len() as u64;
    bytes.extend([b"PK\x06\x06".as_slice(), &44_u64.to_le_bytes(), &[0; 12], &[0xfe; 32]].concat());
    bytes.extend([b"PK\x06\x07".as_slice(), &[0; 4], &large.to_le_bytes(), &1_u32.to_le_bytes()].concat());
    bytes.extend([b"PK\x05\x06".as_slice(), &[0; 4], &[0xff; 12], &[0; 2]].concat());
    limited(fails(bytes, options(), "more than 10000 parts"));
}

/// A source with a limit of its own, such as a time limit.
struct Limited {
    bytes: Cursor<Vec<u8>>,
    reads: usize,
}

impl Read for Limited {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(left) = self.reads.checked_sub(1) else {
            return Err(io::Error::other(FileError::Limit("too many reads".to_owned())));
        };
        self.reads = left;
        self.bytes.read(buffer)
    }
}

impl Seek for Limited {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.bytes.seek(position)
    }
}

#[test]
fn source_limits_are_reported() {
    let csv = format!("url\n{}", "https://a.example/\n".repeat(20_000)).into_bytes();
    let sheet = texts(1, &["url"]) + &texts(2, &["https://a.example/"]);
    for bytes in [csv, Book::of(sheet).bytes()] {
        let open =
            |reads| Table::<UrlInput>::open(Limited { bytes: Cursor::new(bytes.clone()), reads }, Options::default());
        let refusals: Vec<FileError> = (0..10_000).map_while(|reads| open(reads).err()).collect();
        assert!((3..9_999).contains(&refusals.len()), "{}", refusals.len());
        for error in refusals {
            assert_eq!(error.to_string(), "too many reads");
            limited(error);
        }
    }
}
