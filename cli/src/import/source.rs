//! The file. Its encoding and format are determined before anything is sent.

use std::{
    fs::{File, OpenOptions},
    io::{self, BufRead, BufReader, Read, Seek as _, SeekFrom},
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

/// The encoding of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Encoding {
    /// UTF-8, or UTF-16 with a byte order mark.
    #[value(name = "utf-8")]
    Utf8,
    /// Windows-1252, as spreadsheets on western systems save it.
    #[value(name = "windows-1252")]
    Windows1252,
}

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum InputFormat {
    /// Columns, separated by commas, semicolons, tabs or bars, below a row of names.
    Csv,
    /// One JSON object a line.
    Ndjson,
}

/// A file that can be read as UTF-8.
#[derive(Debug)]
pub(crate) struct Source {
    file: File,
    encoding: Encoding,
    pub(super) size: u64,
    pub(super) meter: Meter,
}

/// Counts the bytes that have been read.
#[derive(Clone, Debug, Default)]
pub(super) struct Meter {
    total: Arc<AtomicU64>,
    row: Arc<AtomicU64>,
}

impl Meter {
    /// Bytes read so far.
    pub(super) fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    /// Marks the end of a row.
    pub(super) fn row_ends(&self) {
        self.row.store(0, Ordering::Relaxed);
    }
}

impl Source {
    /// Opens a file and checks its encoding, so that a file of another encoding is not garbled.
    pub(super) fn open(path: &Path, encoding: Option<Encoding>) -> anyhow::Result<Self> {
        let shown = path.display();
        // A pipe without a writer must not block.
        let file = OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path);
        let mut file = file.with_context(|| format!("cannot open {shown}"))?;
        let meta = file.metadata().with_context(|| format!("cannot inspect {shown}"))?;
        if !meta.is_file() {
            bail!("{shown} is not a regular file; it is read twice, so it cannot be a pipe");
        }
        if encoding != Some(Encoding::Windows1252) {
            if let Some(line) = first_bad_line(&file).with_context(|| format!("cannot read {shown}"))? {
                bail!(
                    "{shown} is not UTF-8 (see line {line}): if a spreadsheet saved it on a western \
                     Windows, import it with --encoding windows-1252; otherwise save it as UTF-8"
                );
            }
            file.seek(SeekFrom::Start(0)).with_context(|| format!("cannot read {shown}"))?;
        }
        let encoding = encoding.unwrap_or(Encoding::Utf8);
        Ok(Self { file, encoding, size: meta.len(), meter: Meter::default() })
    }

    /// The text, without a byte order mark.
    pub(super) fn text(&self) -> io::Result<Box<dyn BufRead + Send>> {
        let mut file = self.file.try_clone()?;
        file.seek(SeekFrom::Start(0))?;
        let mut builder = DecodeReaderBytesBuilder::new();
        // Without an encoding, only a byte order mark is considered, which marks UTF-16 or UTF-8.
        builder.encoding((self.encoding == Encoding::Windows1252).then_some(encoding_rs::WINDOWS_1252));
        builder.strip_bom(true).bom_override(true);
        let metered = Metered { inner: file, meter: self.meter.clone() };
        Ok(Box::new(BufReader::with_capacity(64 << 10, builder.build(metered))))
    }

    /// The beginning of the text.
    pub(super) fn head(&self) -> io::Result<Vec<u8>> {
        let mut head = Vec::new();
        self.text()?.take(64 << 10).read_to_end(&mut head)?;
        // The text is read again from its beginning.
        self.meter.total.store(0, Ordering::Relaxed);
        self.meter.row_ends();
        Ok(head)
    }

    /// The format by the name of the file, or else by its first character.
    pub(super) fn format(&self, path: &Path) -> anyhow::Result<InputFormat> {
        match path.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase).as_deref() {
            Some("csv" | "tsv" | "txt") => return Ok(InputFormat::Csv),
            Some("ndjson" | "jsonl") => return Ok(InputFormat::Ndjson),
            _ => {}
        }
        let head = self.head()?;
        let first = head.iter().find(|byte| !byte.is_ascii_whitespace());
        match first {
            Some(b'[') => bail!("the file holds a JSON array; write one object a line (jq -c '.[]')"),
            Some(b'{') => Ok(InputFormat::Ndjson),
            _ => Ok(InputFormat::Csv),
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
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let length = text.by_ref().take(LONGEST_ROW).read_until(b'\n', &mut line)? as u64;
        // A line that is too long is refused when it is read as a row.
        if length == 0 || length == LONGEST_ROW {
            break;
        }
        if std::str::from_utf8(&line).is_err() {
            return Ok(Some(number));
        }
    }
    Ok(None)
}

/// Counts the bytes that are read, and fails at a row that is too long.
struct Metered {
    inner: File,
    meter: Meter,
}

impl Read for Metered {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.meter.total.fetch_add(read as u64, Ordering::Relaxed);
        if self.meter.row.fetch_add(read as u64, Ordering::Relaxed) > LONGEST_ROW {
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
