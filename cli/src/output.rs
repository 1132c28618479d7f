//! Writes records to a file as CSV or NDJSON. The file appears under its name when it is complete.

use std::{
    fs::{self, Permissions},
    io::{self, Write as _, stdout},
    os::{
        fd::AsFd as _,
        unix::fs::{MetadataExt as _, PermissionsExt as _},
    },
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use clap::ValueEnum;
use compliance_api::{csv_cell::Escape, json::lines};
use serde::Serialize;
use tempfile::TempPath;
use tokio::{
    fs::{File, OpenOptions},
    io::AsyncWriteExt as _,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// Comma-separated columns below a header row. Each list is one cell of JSON.
    Csv,
    /// One JSON object per line.
    Ndjson,
}

impl OutputFormat {
    /// Returns the format for a file name.
    pub(crate) fn of(path: &Path) -> Self {
        if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("csv")) { Self::Csv } else { Self::Ndjson }
    }
}

/// Prints the result of a command on standard output.
pub(crate) fn print(line: &str) -> anyhow::Result<()> {
    writeln!(stdout(), "{line}").context("cannot print the result")
}

/// Returns a number with its noun.
pub(crate) fn counted(number: impl TryInto<u64>, one: &str, several: &str) -> String {
    match number.try_into().unwrap_or_default() {
        1 => format!("1 {one}"),
        number => format!("{number} {several}"),
    }
}

/// Returns whether a path is a device or a pipe. The command writes directly to devices and pipes, and never replaces them with a file.
pub(crate) fn is_device(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir())
}

/// Format of written records.
pub(crate) struct Form {
    pub(crate) format: OutputFormat,
    pub(crate) escape: Escape,
    /// CSV columns.
    pub(crate) columns: Vec<&'static str>,
}

/// Writes records. A pipe can block indefinitely, so writes run on other threads and signals can still stop the command.
pub(crate) struct Output {
    file: File,
    form: Form,
    /// The unfinished file in the target's folder, and the target. Dropping the path removes the file.
    unfinished: Option<(TempPath, PathBuf)>,
    is_empty: bool,
    /// Context for write errors.
    failure: String,
}

impl Output {
    /// Opens a device or pipe, or creates a file next to `target`. The new file gets the mode of an existing `target`.
    pub(crate) async fn create(target: PathBuf, is_device: bool, form: Form, failure: String) -> anyhow::Result<Self> {
        let refused = || format!("cannot write {}", target.display());
        if is_device {
            let file = OpenOptions::new().write(true).open(&target).await.with_context(refused)?;
            return Ok(Self { file, form, unfinished: None, is_empty: true, failure });
        }
        let mode = fs::symlink_metadata(&target).map_or(0o666, |there| there.mode() & 0o666);
        let (folder, name) = (target.parent().unwrap_or(Path::new("")), target.file_name().unwrap_or_default());
        let mut builder = tempfile::Builder::new();
        builder.prefix(name).suffix(".unfinished").permissions(Permissions::from_mode(mode));
        // The builder never opens an existing file and never follows a link.
        let (file, path) = builder.tempfile_in(folder).with_context(refused)?.into_parts();
        Ok(Self { file: file.into(), form, unfinished: Some((path, target)), is_empty: true, failure })
    }

    /// Creates an output that writes to standard output.
    pub(crate) fn to_stdout(form: Form, failure: String) -> io::Result<Self> {
        let file = fs::File::from(stdout().as_fd().try_clone_to_owned()?);
        Ok(Self { file: file.into(), form, unfinished: None, is_empty: true, failure })
    }

    /// Writes records. The first call also writes the CSV header.
    pub(crate) async fn write(&mut self, records: &[impl Serialize]) -> anyhow::Result<()> {
        let bytes = match self.form.format {
            OutputFormat::Csv => self.form.csv(records, self.is_empty),
            OutputFormat::Ndjson => ndjson(records).map_err(Into::into),
        };
        let bytes = bytes.with_context(|| self.failure.clone())?;
        self.is_empty = false;
        self.file.write_all(&bytes).await.with_context(|| self.failure.clone())
    }

    /// Waits for pending writes and renames the file to its target. Returns whether [`Output::write`] was called. If not, no file remains.
    pub(crate) async fn finish(mut self) -> anyhow::Result<bool> {
        self.file.flush().await.with_context(|| self.failure.clone())?;
        if !self.is_empty
            && let Some((path, target)) = self.unfinished
        {
            let renamed = path.persist(&target).map_err(|failed| failed.error);
            renamed.with_context(|| format!("cannot write {}", target.display()))?;
        }
        Ok(!self.is_empty)
    }
}

/// Byte order mark. Without the mark, Excel assumes the system's encoding.
pub(crate) const MARK: &[u8] = b"\xef\xbb\xbf";

impl Form {
    fn csv(&self, records: &[impl Serialize], is_start: bool) -> anyhow::Result<Vec<u8>> {
        // Programs read unescaped CSV, and would treat the mark as part of the first column name.
        let mark = if is_start && self.escape == Escape::Formulas { MARK } else { b"" };
        let mut writer = csv::Writer::from_writer(mark.to_vec());
        if is_start {
            writer.write_record(&self.columns)?;
        }
        for record in records {
            let record = serde_json::to_value(record)?;
            for column in &self.columns {
                // A case's fields are in a nested object, next to its request ID and incidents.
                let value = record.get(column).or_else(|| record.get("case")?.get(column));
                writer.write_field(self.escape.of_json(value).as_bytes())?;
            }
            writer.write_record(None::<&[u8]>)?;
        }
        Ok(writer.into_inner()?)
    }
}

fn ndjson(records: &[impl Serialize]) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    for record in records {
        lines::write(&mut text, record)?;
        text.push(b'\n');
    }
    Ok(text)
}
