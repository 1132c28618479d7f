//! The report: the rows that were not imported, and why.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufWriter, Read as _, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use nix::fcntl::OFlag;
use serde::Serialize;

use super::row::{InvalidRow, Position, RowError};
use crate::{blocking::Writing, csv_cell::cell, new_file::Unfinished};

/// One entry of the report.
#[derive(Serialize)]
struct Entry<'a> {
    row: u64,
    line: u64,
    field: &'a str,
    value: &'a str,
    reason: &'a str,
}

/// The beginnings of a report, in NDJSON and in CSV.
const BEGINNINGS: [&[u8]; 2] = [b"{\"row\":", b"row,line,field,value,reason"];

/// The file of the errors: CSV if its name ends in `.csv`, otherwise NDJSON. It gets its name at the end, if there are any.
pub(super) struct Report {
    path: PathBuf,
    /// `None` for a device or a pipe.
    unfinished: Option<Unfinished>,
    rows: Writing<Vec<InvalidRow>>,
    is_empty: bool,
}

enum Output {
    Csv(Box<csv::Writer<File>>),
    Ndjson(BufWriter<File>),
}

impl Output {
    fn new(path: &Path, file: File) -> Self {
        if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("csv")) {
            Self::Csv(Box::new(csv::Writer::from_writer(file)))
        } else {
            Self::Ndjson(BufWriter::new(file))
        }
    }

    /// Writes the errors of rows, or what is buffered.
    fn write(&mut self, rows: Option<Vec<InvalidRow>>) -> anyhow::Result<()> {
        let Some(rows) = rows else { return self.flush().map_err(Into::into) };
        for InvalidRow { position: Position { row, line }, errors } in &rows {
            for RowError { field, value, reason } in errors {
                self.entry(&Entry { row: *row, line: *line, field, value, reason })?;
            }
        }
        Ok(())
    }

    fn entry(&mut self, entry: &Entry<'_>) -> anyhow::Result<()> {
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

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Csv(writer) => writer.flush(),
            Self::Ndjson(file) => file.flush(),
        }
    }
}

/// The path of the report: `given`, or beside the imported file.
fn path_of(given: Option<&Path>, imported: &Path) -> PathBuf {
    given.map_or_else(|| imported.with_added_extension("report.ndjson"), Path::to_owned)
}

/// Whether the report is written directly: to a device or a pipe that was given, which may be open already, such as
/// `/dev/stderr`.
fn is_direct(given: Option<&Path>) -> bool {
    given.and_then(|path| fs::metadata(path).ok()).is_some_and(|there| !there.is_file() && !there.is_dir())
}

/// Whether an existing file may be replaced: it is an earlier report, or empty.
fn is_report(path: &Path) -> io::Result<bool> {
    let flags = (OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let mut head = Vec::new();
    file.take(64).read_to_end(&mut head)?;
    Ok(head.is_empty() || BEGINNINGS.iter().any(|beginning| head.starts_with(beginning)))
}

impl Report {
    /// Fails if the report would take the name of anything but an earlier report, or if it would be the imported file: by the
    /// same name, another one, a link, or an open descriptor of it. Nothing is written.
    pub(super) fn check(given: Option<&Path>, imported: &Path) -> anyhow::Result<()> {
        let path = path_of(given, imported);
        let id = |path: &Path| fs::metadata(path).map(|file| (file.dev(), file.ino()));
        let reason = match fs::symlink_metadata(&path) {
            Err(_) => return Ok(()),
            Ok(_) if id(&path).is_ok_and(|report| id(imported).is_ok_and(|imported| report == imported)) => {
                "is the file to import"
            }
            Ok(_) if is_direct(given) => return Ok(()),
            Ok(there) if there.is_symlink() => "is a link",
            Ok(there) if !there.is_file() => "is not a regular file",
            Ok(_) if is_report(&path).with_context(|| format!("cannot read {}", path.display()))? => return Ok(()),
            Ok(_) => "exists and is not a report",
        };
        bail!("the report {} {reason} (choose another file with --report)", path.display())
    }

    /// Begins the report, which [`Report::check`] has accepted. This may block.
    pub(super) fn create(given: Option<&Path>, imported: &Path) -> anyhow::Result<Self> {
        let path = path_of(given, imported);
        let opened = if is_direct(given) {
            let file = OpenOptions::new().write(true).open(&path);
            file.map(|file| (None, file)).with_context(|| format!("cannot write {}", path.display()))
        } else {
            Unfinished::create(&path).map(|(unfinished, file)| (Some(unfinished), file))
        };
        let (unfinished, file) = opened.context("there is no report (choose another file with --report)")?;
        let mut output = Output::new(&path, file);
        let shown = path.display().to_string();
        let rows =
            Writing::start(move |rows| output.write(rows).with_context(|| format!("cannot write the report {shown}")));
        Ok(Self { path, unfinished, rows, is_empty: true })
    }

    /// Writes the errors of rows.
    pub(super) async fn write(&mut self, rows: Vec<InvalidRow>) -> anyhow::Result<()> {
        self.is_empty &= rows.is_empty();
        self.rows.write(rows).await
    }

    /// Completes the report. Returns its path if there are errors; otherwise what has its name stays as it is.
    pub(super) async fn finish(self) -> anyhow::Result<Option<PathBuf>> {
        let Self { path, unfinished, rows, is_empty } = self;
        rows.finish().await?;
        if is_empty {
            return Ok(None);
        }
        if let Some(unfinished) = unfinished {
            unfinished.complete(&path)?;
        }
        Ok(Some(path))
    }
}
