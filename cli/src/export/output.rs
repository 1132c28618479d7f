//! The output: a file, which appears under its name when it is complete, or standard output.

use std::{
    fs::{self, OpenOptions},
    io::{BufWriter, Write, stdout},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use clap::ValueEnum;
use nix::unistd::geteuid;
use serde_json::{Map, Value};

use crate::{csv_cell::cell, new_file::Unfinished};

/// The format of exported records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// Columns, separated by commas, below a row of names. A list is one cell of JSON.
    Csv,
    /// One JSON object a line.
    Ndjson,
}

/// An output that records are written to.
pub(super) enum Output {
    Csv { writer: Box<csv::Writer<Sink>>, columns: Vec<&'static str> },
    Ndjson(Sink),
}

type Sink = BufWriter<Box<dyn Write + Send>>;

/// The path behind a link of this user or of root, so that the file is replaced rather than the link. Another user's link
/// may lead anywhere.
fn behind_own_link(path: &Path) -> anyhow::Result<PathBuf> {
    match fs::symlink_metadata(path) {
        Ok(link) if link.is_symlink() && ![geteuid().as_raw(), 0].contains(&link.uid()) => {
            bail!("cannot write {}: it is a link of another user", path.display())
        }
        _ => Ok(fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())),
    }
}

impl Output {
    /// Opens the output, which may block. Returns the unfinished file and its final name, too, unless the output is written
    /// directly.
    pub(super) fn create(
        path: Option<&Path>,
        format: OutputFormat,
    ) -> anyhow::Result<(Self, Option<(Unfinished, PathBuf)>)> {
        let (sink, unfinished): (Box<dyn Write + Send>, _) = match path {
            // A device or a pipe is written to; nothing could take its name.
            Some(path) if fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir()) => {
                let file = OpenOptions::new().write(true).open(path);
                (Box::new(file.with_context(|| format!("cannot write {}", path.display()))?), None)
            }
            Some(path) => {
                let path = behind_own_link(path)?;
                if path.is_dir() {
                    bail!("cannot write {}: it is a folder", path.display());
                }
                let (unfinished, file) = Unfinished::create(&path)?;
                (Box::new(file), Some((unfinished, path)))
            }
            None => (Box::new(stdout()), None),
        };
        let sink = BufWriter::with_capacity(256 << 10, sink);
        let output = match format {
            OutputFormat::Csv => Self::Csv { writer: Box::new(csv::Writer::from_writer(sink)), columns: Vec::new() },
            OutputFormat::Ndjson => Self::Ndjson(sink),
        };
        Ok((output, unfinished))
    }

    /// Sets the columns of CSV. JSON objects name their own fields.
    pub(super) fn columns(&mut self, names: Vec<&'static str>) -> anyhow::Result<()> {
        if let Self::Csv { writer, columns } = self {
            writer.write_record(&names).context("the records cannot be written")?;
            *columns = names;
        }
        Ok(())
    }

    /// Writes one record.
    pub(super) fn write(&mut self, record: &Map<String, Value>) -> anyhow::Result<()> {
        self.try_write(record).context("the records cannot be written")
    }

    fn try_write(&mut self, record: &Map<String, Value>) -> anyhow::Result<()> {
        match self {
            Self::Csv { writer, columns } => {
                for column in columns.iter() {
                    match record.get(*column) {
                        None | Some(Value::Null) => writer.write_field("")?,
                        Some(Value::String(text)) => writer.write_field(cell(text).as_bytes())?,
                        Some(other) => writer.write_field(other.to_string())?,
                    }
                }
                writer.write_record(None::<&[u8]>)?;
            }
            Self::Ndjson(writer) => {
                serde_json::to_writer(&mut *writer, record)?;
                writer.write_all(b"\n")?;
            }
        }
        Ok(())
    }

    /// Writes what is buffered.
    pub(super) fn flush(&mut self) -> anyhow::Result<()> {
        let flushed = match self {
            Self::Csv { writer, .. } => writer.flush(),
            Self::Ndjson(writer) => writer.flush(),
        };
        flushed.context("the records cannot be written")
    }
}
