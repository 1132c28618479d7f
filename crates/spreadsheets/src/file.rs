//! Opens CSV files and workbooks. Recognizes them by their bytes.

use std::io::{BufReader, Read as _, Seek as _, SeekFrom};

use crate::{
    csv_text::CsvText,
    dates::Epoch,
    error::FileError,
    options::Options,
    source::{Each, HEAD, Input, Source},
    workbook::Workbook,
};

/// A file of a supported kind.
pub(crate) enum File {
    Csv(CsvText),
    Workbook(Box<Workbook>),
}

impl File {
    /// Opens a file. `known` counts the known headings in a row.
    pub(crate) fn open(
        source: impl Source + 'static,
        options: &Options,
        known: &dyn Fn(&[String]) -> usize,
    ) -> Result<Self, FileError> {
        let mut source: Input = BufReader::new(Box::new(source));
        let mut head = Vec::new();
        source.by_ref().take(HEAD).read_to_end(&mut head)?;
        if head.starts_with(b"PK") {
            if options.encoding.is_some() {
                return Err(FileError::Unused("encoding", "workbooks"));
            }
            source.seek(SeekFrom::Start(0))?;
            return Ok(Self::Workbook(Box::new(Workbook::open(source, options)?)));
        }
        match foreign(&head) {
            Some(kind) => Err(FileError::Kind(kind)),
            None if options.sheet.is_some() => Err(FileError::Unused("sheet", "CSV")),
            None => CsvText::open(source, &head, options, known).map(Self::Csv),
        }
    }

    pub(crate) fn rows(&mut self, each: Each<'_>) -> Result<(), FileError> {
        match self {
            Self::Csv(text) => text.rows(each),
            Self::Workbook(workbook) => workbook.rows(each),
        }
    }

    /// Returns a workbook's date epoch.
    pub(crate) fn epoch(&self) -> Option<Epoch> {
        match self {
            Self::Csv(_) => None,
            Self::Workbook(workbook) => Some(workbook.book.epoch),
        }
    }
}

/// Returns whether a file that begins with these bytes can be a table. Otherwise, it is JSON.
pub fn is_table(head: &[u8]) -> bool {
    let text = head.strip_prefix("\u{feff}".as_bytes()).unwrap_or(head).trim_ascii_start();
    let inner = text.get(1..).unwrap_or_default().trim_ascii_start();
    match text {
        [b'{', ..] => !inner.starts_with(b"\""),
        [b'[', ..] => !inner.starts_with(b"{") && !inner.starts_with(b"]"),
        _ => true,
    }
}

/// Returns a file's kind if that kind is not supported.
fn foreign(head: &[u8]) -> Option<&'static str> {
    let has = |name: &str| {
        let name: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
        head.windows(name.len()).any(|bytes| bytes == name)
    };
    Some(match head {
        [0xd0, 0xcf, 0x11, 0xe0, ..] if has("EncryptedPackage") => "a password-protected workbook",
        [0xd0, 0xcf, 0x11, 0xe0, ..] => "an Excel 97 workbook (.xls) or a password-protected workbook",
        [b'%', b'P', b'D', b'F', ..] => "a PDF",
        [0xff, 0xfe, 0, 0, ..]
        | [0, 0, 0xfe, 0xff, ..]
        | [1..=0xff, 0, 0, 0, 1..=0xff, 0, 0, 0, ..]
        | [0, 0, 0, 1..=0xff, 0, 0, 0, 1..=0xff, ..] => "text in UTF-32",
        [0x1f, 0x8b, ..] => "compressed with gzip",
        [b'B', b'Z', b'h', b'1'..=b'9', 0x31, ..] => "compressed with bzip2",
        [0xfd, b'7', b'z', b'X', b'Z', ..] => "compressed with xz",
        [0x28, 0xb5, 0x2f, 0xfd, ..] => "compressed with Zstandard",
        [b'7', b'z', 0xbc, 0xaf, ..] => "a 7z archive",
        [b'R', b'a', b'r', b'!', 0x1a, ..] => "a RAR archive",
        [0x89, b'P', b'N', b'G', ..] | [0xff, 0xd8, 0xff, ..] => "an image",
        [b'{', b'\\', b'r', b't', b'f', ..] => "rich text (RTF)",
        _ if head.strip_prefix("\u{feff}".as_bytes()).unwrap_or(head).trim_ascii_start().starts_with(b"<") => {
            "HTML or XML"
        }
        _ if !is_table(head) => "JSON",
        _ => return None,
    })
}
