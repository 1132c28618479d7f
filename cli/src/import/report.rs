//! The report: which rows were not taken, and why.

use std::{
    fs::{self, File},
    io::{BufWriter, Write as _},
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use serde::Serialize;

/// The longest value that is repeated.
const MOST_CHARS: usize = 200;

/// One fault of one row.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Fault {
    /// Its field; empty when it is the whole row's.
    pub(super) field: String,
    /// What the field holds.
    pub(super) value: String,
    /// What is wrong with it.
    pub(super) reason: String,
}

impl Fault {
    pub(super) fn new(field: impl Into<String>, value: &str, reason: impl Into<String>) -> Self {
        Self { field: field.into(), value: value.chars().take(MOST_CHARS).collect(), reason: reason.into() }
    }

    /// One of the whole row.
    pub(super) fn of_row(reason: impl Into<String>) -> Self {
        Self::new("", "", reason)
    }
}

/// Where a row stands in its file.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Place {
    /// Its number, the first one below a header being 1.
    pub(super) row: u64,
    /// The line that it begins in.
    pub(super) line: u64,
}

#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    place: Place,
    #[serde(flatten)]
    fault: &'a Fault,
}

/// The file that faults are written to: CSV when it is called so, else NDJSON. It is there at the end only when there
/// were faults.
pub(super) struct Report {
    path: PathBuf,
    output: Output,
    faults: u64,
}

enum Output {
    Csv(Box<csv::Writer<File>>),
    Ndjson(BufWriter<File>),
}

impl Report {
    /// Begins a report; `given` or beside the file that is imported.
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
            format!("cannot write the report {} (choose another place with --report)", path.display())
        })?;
        let output = if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("csv")) {
            let mut writer = csv::Writer::from_writer(file);
            writer.write_record(["row", "line", "field", "value", "reason"])?;
            Output::Csv(Box::new(writer))
        } else {
            Output::Ndjson(BufWriter::new(file))
        };
        Ok(Self { path, output, faults: 0 })
    }

    /// Writes the faults of one row.
    pub(super) fn write(&mut self, place: Place, faults: &[Fault]) -> anyhow::Result<()> {
        self.try_write(place, faults).with_context(|| format!("cannot write the report {}", self.path.display()))
    }

    fn try_write(&mut self, place: Place, faults: &[Fault]) -> anyhow::Result<()> {
        for fault in faults {
            self.faults += 1;
            match &mut self.output {
                Output::Csv(writer) => {
                    let (row, line) = (place.row.to_string(), place.line.to_string());
                    writer.write_record([&row, &line, &fault.field, &fault.value, &fault.reason])?;
                }
                Output::Ndjson(file) => {
                    serde_json::to_writer(&mut *file, &Line { place, fault })?;
                    file.write_all(b"\n")?;
                }
            }
        }
        Ok(())
    }

    /// Completes the report; its path, when there is anything in it.
    pub(super) fn finish(self) -> anyhow::Result<Option<PathBuf>> {
        let Self { path, output, faults } = self;
        let written = match output {
            Output::Csv(mut writer) => writer.flush(),
            Output::Ndjson(mut file) => file.flush(),
        };
        written.with_context(|| format!("cannot write the report {}", path.display()))?;
        if faults == 0 {
            // Nobody needs an empty one.
            let _ = fs::remove_file(&path);
            return Ok(None);
        }
        Ok(Some(path))
    }
}
