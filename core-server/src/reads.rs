//! Reads of single records. Concurrent reads, of all companies together, become one statement.

use std::{collections::HashMap, time::Duration};

use batcher::{BatchError, Batcher, Limits, Pending, RunBatch};
use compliance_api::{error::Error, record::Record};
use sqlx::Row as _;

use crate::{
    database::{self, Connections},
    error::from_database,
    table::{Read, read_all},
};

/// Statements in flight when some of them are slow.
const MAX_IN_FLIGHT_WHEN_SLOW: usize = 8;
/// Reads that wait for a statement.
const MAX_QUEUE: usize = 8192;
/// How long a statement may take.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A record's key: company and ID.
type Key = (i64, i64);

/// Reads records of one kind by key. Clones share the queue.
#[derive(Clone)]
pub(crate) struct Reads<T: Record + Clone>(Batcher<Statement<T>>);

impl<T: Record + Clone> Reads<T> {
    /// `sql` takes the companies and the IDs as two arrays. It returns one row a record, with its key as
    /// `key_company_id` and `key_id`. `decode` reads the record from a row.
    pub(crate) fn new(pool: &Connections, sql: &'static str, decode: Read<T>) -> Self {
        let limits = Limits::for_this_machine(MAX_IN_FLIGHT_WHEN_SLOW, MAX_QUEUE);
        Self(Batcher::new(Statement { pool: pool.clone(), sql, decode }, limits))
    }

    /// The company's record of this ID, or `None`.
    pub(crate) async fn get(&self, company_id: i64, id: i64) -> Result<Option<T>, Error> {
        match self.0.call((company_id, id)).await {
            Ok(found) => found,
            Err(BatchError::QueueFull) => Err(Error::overloaded()),
            Err(BatchError::Closed) => Err(Error::internal()),
        }
    }
}

/// The statement that reads records of one kind.
struct Statement<T: Record> {
    pool: Connections,
    sql: &'static str,
    decode: Read<T>,
}

impl<T: Record + Clone> RunBatch for Statement<T> {
    type Request = Key;
    type Response = Result<Option<T>, Error>;

    async fn run(&self, mut batch: Vec<Pending<Key, Self::Response>>) {
        batch.sort_unstable_by_key(|pending| pending.request);
        // Each key once: the statement would return a record as often as it is named.
        let mut keys: Vec<Key> = batch.iter().map(|pending| pending.request).collect();
        keys.dedup();
        let found = tokio::time::timeout(TIMEOUT, self.read(keys)).await;
        match found.unwrap_or_else(|_| Err(Error::deadline_exceeded())) {
            Ok(mut found) => {
                let mut batch = batch.into_iter().peekable();
                while let Some(pending) = batch.next() {
                    let key = pending.request;
                    let is_last = batch.peek().is_none_or(|next| next.request != key);
                    pending.respond(Ok(if is_last { found.remove(&key) } else { found.get(&key).cloned() }));
                }
            }
            Err(error) => batch.into_iter().for_each(|pending| pending.respond(Err(error.clone()))),
        }
    }
}

impl<T: Record> Statement<T> {
    async fn read(&self, keys: Vec<Key>) -> Result<HashMap<Key, T>, Error> {
        let (companies, ids): (Vec<i64>, Vec<i64>) = keys.into_iter().unzip();
        let rows = database::read(|| sqlx::query(self.sql).bind(&companies).bind(&ids).fetch_all(&self.pool)).await;
        let rows = rows.map_err(|error| from_database(&error))?;
        let keys = rows.iter().map(|row| Ok((row.try_get("key_company_id")?, row.try_get("key_id")?)));
        keys.collect::<Result<Vec<Key>, sqlx::Error>>()
            .and_then(|keys| Ok(keys.into_iter().zip(read_all(&rows, self.decode)?).collect()))
            .map_err(|error| from_database(&error))
    }
}
