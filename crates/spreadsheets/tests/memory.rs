//! Tests small workbooks that other readers unpack into gigabytes. A separate program measures the memory.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

#[path = "tables/support.rs"]
#[allow(dead_code, reason = "the other program uses the rest")]
mod support;

use std::{
    fs,
    io::{Cursor, Write as _},
    time::{Duration, Instant},
};

use spreadsheets::{Limits, Options};
use support::{Book, options, read, texts};
use zip::{ZipWriter, write::SimpleFileOptions};

/// Maximum unpacked size, in bytes: a fraction of the request limit, so the test takes seconds.
const UNPACKED: usize = 2 << 20;
/// Maximum memory for a file, in KiB: four times the unpacked size.
const MOST_MEMORY: u64 = 8 << 10;
/// Maximum duration in an unoptimized build.
const LONGEST: Duration = Duration::from_mins(2);
/// Placeholder for the repeated text in a part.
const REPEATED: char = '\u{a7}';

/// Returns one of the process's memory figures, in KiB.
fn memory(name: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim_matches([':', '\t', ' ']).trim_end_matches(" kB").parse().unwrap()
}

/// Returns a workbook with headings and rows below them.
fn book(rows: &str) -> Book {
    Book::of(texts(1, &["client_affiliate_id", "affiliate_name"]) + rows)
}

/// Returns a workbook's parts with one text replaced by another.
fn with(from: &str, to: &str) -> Vec<(String, String)> {
    book("").parts().into_iter().map(|(name, part)| (name, part.replace(from, to))).collect()
}

/// Returns an archive with `size` bytes of repeated `text`, without holding them in memory.
fn repeated(parts: Vec<(String, String)>, text: &str, size: usize) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let block = text.repeat(1000);
    for (name, part) in parts {
        archive.start_file(name, SimpleFileOptions::default()).unwrap();
        let (before, after) = part.split_once(REPEATED).unwrap_or((&part, ""));
        archive.write_all(before.as_bytes()).unwrap();
        for _ in 0..if before == part { 0 } else { size.div_ceil(block.len()) } {
            archive.write_all(block.as_bytes()).unwrap();
        }
        archive.write_all(after.as_bytes()).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

#[test]
fn hostile_workbooks_use_bounded_memory() {
    let texts = |texts: &str| Book { texts: texts.to_owned(), ..book("") }.parts();
    let most = UNPACKED - (1 << 17);
    let cases = [
        ("spaces in a text", texts("<si><t>\u{a7}</t></si>"), " ", 20 << 20),
        ("texts", texts("\u{a7}"), "<si/>", most),
        ("too many texts", texts("\u{a7}"), "<si/>", 20 << 20),
        ("a claimed number of texts", with("<sst ", "<sst uniqueCount=\"18446744073709551615\" "), "", 0),
        ("spaces between elements", book("\u{a7}").parts(), " ", 20 << 20),
        ("a long attribute", book("<row r=\"\u{a7}\"/>").parts(), "1", most),
        ("open elements", book("\u{a7}").parts(), "<a>", most),
        ("cells of a row", book("<row>\u{a7}</row>").parts(), "<c><v>1</v></c>", most),
        ("blank rows", book("\u{a7}").parts(), "<row/>", most),
        ("wide cells", book("\u{a7}").parts(), "<row><c r=\"XFD2\"><v>1</v></c></row>", most),
        ("a claimed dimension", with("<sheetData>", "<dimension ref=\"A1:XFD1048576\"/><sheetData>"), "", 0),
        ("styles", with("<cellXfs>", "<cellXfs>\u{a7}"), "<xf/>", most),
        ("a format", with("<numFmts>", "<numFmts><numFmt numFmtId=\"1\" formatCode=\"\u{a7}\"/>"), "0", most),
        (
            "relationships",
            with("<Relationships>", "<Relationships>\u{a7}"),
            "<Relationship Id=\"a\" Type=\"\" Target=\"\"/>",
            most,
        ),
        (
            "merged ranges",
            book("").with("<mergeCells>\u{a7}</mergeCells>").parts(),
            "<mergeCell ref=\"A1:XFD1048576\"/>",
            most,
        ),
    ];
    for (name, parts, text, size) in cases {
        let bytes = repeated(parts, text, size);
        // Resets the measured peak.
        fs::write("/proc/self/clear_refs", "5").unwrap();
        let (before, started, length) = (memory("VmRSS"), Instant::now(), bytes.len());
        let limits = Limits { unpacked_bytes: UNPACKED as u64, ..options().limits };
        let result = read(bytes, Options { limits, ..options() }).map_err(|error| error.to_string());
        let (duration, used) = (started.elapsed(), memory("VmHWM").saturating_sub(before));
        println!("{name}: {length} bytes, {duration:.1?}, {} MiB, {:.100}", used >> 10, format!("{result:?}"));
        assert!(duration < LONGEST && used < MOST_MEMORY, "{name}: {duration:?}, {} MiB", used >> 10);
        assert!(result.is_ok_and(|lines| lines.is_empty()) || size > 0, "{name}");
    }
}
