//! The report: the rows that were not imported, and why.

use std::{
    fs::{self, File},
    io::{BufWriter, Write as _},
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use serde::Serialize;

use super::row::{InvalidRow, Position, RowError};

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

impl Output {
    fn write(&mut self, entry: &Entry<'_>) -> anyhow::Result<()> {
        match self {
            Self::Csv(writer) => writer.serialize(entry)?,
            Self::Ndjson(file) => {
                serde_json::to_writer(&mut *file, entry)?;
                file.write_all(b"\n")?;
            }
        }
        Ok(())
    }
}

impl Report {
    /// Creates the report: `given`, or beside the imported file.
    pub(super) fn create(given: Option<&Path>, imported: &Path) -> anyhow::Result<Self> {
        let path = given.map_or_else(|| imported.with_added_extension("report.ndjson"), Path::to_owned);
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
        let Position { row: number, line } = row.position;
        let mut errors = row.errors.iter();
        errors.try_for_each(|RowError { field, value, reason }| {
            let written = self.output.write(&Entry { row: number, line, field, value, reason });
            written.with_context(|| format!("cannot write the report {}", self.path.display()))
        })
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
