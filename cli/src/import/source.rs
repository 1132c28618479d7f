//! The file. Its encoding and format are determined before anything is sent.

use std::{
    fs::{File, OpenOptions},
    io::{self, BufRead, BufReader, Read, Seek as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use anyhow::{Context as _, bail};
use clap::ValueEnum;
use encoding_rs_io::DecodeReaderBytesBuilder;
use nix::fcntl::OFlag;

/// Longest row in bytes. A quote that is never closed makes the rest of the file one row.
const LONGEST_ROW: u64 = 16 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Encoding {
    /// UTF-8, or UTF-16 with a byte order mark.
    #[value(name = "utf-8")]
    Utf8,
    /// Windows-1252, as spreadsheets on western systems save it.
    #[value(name = "windows-1252")]
    Windows1252,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum InputFormat {
    /// Columns, separated by commas, semicolons, tabs or bars, below a row of names.
    Csv,
    /// One JSON object a line.
    Ndjson,
    /// A JSON array, or an envelope with one as `data`, as the interface returns lists.
    Json,
}

/// A file that can be read as UTF-8.
#[derive(Debug)]
pub(crate) struct Source {
    file: File,
    encoding: Encoding,
    pub(super) size: u64,
    /// Bytes that were read of a row. Readers of the text set it to 0 after each row.
    pub(super) row: Arc<AtomicU64>,
}

impl Source {
    /// Opens a file and checks its encoding, so that a file of another encoding is not garbled.
    pub(super) fn open(path: &Path, encoding: Option<Encoding>) -> anyhow::Result<Self> {
        let shown = path.display();
        // A pipe without a writer must not block.
        let file = OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path);
        let file = file.with_context(|| format!("cannot open {shown}"))?;
        let meta = file.metadata().with_context(|| format!("cannot inspect {shown}"))?;
        if !meta.is_file() {
            bail!("{shown} is not a regular file; it is read twice, so it cannot be a pipe");
        }
        let encoding = encoding.unwrap_or(Encoding::Utf8);
        if encoding == Encoding::Utf8
            && let Some(line) = first_bad_line(&file).with_context(|| format!("cannot read {shown}"))?
        {
            bail!(
                "{shown} is not UTF-8 (see line {line}): if a spreadsheet saved it on a western \
                 Windows, import it with --encoding windows-1252; otherwise save it as UTF-8"
            );
        }
        Ok(Self { file, encoding, size: meta.len(), row: Arc::default() })
    }

    /// The text from its beginning, without a byte order mark.
    pub(super) fn text(&self) -> io::Result<Box<dyn BufRead + Send>> {
        let mut file = self.file.try_clone()?;
        file.rewind()?;
        self.row.store(0, Ordering::Relaxed);
        let mut builder = DecodeReaderBytesBuilder::new();
        // Without an encoding, only a byte order mark is considered, which marks UTF-16 or UTF-8.
        builder.encoding((self.encoding == Encoding::Windows1252).then_some(encoding_rs::WINDOWS_1252));
        builder.strip_bom(true).bom_override(true);
        let limited = Limited { inner: file, row: Arc::clone(&self.row) };
        Ok(Box::new(BufReader::with_capacity(64 << 10, builder.build(limited))))
    }

    /// Bytes of the file that were read so far.
    pub(super) fn position(&self) -> u64 {
        // Readers have a copy of the descriptor, which has the same position.
        (&self.file).stream_position().unwrap_or(0)
    }

    pub(super) fn head(&self) -> io::Result<Vec<u8>> {
        let mut head = Vec::new();
        self.text()?.take(64 << 10).read_to_end(&mut head)?;
        Ok(head)
    }

    /// The format by the name of the file, or else by its first character.
    pub(super) fn format(&self, path: &Path) -> anyhow::Result<InputFormat> {
        match path.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase).as_deref() {
            Some("csv" | "tsv" | "txt") => Ok(InputFormat::Csv),
            Some("ndjson" | "jsonl") => Ok(InputFormat::Ndjson),
            _ => {
                let head = self.head()?;
                Ok(match head.trim_ascii_start() {
                    [b'[', ..] => InputFormat::Json,
                    [b'{', object @ ..] if object.trim_ascii_start().starts_with(b"\"code\"") => InputFormat::Json,
                    [b'{', ..] => InputFormat::Ndjson,
                    _ => InputFormat::Csv,
                })
            }
        }
    }
}

/// The number of the first line that is not UTF-8; `None` if all are, or if a byte order mark marks UTF-16.
fn first_bad_line(file: &File) -> io::Result<Option<u64>> {
    let mut text = BufReader::with_capacity(64 << 10, file);
    let start = text.fill_buf()?;
    if start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff") {
        return Ok(None);
    }
    let (mut line, mut number) = (Vec::new(), 0);
    loop {
        line.clear();
        number += 1;
        let length = text.by_ref().take(LONGEST_ROW).read_until(b'\n', &mut line)? as u64;
        // A line that is too long is refused when it is read as a row.
        if length == 0 || length == LONGEST_ROW {
            return Ok(None);
        }
        if std::str::from_utf8(&line).is_err() {
            return Ok(Some(number));
        }
    }
}

/// Fails at a row that is too long.
struct Limited {
    inner: File,
    row: Arc<AtomicU64>,
}

impl Read for Limited {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        if self.row.fetch_add(read as u64, Ordering::Relaxed) > LONGEST_ROW {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("a row is longer than {} MiB (in CSV: is a quote opened and never closed?)", LONGEST_ROW >> 20),
            ));
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::{fs::File, io::Write as _};

    use super::first_bad_line;

    fn bad_line(bytes: &[u8]) -> Option<u64> {
        let path = std::env::temp_dir().join(format!("compliance-source-{:016x}", rand::random::<u64>()));
        File::create(&path).unwrap().write_all(bytes).unwrap();
        let line = first_bad_line(&File::open(&path).unwrap()).unwrap();
        std::fs::remove_file(path).unwrap();
        line
    }

    #[test]
    fn invalid_utf8_is_found_anywhere() {
        assert_eq!(bad_line("name\nJürgen\n".as_bytes()), None);
        assert_eq!(bad_line(b"name\nJ\xfcrgen\n"), Some(2));
        assert_eq!(bad_line(b"name\ncut \xc3"), Some(2));
        assert_eq!(bad_line(b"\xff\xfen\0"), None);
        // A character across the border of two pieces.
        let mut long = vec![b'x'; (64 << 10) - 1];
        long.extend("ü\n".repeat(50_000).into_bytes());
        assert_eq!(bad_line(&long), None);
        long.push(0xfc);
        assert_eq!(bad_line(&long), Some(50_001));
    }
}
