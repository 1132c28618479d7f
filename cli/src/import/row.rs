//! Position of a row in its file.

use serde::Serialize;
use spreadsheets::Row;

/// Position of a row in its file.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Position {
    /// Row number. The first row below the headings is 1.
    pub(super) row: u64,
    /// Number of the row's first line.
    pub(super) line: u64,
}

impl Position {
    pub(super) fn of<R>(row: &Row<R>) -> Self {
        Self { row: row.row, line: row.line }
    }
}
