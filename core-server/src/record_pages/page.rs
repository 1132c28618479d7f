//! A page of records, as the operations describe it.

use prost::Message;
use sqlx::{
    Postgres,
    postgres::{PgArguments, PgRow},
    query::Query,
};

/// A message of the stream: a page of records, or a part of one.
pub(crate) trait RecordPage: Message + Sized + Send + 'static {
    /// Whether a page may have fewer records than it is requested although more follow.
    const MAY_BE_SHORT: bool = false;

    /// Which records are read; `()` if all are.
    type Filters: Send + Sync + 'static;

    /// The statement for a page. Its first parameters are the company, the ID that the page follows, and the number of records;
    /// its column `last_id` is the ID of a record. Of `changed` records, it has their IDs as its last parameter.
    fn statement(filters: &Self::Filters, changed: bool) -> &'static str;

    /// Binds the other parameters.
    fn bind(query: PageOfRecords, _: &Self::Filters) -> PageOfRecords {
        query
    }

    /// Reads records. `last_id` is the ID of the last one.
    fn read(rows: &[PgRow], last_id: i64) -> Result<Self, sqlx::Error>;
}

/// A statement for a page, with its parameters.
pub(crate) type PageOfRecords = Query<'static, Postgres, PgArguments>;
