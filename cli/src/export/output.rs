//! The output: a file, which appears under its name when it is complete, or standard output.

use std::{
    fs::{self, File, OpenOptions},
    io::{BufWriter, Write, stdout},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use clap::ValueEnum;
use serde_json::{Map, Value};

use crate::csv_cell::cell;

/// The format of exported records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// Columns, separated by commas, below a row of names. A list is one cell of JSON.
    Csv,
    /// One JSON object a line.
    Ndjson,
}

/// An output that records are written to.
pub(super) struct Output {
    writer: Writer,
    /// The name of the file until it is complete, and its final name.
    names: Option<(PathBuf, PathBuf)>,
}

enum Writer {
    Csv { writer: Box<csv::Writer<Box<dyn Write + Send>>>, columns: Vec<&'static str> },
    Ndjson(Box<dyn Write + Send>),
}

/// Creates the file under its name until it is complete, or takes the one that an interrupted export left. Fails if another
/// export is writing it, and for anything else under the name, such as a link to another file.
fn create_unfinished(path: &Path) -> anyhow::Result<File> {
    let cannot = || format!("cannot write {}", path.display());
    if let Ok(there) = fs::symlink_metadata(path)
        && (!there.is_file() || there.nlink() > 1)
    {
        bail!("cannot write {}: it exists, and no export left it", path.display());
    }
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(path).with_context(cannot)?;
    if file.try_lock().is_err() {
        bail!("cannot write {}: another export is writing it", path.display());
    }
    // Another export may have completed it meanwhile: it has another name now, and must stay.
    let (opened, there) = (file.metadata().with_context(cannot)?, fs::symlink_metadata(path).with_context(cannot)?);
    if (opened.dev(), opened.ino()) != (there.dev(), there.ino()) {
        bail!("cannot write {}: another export was writing it", path.display());
    }
    file.set_len(0).with_context(cannot)?;
    Ok(file)
}

impl Output {
    pub(super) fn create(path: Option<&Path>, format: OutputFormat) -> anyhow::Result<Self> {
        let (sink, names): (Box<dyn Write + Send>, _) = match path {
            // A device or a pipe is written to; nothing could take its name.
            Some(path) if fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir()) => {
                let file = OpenOptions::new().write(true).open(path);
                let file = file.with_context(|| format!("cannot write {}", path.display()))?;
                (Box::new(BufWriter::with_capacity(64 << 10, file)), None)
            }
            Some(path) => {
                // Behind a link, the file is replaced rather than the link.
                let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
                let unfinished = path.with_added_extension("unfinished");
                let file = create_unfinished(&unfinished)?;
                (Box::new(BufWriter::with_capacity(256 << 10, file)), Some((unfinished, path)))
            }
            None => (Box::new(BufWriter::with_capacity(64 << 10, stdout())), None),
        };
        let writer = match format {
            OutputFormat::Csv => Writer::Csv { writer: Box::new(csv::Writer::from_writer(sink)), columns: Vec::new() },
            OutputFormat::Ndjson => Writer::Ndjson(sink),
        };
        Ok(Self { writer, names })
    }

    /// Sets the columns of CSV. JSON objects name their own fields.
    pub(super) fn columns(&mut self, names: Vec<&'static str>) -> anyhow::Result<()> {
        if let Writer::Csv { writer, columns } = &mut self.writer {
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
        match &mut self.writer {
            Writer::Csv { writer, columns } => {
                for column in columns.iter() {
                    match record.get(*column) {
                        None | Some(Value::Null) => writer.write_field("")?,
                        Some(Value::String(text)) => writer.write_field(cell(text).as_bytes())?,
                        Some(other) => writer.write_field(other.to_string())?,
                    }
                }
                writer.write_record(None::<&[u8]>)?;
            }
            Writer::Ndjson(writer) => {
                serde_json::to_writer(&mut *writer, record)?;
                writer.write_all(b"\n")?;
            }
        }
        Ok(())
    }

    /// Completes the output, and gives the file its final name.
    pub(super) fn finish(self) -> anyhow::Result<()> {
        let flushed = match self.writer {
            Writer::Csv { mut writer, .. } => writer.flush(),
            Writer::Ndjson(mut writer) => writer.flush(),
        };
        flushed.context("the records cannot be written")?;
        if let Some((unfinished, path)) = self.names {
            fs::rename(&unfinished, &path).with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }
}
