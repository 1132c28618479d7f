//! Pages of large lists, as fast at their end as at their beginning.
//!
//! A list is cut into buckets whose sizes are kept in a table of counts. Totals are sums of counts, and a late page is found
//! by adding up counts.

mod comparison;
mod conditions;
mod counts;
mod description;
mod page;
mod shape;
mod statement;
mod statements;
mod stream;
mod whole;

pub(crate) use description::{Comparison, Filter, List, Part, Sort, Value};
pub(crate) use page::{Asked, PageQuery, day, days};
pub use statements::{NEAR, PART};
pub(crate) use statements::{
    Records, Source, Statements, by_ids, by_key, by_keys, chosen, read_by_ids, read_records, too_large,
};
pub(crate) use stream::{LargePage, PagePart};
pub(crate) use whole::{Whole, page};
