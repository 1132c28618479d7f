//! The report: the rows that were not imported, and why.

use std::{
    fs::{self, File},
    io::{BufWriter, Write as _},
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use serde::Serialize;

/// Longest value in a report, in characters.
const LONGEST_VALUE: usize = 200;

/// One error of a row.
#[derive(Clone, Debug)]
pub(super) struct RowError {
    /// The field; empty if it is an error of the whole row.
    pub(super) field: String,
    /// The value of the field.
    pub(super) value: String,
    /// Why it is an error.
    pub(super) reason: String,
}

impl RowError {
    pub(super) fn new(field: impl Into<String>, value: &str, reason: impl Into<String>) -> Self {
        Self { field: field.into(), value: value.chars().take(LONGEST_VALUE).collect(), reason: reason.into() }
    }

    /// An error of the whole row.
    pub(super) fn of_row(reason: impl Into<String>) -> Self {
        Self::new("", "", reason)
    }
}

/// The position of a row in its file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position {
    /// The number of the row. The first row below a header is 1.
    pub(super) row: u64,
    /// The number of its first line.
    pub(super) line: u64,
}

/// A row without a valid record.
pub(super) struct InvalidRow {
    pub(super) position: Position,
    pub(super) errors: Vec<RowError>,
}

impl InvalidRow {
    /// A row with an error of the whole row.
    pub(super) fn new(position: Position, reason: impl Into<String>) -> Self {
        Self { position, errors: vec![RowError::of_row(reason)] }
    }
}

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
    output: Output,
    empty: bool,
}

enum Output {
    Csv(Box<csv::Writer<File>>),
    Ndjson(BufWriter<File>),
}

impl Report {
    /// Creates the report: `given`, or beside the imported file.
    pub(super) fn create(given: Option<&Path>, imported: &Path) -> anyhow::Result<Self> {
        let path = given.map_or_else(
            || {
                let mut name = imported.as_os_str().to_owned();
                name.push(".report.ndjson");
                PathBuf::from(name)
            },
            Path::to_owned,
        );
        let file = File::create(&path).with_context(|| {
            format!("cannot write the report {} (choose another file with --report)", path.display())
        })?;
        let output = if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("csv")) {
            Output::Csv(Box::new(csv::Writer::from_writer(file)))
        } else {
            Output::Ndjson(BufWriter::new(file))
        };
        Ok(Self { path, output, empty: true })
    }

    /// Writes the errors of one row.
    pub(super) fn write(&mut self, row: &InvalidRow) -> anyhow::Result<()> {
        self.empty = false;
        let mut entries = row.errors.iter().map(|RowError { field, value, reason }| Entry {
            row: row.position.row,
            line: row.position.line,
            field,
            value,
            reason,
        });
        let written = entries.try_for_each(|entry| match &mut self.output {
            Output::Csv(writer) => writer.serialize(entry).map_err(anyhow::Error::from),
            Output::Ndjson(file) => Ok(serde_json::to_writer(&mut *file, &entry).map(|()| file.write_all(b"\n"))??),
        });
        written.with_context(|| format!("cannot write the report {}", self.path.display()))
    }

    /// Completes the report. Returns its path if there are errors.
    pub(super) fn finish(self) -> anyhow::Result<Option<PathBuf>> {
        let Self { path, output, empty } = self;
        let written = match output {
            Output::Csv(mut writer) => writer.flush(),
            Output::Ndjson(mut file) => file.flush(),
        };
        written.with_context(|| format!("cannot write the report {}", path.display()))?;
        if empty {
            // An empty report is of no use.
            let _ = fs::remove_file(&path);
            return Ok(None);
        }
        Ok(Some(path))
    }
}
