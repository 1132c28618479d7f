//! The texts of cells.

use compliance_api::csv_cell::Escape;

use super::dates::Dates;

/// What a spreadsheet shows instead of a value that it cannot compute.
const ERRORS: [&str; 7] = ["#N/A", "#REF!", "#VALUE!", "#DIV/0!", "#NAME?", "#NUM!", "#NULL!"];
/// How the cells of a table become texts.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) escape: Escape,
    pub(super) dates: Dates,
    /// Whether the table is a whole export of the service, so that spaces around texts belong to them.
    pub(super) is_exact: bool,
}

impl Reading {
    /// The text of a cell, or why it has none. `is_date` says that it is a calendar day.
    pub(super) fn text(&self, cell: &str, is_date: bool) -> Result<String, String> {
        let trimmed = cell.trim();
        if !self.is_exact && ERRORS.contains(&trimmed) {
            return Err(format!("The cell has the error {trimmed} of a formula; correct it in the spreadsheet."));
        }
        let text = self.escape.text(cell);
        let text = if self.is_exact { text } else { text.trim() };
        if is_date { self.dates.day(text).map(Into::into) } else { Ok(text.to_owned()) }
    }
}
