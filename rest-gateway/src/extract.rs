//! What clients send, as messages. The gateway refuses only what no message can hold; the rules are the core's.

pub(crate) mod affiliates;
pub(crate) mod body;
pub(crate) mod cases;
pub(crate) mod checked;
mod collect;
mod inflate;
mod json;
mod json_body;
mod object;
pub(crate) mod path;
pub(crate) mod query;
pub(crate) mod urls;
pub(crate) mod webhooks;

#[cfg(test)]
mod tests;
