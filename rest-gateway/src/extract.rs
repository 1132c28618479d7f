//! What clients send, as messages. The gateway refuses only what no message can hold; the rules are the core's.

pub(crate) mod affiliates;
pub(crate) mod body;
mod body_violations;
mod document;
mod json;
pub(crate) mod path;
pub(crate) mod query;
pub(crate) mod urls;

use compliance_api::{
    error::Error,
    rules::{self, Check, Violations},
};

/// What a body asks for: a message, or one of several.
pub(crate) trait Form: Send + 'static {
    /// The violations that the rules find.
    fn violations(&self) -> Violations;
}

impl<M: Check + Send + 'static> Form for M {
    fn violations(&self) -> Violations {
        rules::check(self)
    }
}

/// Parses a body as a form, whose messages may take the given number of bytes in memory.
pub(crate) trait Parse<F>: Fn(&[u8], usize) -> Result<F, Error> + Clone + Send + 'static {}

impl<F, P: Fn(&[u8], usize) -> Result<F, Error> + Clone + Send + 'static> Parse<F> for P {}
