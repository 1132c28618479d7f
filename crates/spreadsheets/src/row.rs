//! Rows: cells as written, and the resulting records.

use serde::Serialize;
use unicode_normalization::UnicodeNormalization as _;

/// Maximum length of a value in an error, in characters.
const LONGEST_VALUE: usize = 200;

/// A row of a table.
#[derive(Debug)]
pub struct Row<R> {
    /// Row number. The first row below the headings is 1.
    pub row: u64,
    /// Line number of the row's start in the file, or row number in the sheet.
    pub line: u64,
    /// The record, or all of the row's errors.
    pub record: Result<R, Vec<RowError>>,
    /// For an invalid row: a record with only its ID. `None` if the ID is not readable.
    pub identity: Option<R>,
}

/// One error in a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RowError {
    /// Field name. Empty if the error affects the whole row.
    pub field: String,
    /// Start of the cell's text.
    pub value: String,
    /// Reason, as a sentence.
    pub reason: String,
    /// Workbook cell, such as `C7`, or CSV column heading. Empty if the error affects the whole row.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cell: String,
}

impl RowError {
    /// Creates an error for a field.
    pub fn new(field: &str, value: &str, reason: impl Into<String>) -> Self {
        Self { field: field.to_owned(), value: start_of(value), reason: reason.into(), cell: String::new() }
    }

    /// Creates an error for a whole row.
    pub fn of_row(reason: impl Into<String>) -> Vec<Self> {
        vec![Self::new("", "", reason)]
    }
}

/// A row as written.
pub(crate) struct RawRow {
    pub(crate) line: u64,
    /// Number of cells. `None` in workbooks, which omit empty cells.
    pub(crate) width: Option<usize>,
    /// Nonempty cells, in column order.
    pub(crate) cells: Vec<Cell>,
}

impl RawRow {
    /// Returns whether all cells look empty.
    pub(crate) fn is_blank(&self) -> bool {
        self.cells.iter().all(Cell::is_blank)
    }

    pub(crate) fn cell(&self, column: usize) -> Option<&Cell> {
        let index = self.cells.binary_search_by_key(&column, |cell| cell.column).ok()?;
        self.cells.get(index)
    }

    /// Returns a cell's text without surrounding invisible characters.
    pub(crate) fn text(&self, column: usize) -> &str {
        self.cell(column).map_or("", |cell| visible(&cell.text))
    }
}

/// A nonempty cell.
pub(crate) struct Cell {
    pub(crate) column: usize,
    pub(crate) text: String,
    pub(crate) kind: CellKind,
}

impl Cell {
    pub(crate) fn is_blank(&self) -> bool {
        visible(&self.text).is_empty() && !matches!(self.kind, CellKind::Unreadable(_))
    }
}

/// What a cell contains.
pub(crate) enum CellKind {
    Text,
    /// A number. The cell's text contains it as displayed.
    Number,
    /// A date, YYYY-MM-DD, possibly with a time.
    Date,
    /// A value that cannot be read with certainty, and the reason.
    Unreadable(String),
}

/// Returns the start of a value, for errors.
pub(crate) fn start_of(value: &str) -> String {
    value.chars().take(LONGEST_VALUE).collect()
}

/// Removes surrounding spaces and invisible characters.
pub(crate) fn visible(text: &str) -> &str {
    text.trim_matches(|next: char| next.is_whitespace() || is_invisible(next))
}

/// Returns the canonical form of an identifier or heading: composed, without invisible characters, with plain spaces.
pub(crate) fn identity(text: &str) -> String {
    // Variation selectors only select a form of the preceding character.
    let shown = text.chars().filter(|next| !is_invisible(*next) && !matches!(next, '\u{fe00}'..='\u{fe0f}'));
    let spaced = shown.map(|next| if next.is_whitespace() && !next.is_control() { ' ' } else { next });
    spaced.nfc().collect::<String>().trim().to_owned()
}

/// Returns whether a character is invisible. Unicode classifies most such characters as default ignorable.
pub(crate) fn is_invisible(next: char) -> bool {
    matches!(
        next,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{feff}'
            | '\u{ffa0}' | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Returns the name of a cell, such as `C7`.
pub(crate) fn cell_name(column: usize, row: u64) -> String {
    format!("{}{row}", column_name(column))
}

/// Returns a column's letters.
pub(crate) fn column_name(column: usize) -> String {
    let before = if column < 26 { String::new() } else { column_name(column / 26 - 1) };
    format!("{before}{}", char::from(b'A' + (column % 26) as u8))
}
