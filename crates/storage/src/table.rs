//! Maps tables and input types by name.
//!
//! The contract describes each record field once ([`compliance_api::record`]). This description provides the SQL fragments, row decoding, batch
//! encoding, and the check against the database's catalogue.

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
