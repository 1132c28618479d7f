//! Tests derived from the contract's descriptor set, for every operation and every field rule. They cover new operations and fields automatically, or
//! fail until the suite covers them.

pub(crate) mod calls;
mod headers;
pub(crate) mod json;
pub(crate) mod messages;
mod protocol;
pub(crate) mod rules;
