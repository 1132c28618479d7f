//! Defines the records that rows describe.

use compliance_api::description::Field;

use crate::row::RowError;

/// A column's field, or `None` for an ignored column.
pub type Target = Option<&'static Field>;

/// A row's fields and their text. `None` clears a field.
pub type Values = Vec<(&'static Field, Option<String>)>;

/// A record that a table row can describe.
pub trait TableRecord: Sized {
    /// Returns a heading's field: `None` if it is unknown, `Some(None)` if the service assigns it.
    fn target(heading: &str) -> Option<Target>;

    /// Returns the names of all fields.
    fn fields() -> Vec<&'static str>;

    /// Returns a row's record, or its errors by field.
    fn of_values(values: Values, required: &[&str]) -> Result<Self, Vec<RowError>>;

    /// Returns whether these are the headings of a full export, whose text is exact.
    fn is_export(headings: &[String]) -> bool;
}
