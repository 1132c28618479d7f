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
#[derive(Clone, Debug, Serialize)]
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
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Position {
    /// The number of the row. The first row below a header is 1.
    pub(super) row: u64,
    /// The number of its first line.
    pub(super) line: u64,
}

#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    position: Position,
    #[serde(flatten)]
    error: &'a RowError,
}

/// The file of the errors: CSV if its name ends in `.csv`, otherwise NDJSON. It is removed at the end if there are none.
pub(super) struct Report {
    path: PathBuf,
    output: Output,
    errors: u64,
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
            let mut writer = csv::Writer::from_writer(file);
            writer.write_record(["row", "line", "field", "value", "reason"])?;
            Output::Csv(Box::new(writer))
        } else {
            Output::Ndjson(BufWriter::new(file))
        };
        Ok(Self { path, output, errors: 0 })
    }

    /// Writes the errors of one row.
    pub(super) fn write(&mut self, position: Position, errors: &[RowError]) -> anyhow::Result<()> {
        self.try_write(position, errors).with_context(|| format!("cannot write the report {}", self.path.display()))
    }

    fn try_write(&mut self, position: Position, errors: &[RowError]) -> anyhow::Result<()> {
        for error in errors {
            self.errors += 1;
            match &mut self.output {
                Output::Csv(writer) => {
                    let (row, line) = (position.row.to_string(), position.line.to_string());
                    writer.write_record([&row, &line, &error.field, &error.value, &error.reason])?;
                }
                Output::Ndjson(file) => {
                    serde_json::to_writer(&mut *file, &Line { position, error })?;
                    file.write_all(b"\n")?;
                }
            }
        }
        Ok(())
    }

    /// Completes the report. Returns its path if there are errors.
    pub(super) fn finish(self) -> anyhow::Result<Option<PathBuf>> {
        let Self { path, output, errors } = self;
        let written = match output {
            Output::Csv(mut writer) => writer.flush(),
            Output::Ndjson(mut file) => file.flush(),
        };
        written.with_context(|| format!("cannot write the report {}", path.display()))?;
        if errors == 0 {
            // An empty report is of no use.
            let _ = fs::remove_file(&path);
            return Ok(None);
        }
        Ok(Some(path))
    }
}
