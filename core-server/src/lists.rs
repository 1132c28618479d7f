//! Pages of large lists, with exact totals.
//!
//! A large list is divided into buckets, and a table has the count of each. Totals are sums of counts. A page is found in an index, with an
//! offset. A smaller list has no counts: a page compares and counts all records.

mod description;
mod page_sql;
mod queries;
mod scans;

pub(crate) use description::{Asked, Comparison, Counts, Filter, List, PageQuery, Part, Sort, Value, day, days};
pub use queries::PART;
pub(crate) use queries::{Records, Source, Statements, read_by_ids, read_records, too_large};
pub(crate) use scans::{PageOfRecords, RecordPage, chosen, page};
