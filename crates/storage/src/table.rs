//! Tables and input types, by name.
//!
//! The contract describes each field of a record once ([`compliance_api::record`]). This description gives the SQL that names columns, the
//! decoding of rows, the encoding of batches, and the check against the database's catalogue.

mod attribute;
mod copy;
mod encoder;
mod expected;
mod reader;
mod sql;

pub use copy::copy;
pub use encoder::{Attribute, Composite, Layouts};
pub use expected::{Expected, Inputs, SchemaError};
pub use reader::{Read, Reader, ValidTimestamp, read_all, timestamp, valid_date};
pub use sql::{differs, merged, names, replacements, selection, values};
