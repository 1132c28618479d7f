//! Records: messages whose fields are columns of a table, as the options of `storage.proto` describe them.

mod field;
mod field_set;

pub use field::{Access, Column, Record, RecordField, StoredAs};
pub use field_set::FieldSet;
