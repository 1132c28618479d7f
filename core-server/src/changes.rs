//! The record of changes. Triggers write it (`migrations/20261126000001_changes.sql`); here it is read, and its months are kept.

mod as_of;
mod changed;
mod feed;
mod hub;
mod keep;
mod kept;
mod search;
mod service;
mod watch;
mod writers;

pub(crate) use as_of::{STATEMENTS as PAST, TYPES as TYPES_OF_PAST, get as get_as_of};
pub(crate) use changed::{Changed, STATEMENT as CHANGED};
pub(crate) use feed::read;
pub(crate) use keep::{keep, kept_days};
pub(crate) use search::STATEMENT as SEARCH;
pub(crate) use service::Changes;
pub(crate) use writers::hide_writer;

/// The statement that reads changes, with the types of its parameters.
pub(crate) const STATEMENT: (&str, &str) = (
    concat!(include_str!("changes/state.sql"), include_str!("changes/list.sql"), include_str!("changes/entries.sql")),
    "bigint, bigint, smallint[], bigint, bigint",
);

/// The last positions of companies, for the service itself: it reads several companies, but no records. On Citus they are of one node.
const POSITIONS: &str = "select company_id, position from change_positions where company_id = any($1::bigint[])";
