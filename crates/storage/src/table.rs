//! Tables and input types, by name. The contract describes each field of a record once ([`compliance_api::record`]);
//! from that come the SQL that names columns, the decoding of rows, the encoding of batches, and the check of the
//! description against the database's own catalogue.

mod attribute;
mod batch;
mod copy;
mod expected;
mod instant;
mod reader;
mod sql;

pub use attribute::Attribute;
pub use batch::{Composite, Layouts};
pub use copy::Rows;
pub use expected::SchemaError;
pub use expected::{Expected, Inputs};
pub use instant::{Shown, shown_date};
pub use reader::{Read, Reader, read_all, timestamp};
pub use sql::{differs, merged, names, replacements, selection, values};
