//! Reads of single records. Concurrent reads, of all companies together, become one statement.

use std::{collections::HashMap, iter::repeat_n, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use batcher::{BatchError, Batcher, Limits, Pending, RunBatch};
use compliance_api::{error::Error, record::Record};
use futures::FutureExt as _;
use sqlx::{Column as _, Row as _, postgres::PgRow};

use crate::{
    database::{self, Connections},
    error::from_database,
    table::{Read, Reader},
};

/// Statements in flight when some of them are slow.
const MAX_IN_FLIGHT_WHEN_SLOW: usize = 8;
/// Reads that wait for a statement.
const MAX_QUEUE: usize = 8192;
/// How long a statement may take.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A record's key: company and ID.
pub(crate) type Key = (i64, i64);

/// Reads records of one kind by key. Clones share the queue.
#[derive(Clone)]
pub(crate) struct Reads<T: Record> {
    statement: Statement<T>,
    coalesced: Batcher<Statement<T>>,
}

/// The statement that reads records of one kind.
#[derive(Clone)]
pub(crate) struct Statement<T: Record> {
    /// Where it runs.
    pub(crate) pool: Connections,
    /// Takes the companies and the IDs as two arrays. Returns one row a record, with its key as `key_company_id` and
    /// `key_id`.
    pub(crate) sql: &'static str,
    /// Reads the record from a row.
    pub(crate) decode: Read<T>,
    /// The error for an ID that the company has no record of.
    pub(crate) not_found: fn(i64) -> Error,
}

/// A record that was found, not yet decoded. Its caller decodes it, so that the next statement does not wait for that,
/// and so that the thread that allocates the record also frees it.
pub(crate) struct Found<T: Record> {
    rows: Arc<Rows<T>>,
    index: usize,
}

/// The rows of a statement, one a record.
struct Rows<T: Record> {
    reader: Reader<T>,
    decode: Read<T>,
    returned: Vec<PgRow>,
    /// Where the row of each key is.
    indices: HashMap<Key, usize>,
}

impl<T: Record> Found<T> {
    /// Decodes the record.
    pub(crate) fn record(&self) -> Result<T, Error> {
        let Rows { reader, decode, returned, .. } = &*self.rows;
        let row = returned.get(self.index).ok_or_else(Error::internal)?;
        decode(reader, row).map_err(|error| from_database(&error))
    }
}

impl<T: Record> Rows<T> {
    /// `None` if there is no row.
    fn new(decode: Read<T>, returned: Vec<PgRow>) -> Result<Option<Self>, sqlx::Error> {
        let Some(first) = returned.first() else { return Ok(None) };
        let company_id = first.try_column("key_company_id")?.ordinal();
        let id = first.try_column("key_id")?.ordinal();
        let key = |(index, row): (usize, &PgRow)| Ok(((row.try_get(company_id)?, row.try_get(id)?), index));
        let indices = returned.iter().enumerate().map(key).collect::<Result<_, sqlx::Error>>()?;
        let reader = Reader::new(first)?;
        Ok(Some(Self { reader, decode, returned, indices }))
    }
}

impl<T: Record> Reads<T> {
    pub(crate) fn new(statement: Statement<T>) -> Self {
        let limits = Limits::for_this_machine(MAX_IN_FLIGHT_WHEN_SLOW, MAX_QUEUE);
        Self { coalesced: Batcher::new(statement.clone(), limits), statement }
    }

    /// The company's record of this ID. Concurrent reads become one statement.
    pub(crate) async fn get(&self, company_id: i64, id: i64) -> Result<T, Error> {
        match self.coalesced.call((company_id, id)).await {
            Ok(found) => found?.record(),
            Err(BatchError::QueueFull) => Err(Error::overloaded()),
            Err(BatchError::Closed) => Err(Error::internal()),
        }
    }

    /// The records of these keys, in their order, from one statement.
    pub(crate) async fn get_all(&self, keys: &[Key]) -> Vec<Result<Found<T>, Error>> {
        AssertUnwindSafe(self.statement.find(keys)).catch_unwind().await.unwrap_or_else(|_| {
            tracing::error!("a batch of reads panicked");
            repeat_n(Error::internal(), keys.len()).map(Err).collect()
        })
    }
}

impl<T: Record> RunBatch for Statement<T> {
    type Request = Key;
    type Response = Result<Found<T>, Error>;

    async fn run(&self, batch: Vec<Pending<Key, Self::Response>>) {
        let keys: Vec<Key> = batch.iter().map(|pending| pending.request).collect();
        for (pending, result) in batch.into_iter().zip(self.find(&keys).await) {
            pending.respond(result);
        }
    }
}

impl<T: Record> Statement<T> {
    /// The records of these keys, in their order.
    async fn find(&self, keys: &[Key]) -> Vec<Result<Found<T>, Error>> {
        // Each key once: the statement would return a record as often as it is named.
        let mut unique = keys.to_vec();
        unique.sort_unstable();
        unique.dedup();
        let found = tokio::time::timeout(TIMEOUT, self.fetch(unique)).await;
        match found.unwrap_or_else(|_| Err(Error::deadline_exceeded())) {
            Ok(rows) => {
                let rows = rows.map(Arc::new);
                let found = |key| {
                    let rows = rows.as_ref()?;
                    let index = *rows.indices.get(key)?;
                    Some(Found { rows: Arc::clone(rows), index })
                };
                keys.iter().map(|key| found(key).ok_or_else(|| (self.not_found)(key.1))).collect()
            }
            Err(error) => repeat_n(error, keys.len()).map(Err).collect(),
        }
    }

    async fn fetch(&self, keys: Vec<Key>) -> Result<Option<Rows<T>>, Error> {
        let (companies, ids): (Vec<i64>, Vec<i64>) = keys.into_iter().unzip();
        let rows =
            database::short_read(|| sqlx::query(self.sql).bind(&companies).bind(&ids).fetch_all(&self.pool)).await;
        rows.and_then(|rows| Rows::new(self.decode, rows)).map_err(|error| from_database(&error))
    }
}
