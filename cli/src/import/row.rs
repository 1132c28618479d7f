//! The rows of a file: their positions, and their records or errors.

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
        Self { position, errors: vec![RowError::new("", "", reason)] }
    }
}

/// A row with a valid record.
pub(super) struct Row<R> {
    pub(super) position: Position,
    pub(super) record: R,
}

/// A row that was read: its record, or its errors.
pub(super) type Parsed<R> = Result<Row<R>, InvalidRow>;

impl<R> Row<R> {
    /// The row with these errors.
    pub(super) fn invalid(&self, errors: Vec<RowError>) -> InvalidRow {
        InvalidRow { position: self.position, errors }
    }
}
