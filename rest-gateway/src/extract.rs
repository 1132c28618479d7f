//! Converts requests to messages. The gateway itself rejects only values that a message cannot represent. The core enforces the rules.

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
