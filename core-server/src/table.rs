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

pub(crate) use attribute::Attribute;
pub(crate) use batch::{Composite, Layouts};
pub(crate) use copy::Rows;
pub use expected::SchemaError;
pub(crate) use expected::{Expected, Inputs};
pub(crate) use instant::{Shown, shown_date};
pub(crate) use reader::{Read, Reader, read_all, timestamp};
pub(crate) use sql::{differs, merged, names, replacements, selection, values};
