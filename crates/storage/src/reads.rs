//! Coalesces single reads by all companies into shared statements. A lone read uses a plain statement.

use std::{
    collections::HashMap, future::ready, iter::repeat_n, mem, panic::AssertUnwindSafe, sync::Arc, time::Instant,
};

use admission::{LimitReached, MEMORY_WAIT, Memory, Reservation, SMALL};
use batcher::{BatchLimits, Batcher, Pending, RunBatch};
use compliance_api::{error::Error, record::Record};
use futures::{FutureExt as _, future::join_all};
use sqlx::{Row as _, postgres::PgRow};
use tokio::time::{error::Elapsed, timeout};
use tokio_util::task::TaskTracker;

use crate::{
    database::{self, Connections},
    error::{from_batcher, from_database, is_moved},
    limits::{COALESCED_TIMEOUT, COPIES, MAX_QUEUED_COALESCED},
    metrics,
    statement_context::{self, RequestContext, Spent, StatementContext, Watch},
    table::{Read, Reader},
};

/// Maximum number of statements in flight while some are slow.
const READS_WHEN_SLOW: usize = 8;

/// Record key: company ID and record ID.
pub type Key = (i64, i64);

/// Reads records of one kind by key. Clones share the queue.
#[derive(Clone)]
pub struct Reads<T: Record> {
    /// Statement that reads the records.
    pub statement: ReadByKey<T>,
    coalesced: Batcher<ReadByKey<T>>,
    in_flight: TaskTracker,
}

/// Statement that reads records of one kind.
#[derive(Clone)]
pub struct ReadByKey<T: Record> {
    /// Name in logs, metrics and traces.
    pub name: &'static str,
    /// Table number in the record of changes.
    pub resource: i16,
    /// Connections to the database.
    pub pool: Connections,
    /// SQL that returns a record's row, if any. Its parameters are the company and the ID.
    pub one: &'static str,
    /// SQL that takes arrays of companies and IDs, and returns one row per record.
    ///
    /// Each row contains the record's key as `key_company_id` and `key_id`.
    pub many: &'static str,
    /// Decodes a row.
    pub decode: Read<T>,
    /// Returns the error for an unknown ID.
    pub not_found: fn(i64) -> Error,
    /// Memory for large records until their responses are sent.
    pub memory: Memory,
    /// Columns that can make a record large.
    pub long: &'static [&'static str],
}

/// Span name for a read that waits for a shared statement.
pub const COALESCED_READ: &str = "coalesced read";

/// A found record.
///
/// The caller decodes it, so the next statement does not wait. One thread both allocates and frees the record.
pub enum FoundRecord<T: Record> {
    /// The record's row, with its memory if it is large.
    Row(Arc<Rows<T>>, usize, Option<Reservation>),
    /// A record of this many bytes, dropped for lack of memory.
    TooLarge(usize),
}

impl<T: Record> FoundRecord<T> {
    /// Returns the record for one caller. Only the first caller receives a large record's memory; others must reserve their own.
    fn next(&mut self) -> Self {
        let bytes = match self {
            Self::Row(rows, index, None) => return Self::Row(Arc::clone(rows), *index, None),
            Self::Row(_, _, Some(memory)) => memory.bytes() / COPIES,
            Self::TooLarge(bytes) => *bytes,
        };
        mem::replace(self, Self::TooLarge(bytes))
    }
}

/// A statement's rows, one per record.
pub struct Rows<T: Record> {
    reader: Reader<T>,
    decode: Read<T>,
    returned: Vec<PgRow>,
}

impl<T: Record> Rows<T> {
    /// Decodes a row.
    pub fn record(&self, index: usize) -> Result<T, Error> {
        let row = self.returned.get(index).ok_or_else(Error::internal)?;
        (self.decode)(&self.reader, row).map_err(from_database)
    }
}

/// Records found by a statement, by key.
type Fetched<T> = Result<HashMap<Key, FoundRecord<T>>, sqlx::Error>;

