//! Records that rows describe.

use compliance_api::description::Field;

use crate::row::RowError;

/// The field of a column; `None` if the column is ignored.
pub type Target = Option<&'static Field>;

/// The fields of a row with their texts. `None` clears a field.
pub type Values = Vec<(&'static Field, Option<String>)>;

/// A record that a row of a table can describe.
pub trait TableRecord: Sized {
    /// Returns the field of a heading: `None` if it is unknown, `Some(None)` if the service assigns the field.
    fn target(heading: &str) -> Option<Target>;

    /// Returns the names of all fields.
    fn fields() -> Vec<&'static str>;

    /// Returns the record of a row, or its errors by field.
    fn of_values(values: Values, required: &[&str]) -> Result<Self, Vec<RowError>>;

    /// Whether these are the headings of a whole export of the service, whose texts are exact.
    fn is_export(headings: &[String]) -> bool;
}
