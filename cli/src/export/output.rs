//! The output: a file, which appears under its name when it is complete, or standard output.

use std::{
    fs::{self, File},
    io::{BufWriter, Write, stdout},
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use clap::ValueEnum;
use serde_json::{Map, Value};

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

impl Output {
    pub(super) fn create(path: Option<&Path>, format: OutputFormat) -> anyhow::Result<Self> {
        let (sink, names): (Box<dyn Write + Send>, _) = match path {
            Some(path) => {
                let unfinished = path.with_added_extension("unfinished");
                let file = File::create(&unfinished);
                let file = file.with_context(|| format!("cannot write {}", unfinished.display()))?;
                (Box::new(BufWriter::with_capacity(256 << 10, file)), Some((unfinished, path.to_owned())))
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
                        Some(Value::String(text)) => writer.write_field(text)?,
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
