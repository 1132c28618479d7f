//! The record of changes: how it is read and watched, and how its monthly partitions are created and dropped. Triggers
//! write it (`migrations/20261126000001_changes.sql`).

mod as_of;
mod changed;
mod feed;
mod hub;
mod keep;
mod positions;
mod service;
mod watch;

pub(crate) use as_of::{STATEMENTS as PAST, TYPES as TYPES_OF_PAST, get as get_as_of};
pub use changed::{CHANGED_ENTRIES, CHANGED_ROWS};
pub(crate) use changed::{Changed, STATEMENT as CHANGED};
pub(crate) use feed::{DEFAULT_CHANGES, STATEMENT, hide_writer, read};
pub(crate) use keep::{keep, kept_days};
pub(crate) use service::{ChangesService, SEARCH};