impl<T: Record> Reads<T> {
    /// Creates a statement's queue.
    pub fn new(statement: ReadByKey<T>) -> Self {
        let limits = BatchLimits::for_this_machine(READS_WHEN_SLOW, MAX_QUEUED_COALESCED);
        let coalesced = Batcher::new(statement.clone(), limits);
        metrics::report_queue(statement.name, coalesced.queue_length());
        Self { statement, coalesced, in_flight: TaskTracker::new() }
    }

    /// Returns a company's record, with its memory if it is large.
    pub async fn get(&self, company_id: i64, id: i64) -> Result<(T, Option<Reservation>), Error> {
        let key = (company_id, id);
        let _in_flight = self.in_flight.token();
        if self.in_flight.len() == 1 {
            return self.get_alone(key).await;
        }
        // The statement runs in a separate task that serves many callers.
        let found = self.coalesced.call((key, RequestContext::current(COALESCED_READ))).await;
        match found.map_err(from_batcher)?? {
            FoundRecord::Row(rows, index, memory) => Ok((rows.record(index)?, memory)),
            FoundRecord::TooLarge(bytes) => self.large(key, bytes).await,
        }
    }

    /// Reads a record while no other read is in flight.
    async fn get_alone(&self, key: Key) -> Result<(T, Option<Reservation>), Error> {
        let row = self.read(key).await?;
        let bytes = self.statement.long_bytes(&row).map_err(from_database)?;
        if let Ok(memory) = self.statement.reserve(key.0, bytes) {
            return Ok((self.decode(&row)?, memory));
        }
        // Frees the row before the wait.
        drop(row);
        self.large(key, bytes).await
    }

    /// Reads a large record with its own statement.
    ///
    /// First waits until memory for the record is available.
    pub async fn large(&self, key: Key, bytes: usize) -> Result<(T, Option<Reservation>), Error> {
        let mut memory = self.statement.memory.reservation(Some(key.0));
        memory.wait_to_grow(bytes * COPIES, MEMORY_WAIT).await?;
        let row = self.read(key).await?;
        Ok((self.decode(&row)?, Some(memory)))
    }

    /// Reads a record's row with a separate statement.
    async fn read(&self, key: Key) -> Result<PgRow, Error> {
        let ReadByKey { name, one, ref pool, not_found, .. } = self.statement;
        let pool = &pool.of_company(key.0);
        let read = async |pool: Connections| pool.rows(sqlx::query(one).bind(key.0).bind(key.1)).await;
        let watched = async {
            let _watch = Watch::start();
            database::short_read(pool, read).await
        };
        let context = StatementContext { name, ..StatementContext::current() };
        let rows = timeout(COALESCED_TIMEOUT, context.run(watched)).await;
        let rows = rows.map_err(|_| Error::deadline_exceeded())?.map_err(from_database)?;
        rows.into_iter().next().ok_or_else(|| not_found(key.1))
    }

    fn decode(&self, row: &PgRow) -> Result<T, Error> {
        Reader::new(row).and_then(|reader| (self.statement.decode)(&reader, row)).map_err(from_database)
    }

    /// Reads the records with these keys in one statement, and returns them in order.
    pub async fn get_all<'r>(
        &self,
        keys: &[Key],
        requests: impl Iterator<Item = &'r RequestContext> + Clone + Send,
    ) -> Vec<Result<FoundRecord<T>, Error>> {
        AssertUnwindSafe(self.statement.find(keys, requests)).catch_unwind().await.unwrap_or_else(|_| {
            tracing::error!("a read batch panicked");
            repeat_n(Error::internal(), keys.len()).map(Err).collect()
        })
    }
}

impl<T: Record> RunBatch for ReadByKey<T> {
    type Request = (Key, RequestContext);
    type Response = Result<FoundRecord<T>, Error>;

    async fn run(&self, batch: Vec<Pending<(Key, RequestContext), Self::Response>>) {
        let keys: Vec<Key> = batch.iter().map(|pending| pending.request.0).collect();
        let found = self.find(&keys, batch.iter().map(|pending| &pending.request.1)).await;
        for (pending, result) in batch.into_iter().zip(found) {
            pending.respond(result);
        }
    }
}

