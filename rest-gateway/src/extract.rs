//! What clients send, as messages. The gateway refuses only what no message can hold; the rules are the core's.

pub(crate) mod affiliates;
pub(crate) mod body;
pub(crate) mod body_violations;
mod collect;
mod document;
mod inflate;
mod json;
pub(crate) mod path;
pub(crate) mod query;
pub(crate) mod urls;

use compliance_api::{error::Error, rules::Violations, wire::MAX_ITEMS};
use memchr::memchr_iter;

/// What a body asks for: a message, or one of several.
pub(crate) trait Form: Send + 'static {
    /// Bytes of an element of its list.
    const ELEMENT: usize;
    /// Bytes that each key of an element takes besides.
    const KEY: usize;

    /// The violations that the rules find.
    fn violations(&self) -> Violations;

    /// What a body, its form and the work with it may take in memory, in bytes: an upper bound.
    fn memory(body: &[u8]) -> usize {
        // Each element is copied into the parameters of a statement, and has a result.
        const RESULT: usize = 256;
        let elements = memchr_iter(b'{', body).count().min(MAX_ITEMS);
        let keys = if Self::KEY == 0 { 0 } else { memchr_iter(b':', body).count() };
        body.len() * 4 + elements * (Self::ELEMENT + RESULT) + keys * Self::KEY
    }
}

/// Parses a body as a form, whose messages may take the given number of bytes in memory.
pub(crate) trait Parse<F>: Fn(&[u8], usize) -> Result<F, Error> + Clone + Send + 'static {}

impl<F, P: Fn(&[u8], usize) -> Result<F, Error> + Clone + Send + 'static> Parse<F> for P {}
