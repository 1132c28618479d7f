//! The file. Its encoding and format are determined before anything is sent.

use std::{
    fs::{File, OpenOptions},
    io::{self, BufRead, BufReader, Read, Seek as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
    sync::Arc,
};

use anyhow::{Context as _, bail};
use clap::ValueEnum;
use encoding_rs_io::DecodeReaderBytesBuilder;
use nix::fcntl::OFlag;

use super::{
    encoding::{Encoding, not_utf8, utf16},
    workbook::{self, Workbook},
};

/// Maximum length of a row, in bytes. A quote that is never closed makes the rest of the file one row.
pub(super) const LONGEST_ROW: usize = 16 << 20;
/// Bytes at the beginning of a file that determine how it is read.
const HEAD: u64 = 64 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum InputFormat {
    /// Columns below a header row, separated by commas, semicolons, tabs or vertical bars.
    Csv,
    /// One JSON object per line.
    Ndjson,
    /// A JSON array, or a list response of the interface: an envelope with an array as `data`.
    Json,
    /// The first visible sheet of an Excel workbook (`.xlsx`), of at most 20 MiB.
    Xlsx,
}

impl InputFormat {
    /// Whether the format has columns below a header row.
    pub(super) fn is_table(self) -> bool {
        matches!(self, Self::Csv | Self::Xlsx)
    }
}

/// A file that can be read as UTF-8, or a workbook in memory.
#[derive(Debug)]
pub(crate) struct Source {
    file: File,
    encoding: Option<&'static encoding_rs::Encoding>,
    /// Whether a carriage return alone ends a line, as on an old Mac.
    ends_in_cr: bool,
    /// Whether the last line of CSV has an end. Otherwise, the file may have been cut off.
    pub(super) ends_in_line_end: bool,
    pub(super) workbook: Option<Arc<Workbook>>,
    pub(super) size: u64,
}

impl Source {
    /// Opens a file, and checks its encoding.
    pub(super) fn open(path: &Path, encoding: Option<Encoding>) -> anyhow::Result<Self> {
        let shown = path.display();
        // A pipe without a writer must not block.
        let file = OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path);
        let mut file = file.with_context(|| format!("cannot open {shown}"))?;
        let meta = file.metadata().with_context(|| format!("cannot inspect {shown}"))?;
        if !meta.is_file() {
            bail!("{shown} is not a regular file; it is read twice, so it cannot be a pipe");
        }
        let mut head = Vec::new();
        (&file).take(HEAD).read_to_end(&mut head).with_context(|| format!("cannot read {shown}"))?;
        file.rewind().with_context(|| format!("cannot read {shown}"))?;
        let mut source =
            Self { file, encoding: None, ends_in_cr: false, ends_in_line_end: true, workbook: None, size: meta.len() };
        if head.starts_with(b"PK\x03\x04") {
            let workbook = workbook::read(&source.file, source.size);
            source.workbook = Some(Arc::new(workbook.with_context(|| format!("cannot read {shown}"))?));
            return Ok(source);
        }
        if let Some(what) = foreign(&head) {
            bail!("{shown} is {what}: save it as .xlsx or as CSV in UTF-8");
        }
        source.encoding = match encoding.unwrap_or(Encoding::Utf8) {
            Encoding::Utf8 => utf16(&head),
            Encoding::Windows1252 => Some(encoding_rs::WINDOWS_1252),
            Encoding::Macintosh => Some(encoding_rs::MACINTOSH),
        };
        source.ends_in_cr = has_only_cr(&source.head().with_context(|| format!("cannot read {shown}"))?);
        if source.encoding.is_none()
            && let Some(reason) = source.text().and_then(not_utf8).with_context(|| format!("cannot read {shown}"))?
        {
            bail!("{shown} is not UTF-8: {reason}");
        }
        Ok(source)
    }

    /// Returns the text from its beginning, without a byte order mark.
    pub(super) fn text(&self) -> io::Result<Box<dyn BufRead + Send>> {
        let mut file = self.file.try_clone()?;
        file.rewind()?;
        let mut builder = DecodeReaderBytesBuilder::new();
        // Without an encoding, only a byte order mark changes UTF-8 to UTF-16.
        builder.encoding(self.encoding).strip_bom(true).bom_override(true);
        // Otherwise a mark of UTF-8 would hide bytes that are not UTF-8.
        builder.utf8_passthru(self.encoding.is_none());
        let text = builder.build(file);
        let is_old_mac = self.ends_in_cr;
        Ok(Box::new(BufReader::with_capacity(64 << 10, LineFeeds { inner: text, is_old_mac })))
    }

    /// Returns how many bytes of the file were read.
    pub(super) fn position(&self) -> u64 {
        // Readers have copies of the descriptor, with the same position.
        (&self.file).stream_position().unwrap_or(0)
    }

    pub(super) fn head(&self) -> io::Result<Vec<u8>> {
        let mut head = Vec::new();
        self.text()?.take(HEAD).read_to_end(&mut head)?;
        Ok(head)
    }

    /// Returns the given format, or the format by content and name.
    pub(super) fn format(&self, path: &Path, given: Option<InputFormat>) -> anyhow::Result<InputFormat> {
        match given {
            _ if self.workbook.is_some() => return Ok(InputFormat::Xlsx),
            Some(InputFormat::Xlsx) => bail!("{} is not an Excel workbook (.xlsx)", path.display()),
            Some(given) => return Ok(given),
            None => {}
        }
        let ending = path.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase);
        let head = self.head()?;
        Ok(match (ending.as_deref(), head.trim_ascii_start()) {
            (Some("ndjson" | "jsonl"), _) => InputFormat::Ndjson,
            (Some("csv" | "tsv" | "txt"), text) if !is_json(text) => InputFormat::Csv,
            (_, [b'[', ..]) => InputFormat::Json,
            (_, [b'{', object @ ..]) if object.trim_ascii_start().starts_with(b"\"code\"") => InputFormat::Json,
            (_, [b'{', ..]) => InputFormat::Ndjson,
            _ => InputFormat::Csv,
        })
    }
}

