//! The rows of a file: their positions, and their records or errors.

use serde::Serialize;

/// Maximum length of a value in a report, in characters.
const LONGEST_VALUE: usize = 200;

/// One error of a row.
#[derive(Clone, Debug, Serialize)]
pub(super) struct RowError {
    /// The field; empty for an error of the whole row.
    field: String,
    value: String,
    reason: String,
}

impl RowError {
    pub(super) fn new(field: &str, value: &str, reason: impl Into<String>) -> Self {
        Self { field: field.to_owned(), value: value.chars().take(LONGEST_VALUE).collect(), reason: reason.into() }
    }

    /// Returns the error of a whole row.
    pub(super) fn of_row(reason: impl Into<String>) -> Vec<Self> {
        vec![Self::new("", "", reason)]
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

/// The cells of a row, and the line on which it begins.
pub(super) type Record = (u64, csv::StringRecord);

/// The rows of a table.
pub(super) type Records = Box<dyn Iterator<Item = anyhow::Result<Record>> + Send>;

/// A row: its record or its errors.
pub(super) type Parsed<R> = (Position, Result<R, Vec<RowError>>);
