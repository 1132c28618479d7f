//! Tests files of unsupported kinds.

use std::io::{Cursor, Write as _};

use flate2::{Compression, write::GzEncoder};
use spreadsheets::FileError;
use zip::{ZipWriter, write::SimpleFileOptions};

use crate::support::{fails, options, zip};

fn archive(name: &str) -> Vec<u8> {
    zip(&[("mimetype".to_owned(), "x".to_owned()), (name.to_owned(), "<x/>".to_owned())])
}

#[test]
fn errors_name_unsupported_file_kinds() {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(b"client_affiliate_id,affiliate_name\n").unwrap();
    let old = [0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1];
    let name = |name: &str| name.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let password = [&old[..], &[0; 600], &name("EncryptedPackage")].concat();
    for (bytes, kind) in [
        (gzip.finish().unwrap(), "compressed with gzip"),
        (password, "a password-protected workbook"),
        (
            [&old[..], &[0; 600], &name("Workbook")].concat(),
            "an Excel 97 workbook (.xls) or a password-protected workbook",
        ),
        (b"%PDF-1.7".to_vec(), "a PDF"),
        (b" <html><table><tr><td>A-1</td></tr></table></html>".to_vec(), "HTML or XML"),
        ("\u{feff}<?xml version=\"1.0\"?><Workbook/>".into(), "HTML or XML"),
        (b"[{\"client_affiliate_id\": \"A-1\"}]".to_vec(), "JSON"),
        (b"{\\rtf1 x}".to_vec(), "rich text"),
        (archive("content.xml"), "an OpenDocument file"),
        (archive("xl/workbook.bin"), "a binary workbook (.xlsb)"),
        (archive("word/document.xml"), "a Word document"),
        (archive("affiliates.csv"), "a ZIP archive"),
        (b"7z\xbc\xaf\x27\x1c".to_vec(), "a 7z archive"),
        (b"\x28\xb5\x2f\xfd\x00".to_vec(), "compressed with Zstandard"),
    ] {
        let error = fails(bytes, options(), &format!("the file is {kind}"));
        assert!(
            matches!(error, FileError::Kind(_)) && error.to_string().ends_with("save it as .xlsx, or as CSV in UTF-8")
        );
    }
    let mut empty = ZipWriter::new(Cursor::new(Vec::new()));
    empty.add_directory("xl", SimpleFileOptions::default()).unwrap();
    fails(empty.finish().unwrap().into_inner(), options(), "the file is a ZIP archive");
    // This text only resembles JSON.
    fails("[1],affiliate_name\nx,Ann\n", options(), "\"[1]\" is not a field");
}
