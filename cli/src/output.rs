//! Records in a file, as CSV or NDJSON. A file appears under its name when it is complete.

use std::{
    fs::{self, File, OpenOptions},
    io::{BufWriter, Write},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use clap::ValueEnum;
use compliance_api::{csv_cell::Escape, json::lines};
use serde::Serialize;
use tokio::{
    sync::mpsc::{Receiver, Sender, channel},
    task::{JoinHandle, spawn_blocking},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// Comma-separated columns below a header row. A list is one cell of JSON.
    Csv,
    /// One JSON object per line.
    Ndjson,
}

impl OutputFormat {
    /// Returns the format by the name of a file.
    pub(crate) fn of(path: &Path) -> Self {
        if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("csv")) { Self::Csv } else { Self::Ndjson }
    }
}

/// Prints the result of a command on standard output.
pub(crate) fn print(line: &str) -> anyhow::Result<()> {
    writeln!(std::io::stdout(), "{line}").context("the result cannot be printed")
}

/// Whether a path is a device or a pipe. These are written to directly; a file cannot replace them.
pub(crate) fn is_device(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir())
}

/// The unfinished file of an output, in the same folder. Dropping it removes the file.
pub(crate) struct Unfinished {
    path: PathBuf,
    target: PathBuf,
}

/// Opens a device or pipe, or creates a file next to `target`. Opening may block. If `target` exists, the new file has its
/// mode.
pub(crate) fn create(target: PathBuf, is_device: bool) -> anyhow::Result<(File, Option<Unfinished>)> {
    let failure = || format!("cannot write {}", target.display());
    if is_device {
        return Ok((OpenOptions::new().write(true).open(&target).with_context(failure)?, None));
    }
    let path = target.with_added_extension(format!("{:08x}.unfinished", rand::random::<u32>()));
    let mode = fs::symlink_metadata(&target).map_or(0o666, |there| there.mode() & 0o666);
    // `create_new` opens nothing that exists, and follows no link.
    let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&path).with_context(failure)?;
    Ok((file, Some(Unfinished { path, target })))
}

impl Unfinished {
    /// Renames the file to its target. A file or a link of this name is replaced.
    pub(crate) fn complete(self) -> anyhow::Result<()> {
        fs::rename(&self.path, &self.target).with_context(|| format!("cannot write {}", self.target.display()))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // A complete file has another name by now.
        let _ = fs::remove_file(&self.path);
    }
}

/// Writes records on a separate thread: a pipe may block for any time, and signals still end the command.
pub(crate) struct Output<R> {
    records: Sender<Vec<R>>,
    /// `None` after its result was returned.
    thread: Option<JoinHandle<anyhow::Result<()>>>,
    unfinished: Option<Unfinished>,
    is_empty: bool,
}

impl<R: Serialize + Send + 'static> Output<R> {
    /// Starts an output. CSV has these columns, which the first call of [`Output::write`] writes. `failure` is the context of errors.
    pub(crate) fn start(
        sink: impl Write + Send + 'static,
        unfinished: Option<Unfinished>,
        (format, escape): (OutputFormat, Escape),
        columns: Vec<&'static str>,
        failure: String,
    ) -> Self {
        let (records, receiver) = channel(1);
        let sink = BufWriter::with_capacity(256 << 10, sink);
        let thread = spawn_blocking(move || {
            let written = match format {
                OutputFormat::Csv => write_csv(sink, &columns, escape, receiver),
                OutputFormat::Ndjson => write_ndjson(sink, receiver),
            };
            written.context(failure)
        });
        Self { records, thread: Some(thread), unfinished, is_empty: true }
    }

    /// Sends records to the thread. Fails if it could not write earlier records.
    pub(crate) async fn write(&mut self, records: Vec<R>) -> anyhow::Result<()> {
        self.is_empty = false;
        match self.records.send(records).await {
            Ok(()) => Ok(()),
            Err(_) => self.result().await,
        }
    }

    /// Waits until everything is written, and renames the file to its target. Returns whether [`Output::write`] was called. Without a
    /// call, it creates no file.
    pub(crate) async fn finish(mut self) -> anyhow::Result<bool> {
        self.records = channel(1).0;
        self.result().await?;
        if !self.is_empty {
            self.unfinished.map_or(Ok(()), Unfinished::complete)?;
        }
        Ok(!self.is_empty)
    }

    async fn result(&mut self) -> anyhow::Result<()> {
        self.thread.take().context("the output has failed")?.await?
    }
}

/// A byte order mark. Without it, Excel reads UTF-8 in the encoding of its system.
pub(crate) const MARK: &[u8] = b"\xef\xbb\xbf";

fn write_csv<R: Serialize>(
    mut sink: impl Write,
    columns: &[&str],
    escape: Escape,
    mut records: Receiver<Vec<R>>,
) -> anyhow::Result<()> {
    let Some(mut next) = records.blocking_recv() else { return Ok(()) };
    if escape == Escape::Formulas {
        // Programs read without escapes, and would read the mark as a part of the first name.
        sink.write_all(MARK)?;
    }
    let mut writer = csv::Writer::from_writer(sink);
    writer.write_record(columns)?;
    loop {
        for record in next {
            let record = serde_json::to_value(record)?;
            for column in columns {
                // A case has its fields in an object of its own, next to its request ID and incidents.
                let value = record.get(column).or_else(|| record.get("case")?.get(column));
                writer.write_field(escape.of_json(value).as_bytes())?;
            }
            writer.write_record(None::<&[u8]>)?;
        }
        match records.blocking_recv() {
            Some(records) => next = records,
            None => return Ok(writer.flush()?),
        }
    }
}

fn write_ndjson<R: Serialize>(mut sink: impl Write, mut records: Receiver<Vec<R>>) -> anyhow::Result<()> {
    while let Some(records) = records.blocking_recv() {
        for record in records {
            lines::write(&mut sink, &record)?;
            sink.write_all(b"\n")?;
        }
    }
    Ok(sink.flush()?)
}
