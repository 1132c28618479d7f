//! What clients send, as messages: the gateway refuses only what cannot be said as one.

pub(crate) mod affiliates;
pub(crate) mod body;
mod faults;
mod json;
pub(crate) mod path;
pub(crate) mod query;
pub(crate) mod urls;

use compliance_api::{error::Error, rules::Violations};

/// A message, or several that one body can stand for, that knows its faults.
pub(crate) trait Form: Send + 'static {
    /// What the rules find wrong with it.
    fn faults(&self) -> Violations;
}

/// Reads a form from a body; an error is what the client is told.
pub(crate) trait Parse<F>: Fn(&[u8]) -> Result<F, Error> + Clone + Send + 'static {}

impl<F, P: Fn(&[u8]) -> Result<F, Error> + Clone + Send + 'static> Parse<F> for P {}
