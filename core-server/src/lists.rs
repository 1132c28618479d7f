//! Pages of large lists, with exact totals.
//!
//! A large list is divided into buckets, and a table stores the count of each bucket. Totals are sums of counts, and pages are index scans
//! with an offset. A smaller list has no counts: each page compares and counts all records.

mod description;
mod page_sql;
mod queries;
mod scans;

pub(crate) use description::{
    Asked, Comparison, Counts, Filter, List, PageQuery, Part, Sort, Value, day, days, name_id,
};
pub use queries::PART;
pub(crate) use queries::{Records, Source, Statements, read_by_ids, read_records, too_large};
pub(crate) use scans::{PageOfRecords, RecordPage, chosen, page};
