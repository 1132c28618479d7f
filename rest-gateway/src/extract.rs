//! Reads requests as messages. The gateway refuses only values that no message can hold. The rules are the core's.

mod batch;
pub(crate) mod bodies;
pub(crate) mod body;
mod collect;
pub(crate) mod file;
mod json;
mod object;
pub(crate) mod request;

#[cfg(test)]
mod tests;
