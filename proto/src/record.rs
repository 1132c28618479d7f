//! Records: messages whose fields are columns of a table, according to the options in `storage.proto`.

mod field;
mod field_set;

pub use field::{Access, Column, Record, RecordField, StoredAs};
pub use field_set::FieldSet;
