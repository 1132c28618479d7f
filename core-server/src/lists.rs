//! Pages of large lists, as fast at their end as at their beginning.
//!
//! A list is cut into buckets whose sizes are kept in a table of counts (see the migration that makes it). Totals are
//! sums of counts. A page near the beginning is read along its sort key; a late one is found by adding up counts, and
//! is read from there. [`statement`] says which statement does so for which page.

mod counts;
mod description;
#[cfg(test)]
mod golden;
mod page;
mod statement;
mod statements;
mod stream;

pub(crate) use description::{Counted, Filter, Key, List, Sort, Value};
pub(crate) use page::{Asked, PageQuery, days};
pub(crate) use statements::{PART, Page, Records, Source, Statements, read_by_ids, too_large};
pub(crate) use stream::{LargePage, Part};
