//! The report: the rows that were not imported, and why.

use std::{
    fs::{self, File, Metadata, OpenOptions},
    io::{BufWriter, Write as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use serde::Serialize;

use super::row::{InvalidRow, Position, RowError};
use crate::csv_cell::cell;

/// One entry of the report.
#[derive(Serialize)]
struct Entry<'a> {
    row: u64,
    line: u64,
    field: &'a str,
    value: &'a str,
    reason: &'a str,
}

/// The file of the errors: CSV if its name ends in `.csv`, otherwise NDJSON. It is removed at the end if there are none.
pub(super) struct Report {
    path: PathBuf,
    /// What was opened.
    file: Metadata,
    output: Output,
    empty: bool,
}

enum Output {
    Csv(Box<csv::Writer<File>>),
    Ndjson(BufWriter<File>),
}

impl Output {
    fn write(&mut self, entry: &Entry<'_>) -> anyhow::Result<()> {
        match self {
            Self::Csv(writer) => {
                let (field, value, reason) = (cell(entry.field), cell(entry.value), cell(entry.reason));
                writer.serialize(Entry { field: &field, value: &value, reason: &reason, ..*entry })?;
            }
            Self::Ndjson(file) => {
                serde_json::to_writer(&mut *file, entry)?;
                file.write_all(b"\n")?;
            }
        }
        Ok(())
    }
}

/// The path of the report: `given`, or beside the imported file.
fn path_of(given: Option<&Path>, imported: &Path) -> PathBuf {
    given.map_or_else(|| imported.with_added_extension("report.ndjson"), Path::to_owned)
}

/// Whether both are the same file, under whatever name.
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Fails if the report is the imported file: by the same name, another one, a link, or an open descriptor of it.
fn check(path: &Path, report: &Metadata, imported: &Metadata) -> anyhow::Result<()> {
    if is_same(report, imported) {
        bail!("the report {} is the file to import (choose another file with --report)", path.display());
    }
    Ok(())
}

impl Report {
    /// Fails if the report would be the imported file. Nothing is opened.
    pub(super) fn check(given: Option<&Path>, imported: &Path) -> anyhow::Result<()> {
        let path = path_of(given, imported);
        match (fs::metadata(&path), fs::metadata(imported)) {
            (Ok(report), Ok(imported)) => check(&path, &report, &imported),
            _ => Ok(()),
        }
    }

    /// Creates the report: `given`, or beside the imported file. `source` is what was opened as the imported file.
    pub(super) fn create(given: Option<&Path>, imported: &Path, source: &Metadata) -> anyhow::Result<Self> {
        let path = path_of(given, imported);
        let cannot = || format!("cannot write the report {} (choose another file with --report)", path.display());
        // Its content goes once it is known not to be the imported file.
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(&path).with_context(cannot)?;
        let opened = file.metadata().with_context(cannot)?;
        check(&path, &opened, source)?;
        if opened.is_file() {
            file.set_len(0).with_context(cannot)?;
        }
        let output = if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("csv")) {
            Output::Csv(Box::new(csv::Writer::from_writer(file)))
        } else {
            Output::Ndjson(BufWriter::new(file))
        };
        Ok(Self { path, file: opened, output, empty: true })
    }

    /// Writes the errors of one row.
    pub(super) fn write(&mut self, row: &InvalidRow) -> anyhow::Result<()> {
        self.empty = false;
        let Position { row: number, line } = row.position;
        let mut errors = row.errors.iter();
        errors.try_for_each(|RowError { field, value, reason }| {
            let written = self.output.write(&Entry { row: number, line, field, value, reason });
            written.with_context(|| format!("cannot write the report {}", self.path.display()))
        })
    }

    /// Completes the report. Returns its path if there are errors.
    pub(super) fn finish(self) -> anyhow::Result<Option<PathBuf>> {
        let Self { path, file, output, empty } = self;
        let written = match output {
            Output::Csv(mut writer) => writer.flush(),
            Output::Ndjson(mut file) => file.flush(),
        };
        written.with_context(|| format!("cannot write the report {}", path.display()))?;
        if !empty {
            return Ok(Some(path));
        }
        // An empty report is of no use. A link, a device or a file that has taken its place is left alone.
        if fs::symlink_metadata(&path).is_ok_and(|now| now.is_file() && is_same(&now, &file)) {
            let _ = fs::remove_file(&path);
        }
        Ok(None)
    }
}
