//! Pages of large lists, as fast at the end of a list as at its beginning.
//!
//! A list is divided into buckets, and a table has the count of each. Totals are sums of counts, and a late page is found by adding up
//! counts.

mod counts;
mod description;
mod shape;
mod statement;
mod statements;
mod whole;

pub(crate) use description::{Asked, Comparison, Filter, List, PageQuery, Part, Sort, Value, day, days};
pub use statements::{PART, SHALLOW_OFFSET};
pub(crate) use statements::{
    Records, Source, Statements, by_ids, by_key, by_keys, read_by_ids, read_records, too_large,
};
pub(crate) use whole::{PageOfRecords, RecordPage, chosen, page};
