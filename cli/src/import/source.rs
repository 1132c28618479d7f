//! Opens the file to import, and detects its format before the command sends anything.

use std::{
    fs::{File, OpenOptions},
    io::{self, BufRead, Read as _, Seek as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use anyhow::bail;
use clap::ValueEnum;
use nix::fcntl::OFlag;
use spreadsheets::{Encoding, FileError, is_table};

/// Maximum length of a JSON object, in bytes.
pub(super) const LONGEST_OBJECT: usize = 16 << 20;
/// Number of bytes to read to detect a file's format.
const HEAD: u64 = 64 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum InputFormat {
    /// Columns below a header row, separated by commas, semicolons, tabs or vertical bars.
    Csv,
    /// One JSON object per line.
    Ndjson,
    /// A JSON array, or an API list response with a `data` array.
    Json,
    /// A sheet of an Excel workbook (`.xlsx`).
    Xlsx,
}

impl InputFormat {
    /// Returns whether the format has columns below a header row.
    pub(super) fn is_table(self) -> bool {
        matches!(self, Self::Csv | Self::Xlsx)
    }
}

/// A file that can be read more than once.
#[derive(Debug)]
pub(crate) struct Source {
    file: File,
    encoding: Option<Encoding>,
    pub(super) size: u64,
}

impl Source {
    pub(super) fn open(path: &Path, encoding: Option<Encoding>) -> anyhow::Result<Self> {
        let shown = path.display();
        // Do not block on a pipe without a writer.
        let file = OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path);
        let file = file?;
        let meta = file.metadata()?;
        if !meta.is_file() {
            bail!("{shown} is not a regular file: the import reads it twice, so it cannot be a pipe");
        }
        Ok(Self { file, encoding, size: meta.len() })
    }

    /// Returns the file, rewound to its beginning. All copies share one position.
    pub(super) fn file(&self) -> io::Result<File> {
        let mut file = self.file.try_clone()?;
        file.rewind()?;
        Ok(file)
    }

    /// Returns the text of the file, without a byte order mark.
    pub(super) fn text(&self) -> io::Result<Box<dyn BufRead + Send>> {
        Ok(Box::new(spreadsheets::text(self.file()?, self.encoding)?))
    }

    /// Returns the number of bytes read from the file.
    pub(super) fn position(&self) -> u64 {
        (&self.file).stream_position().unwrap_or(0)
    }

    /// Returns the given format, or detects the format from content and name.
    pub(super) fn format(&self, path: &Path, given: Option<InputFormat>) -> anyhow::Result<InputFormat> {
        let mut head = Vec::new();
        self.file()?.take(HEAD).read_to_end(&mut head)?;
        match given {
            _ if head.starts_with(b"PK") => return Ok(InputFormat::Xlsx),
            Some(InputFormat::Xlsx) => bail!("{} is not an Excel workbook (.xlsx)", path.display()),
            Some(given) => return Ok(given),
            None => {}
        }
        let ending = path.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase);
        let mut head = Vec::new();
        // The reader of the format reports errors, with their lines.
        let _ = self.text()?.take(HEAD).read_to_end(&mut head);
        Ok(match (ending.as_deref(), head.trim_ascii_start()) {
            (Some("ndjson" | "jsonl"), _) => InputFormat::Ndjson,
            (Some("csv" | "tsv" | "txt"), text) if is_table(text) => InputFormat::Csv,
            (_, [b'[', ..]) => InputFormat::Json,
            (_, [b'{', object @ ..]) if object.trim_ascii_start().starts_with(b"\"code\"") => InputFormat::Json,
            (_, [b'{', ..]) => InputFormat::Ndjson,
            _ => InputFormat::Csv,
        })
    }
}

/// Returns the error for an object that exceeds [`LONGEST_OBJECT`].
pub(super) fn too_long() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("a record exceeds {} MiB", LONGEST_OBJECT >> 20))
}

/// Adds the flag that can resolve a file error.
pub(super) fn advised(error: FileError) -> anyhow::Error {
    let flag = match error.option().filter(|_| !matches!(error, FileError::Unused(..))) {
        Some("columns") => {
            " (--map \"HEADING=field\" names the field of a column, --map \"HEADING=\" ignores the column)"
        }
        Some("dates") => " (--dates dmy or --dates mdy)",
        Some("encoding") => " (--encoding NAME)",
        Some("sheet") => " (--sheet NAME)",
        _ => "",
    };
    anyhow::anyhow!("{error}{flag}")
}