/// Names a format that is neither text nor a current workbook.
fn foreign(head: &[u8]) -> Option<&'static str> {
    match head {
        [0xd0, 0xcf, 0x11, 0xe0, ..] => Some("an Excel 97 workbook (.xls), or a workbook with a password"),
        [b'%', b'P', b'D', b'F', ..] => Some("a PDF"),
        _ if head.trim_ascii_start().starts_with(b"<") => Some("HTML or XML"),
        _ => None,
    }
}

/// Whether a text begins with a JSON object or a list of objects.
fn is_json(text: &[u8]) -> bool {
    let inner = text.get(1..).unwrap_or_default().trim_ascii_start();
    match text {
        [b'{', ..] => inner.starts_with(b"\""),
        [b'[', ..] => inner.starts_with(b"{") || inner.starts_with(b"]"),
        _ => false,
    }
}

/// Whether the lines of a text end in a carriage return alone.
fn has_only_cr(head: &[u8]) -> bool {
    // Parts with even positions are outside quotes.
    let has = |end: u8| head.split(|byte| *byte == b'"').step_by(2).any(|part| part.contains(&end));
    has(b'\r') && !has(b'\n')
}

/// Replaces carriage returns with line feeds if lines have no other ends.
struct LineFeeds<R> {
    inner: R,
    is_old_mac: bool,
}

impl<R: Read> Read for LineFeeds<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        if self.is_old_mac {
            for byte in buffer[..read].iter_mut().filter(|byte| **byte == b'\r') {
                *byte = b'\n';
            }
        }
        Ok(read)
    }
}

/// Returns the error of a row that is longer than [`LONGEST_ROW`].
pub(super) fn too_long() -> io::Error {
    let text = format!("a row is longer than {} MiB (in CSV: is a quote opened and never closed?)", LONGEST_ROW >> 20);
    io::Error::new(io::ErrorKind::InvalidData, text)
}
