//! Records: messages whose fields map to table columns, as declared by the options in `storage.proto`.

mod field;
mod field_set;

pub use field::{Access, Column, Record, RecordField, StoredAs};
pub use field_set::FieldSet;
