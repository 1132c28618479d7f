//! The record of changes. Triggers write it (`migrations/20261126000001_changes.sql`); here it is read, and its months are kept.

mod feed;
mod keep;
mod service;

pub(crate) use keep::keep;
pub(crate) use service::Changes;

/// The statement that reads changes, with the types of its parameters.
pub(crate) const STATEMENT: (&str, &str) =
    (include_str!("changes/list.sql"), "bigint, bigint, smallint[], bigint, bigint");
