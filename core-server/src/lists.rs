//! Pages of large lists, as fast at their end as at their beginning.
//!
//! A list is cut into buckets whose sizes are kept in a table of counts (see the migration that makes it). A page is
//! found by summing coarse buckets up to the one it begins in, then the fine ones within, and is then read from there
//! along an index: some hundred counts and at most one bucket of records, wherever the page is. Totals are sums of the
//! same counts. All of it is one statement.

mod page;
mod statements;
mod walk;

pub(crate) use page::{PageQuery, days};
pub(crate) use statements::{Page, Shape, Statements};
pub(crate) use walk::{Axis, Key, List, Range};
