//! Pages of large lists, with exact totals.
//!
//! A list is divided into buckets, and a table has the count of each. Totals are sums of counts. A page is found in an index, with an offset.

mod description;
mod page_sql;
mod queries;
mod scans;

pub(crate) use description::{Asked, Comparison, Filter, List, PageQuery, Part, Sort, Value, day, days};
pub use queries::PART;
pub(crate) use queries::{Records, Source, Statements, by_ids, by_key, by_keys, read_by_ids, read_records, too_large};
pub(crate) use scans::{PageOfRecords, RecordPage, chosen, page};
