//! Tests that are derived from the contract's descriptor set: for each operation, and each rule of a field. A new operation or
//! field is tested without further code, or fails the suite until it is.

mod calls;
mod headers;
pub(crate) mod messages;
mod protocol;
mod rules;