impl<T: Record> ReadByKey<T> {
    async fn find<'r>(
        &self,
        keys: &[Key],
        requests: impl Iterator<Item = &'r RequestContext> + Clone + Send,
    ) -> Vec<Result<FoundRecord<T>, Error>> {
        // Otherwise, the statement would return a record once per occurrence of its key.
        let mut unique = keys.to_vec();
        unique.sort_unstable();
        unique.dedup();
        let span = statement_context::batch_span(self.name, requests.clone());
        let fetched = span.run(async {
            let start = Instant::now();
            let mut fetched = self.fetch_divided(unique.clone()).await;
            if fetched.iter().any(|(_, part)| matches!(part, Ok(Err(error)) if is_moved(error))) {
                fetched = self.fetch_divided(unique).await;
            }
            statement_context::log_if_slow(self.name, Spent::default().since(start), requests.map(RequestContext::id));
            fetched
        });
        let (mut found, mut failed) = (HashMap::new(), HashMap::new());
        for (companies, part) in StatementContext::of(self.name).run(fetched).await {
            match part.map_err(|_| Error::deadline_exceeded()).and_then(|part| part.map_err(from_database)) {
                Ok(records) => found.extend(records),
                Err(error) => failed.extend(companies.into_iter().map(|company| (company, error.clone()))),
            }
        }
        let error = |key: &Key| failed.get(&key.0).cloned().unwrap_or_else(|| (self.not_found)(key.1));
        keys.iter().map(|key| found.get_mut(key).map(FoundRecord::next).ok_or_else(|| error(key))).collect()
    }

    /// Reads these keys with one statement, or one per company on Citus. Returns each statement's companies and result.
    async fn fetch_divided(&self, keys: Vec<Key>) -> Vec<(Vec<i64>, Result<Fetched<T>, Elapsed>)> {
        let parts = self.pool.divided(keys, |key| key.0);
        let fetched = parts.into_iter().map(async |part| {
            let (companies, ids): (Vec<i64>, Vec<i64>) = part.into_iter().unzip();
            let fetched = timeout(COALESCED_TIMEOUT, self.fetch(&companies, &ids)).await;
            (companies, fetched)
        });
        join_all(fetched).await
    }

    async fn fetch(&self, companies: &[i64], ids: &[i64]) -> Fetched<T> {
        let pool = self.pool.of_company(companies.first().copied().unwrap_or_default());
        let read = async |pool: Connections| {
            let (mut rows, mut keys, mut found, mut failed) = (Vec::new(), Vec::new(), HashMap::new(), Ok(()));
            let mut take = |row: PgRow| -> Result<(), sqlx::Error> {
                let key: Key = (row.try_get("key_company_id")?, row.try_get("key_id")?);
                let bytes = self.long_bytes(&row)?;
                if let Ok(memory) = self.reserve(key.0, bytes) {
                    rows.push(row);
                    keys.push((key, memory));
                } else {
                    found.insert(key, FoundRecord::TooLarge(bytes));
                }
                Ok(())
            };
            let query = sqlx::query(self.many).bind(companies).bind(ids);
            pool.fetch_while(query, |row| {
                failed = take(row);
                ready(failed.is_ok())
            })
            .await?;
            failed?;
            if let Some(first) = rows.first() {
                let rows = Arc::new(Rows { reader: Reader::new(first)?, decode: self.decode, returned: rows });
                let row = |(index, (key, memory))| (key, FoundRecord::Row(Arc::clone(&rows), index, memory));
                found.extend(keys.into_iter().enumerate().map(row));
            }
            Ok(found)
        };
        database::short_read(&pool, read).await
    }

    /// Reserves memory for a large record. Fails if none is free.
    fn reserve(&self, company_id: i64, bytes: usize) -> Result<Option<Reservation>, LimitReached> {
        if bytes <= SMALL {
            return Ok(None);
        }
        let mut memory = self.memory.reservation(Some(company_id));
        memory.grow(bytes * COPIES)?;
        Ok(Some(memory))
    }

    /// Returns the total size of the columns in `long`, in bytes.
    fn long_bytes(&self, row: &PgRow) -> Result<usize, sqlx::Error> {
        let bytes = |name: &&str| Ok(row.try_get_raw(*name)?.as_bytes().map_or(0, <[u8]>::len));
        self.long.iter().map(bytes).sum()
    }
}
