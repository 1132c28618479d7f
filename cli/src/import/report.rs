//! Writes an import's report: invalid rows and their errors.

use std::{
    fs::{self, OpenOptions},
    io::{self, Read as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use compliance_api::csv_cell::Escape;
use nix::fcntl::OFlag;
use serde::Serialize;
use spreadsheets::RowError;

use super::row::Position;
use crate::output::{Form, MARK, Output, OutputFormat, is_device};

/// One error of a row.
#[derive(Serialize)]
pub(super) struct Entry {
    #[serde(flatten)]
    pub(super) position: Position,
    #[serde(flatten)]
    pub(super) error: RowError,
}

const COLUMNS: [&str; 6] = ["row", "line", "field", "value", "reason", "cell"];
/// First bytes of a report, in NDJSON and in CSV.
const BEGINNINGS: [&[u8]; 2] = [b"{\"row\":", b"row,line,field,value,reason"];

/// Returns whether a file is an earlier report or empty, so the report may replace it.
fn is_report(path: &Path) -> io::Result<bool> {
    let flags = (OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let mut head = Vec::new();
    file.take(64).read_to_end(&mut head)?;
    let text = head.strip_prefix(MARK).unwrap_or(&head);
    Ok(head.is_empty() || BEGINNINGS.iter().any(|beginning| text.starts_with(beginning)))
}

/// A report's checked path.
pub(super) struct Report {
    pub(super) path: PathBuf,
    is_device: bool,
}

impl Report {
    /// Returns the report: `given`, or a file next to the imported file. Fails if the report would replace anything except an earlier report, or if
    /// it is the imported file under another name, such as a link or an open descriptor.
    pub(super) fn check(given: Option<PathBuf>, imported: &Path) -> anyhow::Result<Self> {
        let is_device = given.as_deref().is_some_and(is_device);
        let path = given.unwrap_or_else(|| imported.with_added_extension("report.ndjson"));
        let id = |path: &Path| fs::metadata(path).map(|file| (file.dev(), file.ino()));
        let reason = match fs::symlink_metadata(&path) {
            Err(_) => None,
            Ok(_) if id(&path).is_ok_and(|report| id(imported).is_ok_and(|imported| report == imported)) => {
                Some("is the file to import")
            }
            Ok(_) if is_device => None,
            Ok(there) if there.is_symlink() => Some("is a link"),
            Ok(there) if !there.is_file() => Some("is not a regular file"),
            Ok(_) if is_report(&path).with_context(|| format!("cannot read {}", path.display()))? => None,
            Ok(_) => Some("already exists, and its content is not a report"),
        };
        match reason {
            Some(reason) => bail!("the report {} {reason} (choose another file with --report)", path.display()),
            None => Ok(Self { path, is_device }),
        }
    }

    /// Opens the report, as CSV if its name ends in `.csv`, otherwise as NDJSON.
    pub(super) async fn create(&self) -> anyhow::Result<Output> {
        let failure = format!("cannot write the report {}", self.path.display());
        let form = Form { format: OutputFormat::of(&self.path), escape: Escape::Formulas, columns: COLUMNS.to_vec() };
        let created = Output::create(self.path.clone(), self.is_device, form, failure).await;
        created.context("cannot create the report (choose another file with --report)")
    }
}
