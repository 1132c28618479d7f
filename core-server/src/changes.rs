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
pub use changed::{CHANGED_ENTRIES, CHANGED_ROWS};
pub(crate) use changed::{Changed, STATEMENT as CHANGED};
pub(crate) use feed::{DEFAULT_CHANGES, STATEMENT, read};
pub(crate) use keep::{keep, kept_days};
pub(crate) use search::STATEMENT as SEARCH;
pub(crate) use service::ChangesService;
pub(crate) use writers::hide_writer;
