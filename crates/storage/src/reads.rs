//! Reads of single records. Concurrent reads, of all companies together, become one statement. A read that is alone has a plain one.

use std::{
    collections::HashMap,
    future::ready,
    iter::repeat_n,
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use admission::{MEMORY_WAIT, Memory, Reservation, SMALL};
use batcher::{BatchLimits, Batcher, Pending, RunBatch};
use compliance_api::{error::Error, record::Record};
use futures::{FutureExt as _, future::join_all};
use sqlx::{Column as _, Row as _, postgres::PgRow};
use tokio::time::error::Elapsed;

use crate::{
    database::{self, Connections},
    error::{from_batcher, from_database, is_moved},
    limits::{COALESCED_TIMEOUT, COPIES, MAX_QUEUED_COALESCED},
    metrics,
    statement::{self, RequestContext, Spent, StatementContext, Watch},
    table::{Read, Reader},
};

/// Statements in flight while some of them are slow.
const READS_WHEN_SLOW: usize = 8;

/// A record's key: company and ID.
pub type Key = (i64, i64);

/// Reads records of one kind by key. Clones share the queue.
#[derive(Clone)]
pub struct Reads<T: Record> {
    /// The statement.
    pub statement: ReadByKey<T>,
    coalesced: Batcher<ReadByKey<T>>,
    in_flight: Arc<AtomicUsize>,
}

/// The statement that reads records of one kind.
#[derive(Clone)]
pub struct ReadByKey<T: Record> {
    /// Names it in logs, metrics and traces.
    pub name: &'static str,
    /// The number of their table in the record of changes.
    pub resource: i16,
    /// Where it runs.
    pub pool: Connections,
    /// Takes a company and an ID. Returns the record's row, if there is one.
    pub one: &'static str,
    /// Takes the companies and the IDs as two arrays. Returns one row a record, with its key as `key_company_id` and
    /// `key_id`.
    pub many: &'static str,
    /// Makes a record of a row.
    pub decode: Read<T>,
    /// The error for an ID that the company has no record of.
    pub not_found: fn(i64) -> Error,
    /// What large records take, and what is made of them, until they were sent.
    pub memory: Memory,
    /// The columns that make a record large.
    pub long: &'static [&'static str],
}

/// Names the span of a statement that reads for many callers.
pub const COALESCED_READ: &str = "coalesced read";

/// A record that was found. Its caller decodes it, so that the next statement does not wait for that, and so that the thread
/// that allocates the record also frees it.
pub enum FoundRecord<T: Record> {
    /// Its row, with the memory that it takes if it is large.
    Row(Arc<Rows<T>>, usize, Option<Reservation>),
    /// It takes so many bytes that it must wait for memory, and was not kept.
    TooLarge(usize),
}

/// The rows of a statement, one a record.
pub struct Rows<T: Record> {
    reader: Reader<T>,
    decode: Read<T>,
    returned: Vec<PgRow>,
    /// Where the row of each key is.
    indices: HashMap<Key, usize>,
}

impl<T: Record> Rows<T> {
    /// `None` if there is no row.
    fn new(decode: Read<T>, returned: Vec<PgRow>) -> Result<Option<Self>, sqlx::Error> {
        let Some(first) = returned.first() else { return Ok(None) };
        let (company_id, id) = key_ordinals(first)?;
        let key = |(index, row): (usize, &PgRow)| Ok(((row.try_get(company_id)?, row.try_get(id)?), index));
        let indices = returned.iter().enumerate().map(key).collect::<Result<_, sqlx::Error>>()?;
        let reader = Reader::new(first)?;
        Ok(Some(Self { reader, decode, returned, indices }))
    }

    /// The record of a row.
    pub fn record(&self, index: usize) -> Result<T, Error> {
        let row = self.returned.get(index).ok_or_else(Error::internal)?;
        (self.decode)(&self.reader, row).map_err(from_database)
    }
}

/// The columns of a row's key.
fn key_ordinals(row: &PgRow) -> Result<(usize, usize), sqlx::Error> {
    Ok((row.try_column("key_company_id")?.ordinal(), row.try_column("key_id")?.ordinal()))
}

/// Large records by key: their bytes, and the memory of those that were kept.
type Large = HashMap<Key, (usize, Option<Reservation>)>;

/// What a statement has found.
type Fetched<T> = Result<(Option<Arc<Rows<T>>>, Large), sqlx::Error>;

impl<T: Record> Reads<T> {
    /// Reads by this statement.
    pub fn new(statement: ReadByKey<T>) -> Self {
        let limits = BatchLimits::for_this_machine(READS_WHEN_SLOW, MAX_QUEUED_COALESCED);
        let coalesced = Batcher::new(statement.clone(), limits);
        metrics::report_queue(statement.name, coalesced.queue_length());
        Self { statement, coalesced, in_flight: Arc::default() }
    }

    /// The company's record of this ID, with its memory if it is large. Concurrent reads become one statement.
    pub async fn get(&self, company_id: i64, id: i64) -> Result<(T, Option<Reservation>), Error> {
        let key = (company_id, id);
        let in_flight = InFlight::new(&self.in_flight);
        if in_flight.is_alone {
            return self.get_alone(key).await;
        }
        // The statement runs in a task of its own, for many callers.
        let found = self.coalesced.call((key, RequestContext::current(COALESCED_READ))).await;
        match found.map_err(from_batcher)?? {
            FoundRecord::Row(rows, index, memory) => Ok((rows.record(index)?, memory)),
            FoundRecord::TooLarge(bytes) => self.large(key, bytes).await,
        }
    }

    /// The record of a read that nothing could share a statement with.
    async fn get_alone(&self, key: Key) -> Result<(T, Option<Reservation>), Error> {
        let row = self.read(key).await?;
        let bytes = self.statement.long_bytes(&row).map_err(from_database)?;
        if bytes <= SMALL {
            return Ok((self.decode(&row)?, None));
        }
        let mut memory = self.statement.memory.reservation(Some(key.0));
        if memory.grow(bytes * COPIES).is_err() {
            // It is not held while it waits.
            drop(row);
            return self.large(key, bytes).await;
        }
        Ok((self.decode(&row)?, Some(memory)))
    }

    /// A large record of this key, read by itself once there is memory for it.
    pub async fn large(&self, key: Key, bytes: usize) -> Result<(T, Option<Reservation>), Error> {
        let mut memory = self.statement.memory.reservation(Some(key.0));
        memory.wait_to_grow(bytes * COPIES, MEMORY_WAIT).await?;
        let row = self.read(key).await?;
        Ok((self.decode(&row)?, Some(memory)))
    }

    /// The row of a record, by a statement of its own.
    async fn read(&self, key: Key) -> Result<PgRow, Error> {
        let ReadByKey { name, one, ref pool, not_found, .. } = self.statement;
        let pool = &pool.of_company(key.0);
        let read = async |pool: Connections| sqlx::query(one).bind(key.0).bind(key.1).fetch_optional(&pool).await;
        let watched = async {
            let _watch = Watch::start();
            database::short_read(pool, read).await
        };
        let purpose = StatementContext { name, ..StatementContext::current() };
        let row = tokio::time::timeout(COALESCED_TIMEOUT, purpose.run(watched)).await;
        let row = row.map_err(|_| Error::deadline_exceeded())?.map_err(from_database)?;
        row.ok_or_else(|| not_found(key.1))
    }

    fn decode(&self, row: &PgRow) -> Result<T, Error> {
        Reader::new(row).and_then(|reader| (self.statement.decode)(&reader, row)).map_err(from_database)
    }

    /// The records of these keys, in their order, from one statement for these requests.
    pub async fn get_all<'r>(
        &self,
        keys: &[Key],
        requests: impl Iterator<Item = &'r RequestContext> + Clone + Send,
    ) -> Vec<Result<FoundRecord<T>, Error>> {
        AssertUnwindSafe(self.statement.find(keys, requests)).catch_unwind().await.unwrap_or_else(|_| {
            tracing::error!("a batch of reads panicked");
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
        // Each key once: the statement would return a record as often as it is named.
        let mut unique = keys.to_vec();
        unique.sort_unstable();
        unique.dedup();
        let span = statement::batch_span(self.name, requests.clone());
        let fetched = span.run(async {
            let start = Instant::now();
            let mut fetched = self.fetch_divided(unique.clone()).await;
            if fetched.iter().any(|(_, part)| matches!(part, Ok(Err(error)) if is_moved(error))) {
                self.pool.forget_locations(unique.iter().map(|key| key.0));
                fetched = self.fetch_divided(unique).await;
            }
            statement::log_if_slow(self.name, Spent::default().since(start), requests.map(RequestContext::id));
            fetched
        });
        let fetched = StatementContext::of(self.name).run(fetched).await;
        // Of companies that are not in the first part.
        let others = fetched.iter().enumerate().skip(1);
        let others: HashMap<i64, usize> =
            others.flat_map(|(index, (part, _))| part.iter().map(move |key| (key.0, index))).collect();
        let mut parts: Vec<_> = fetched
            .into_iter()
            .map(|(_, part)| part.map_err(|_| Error::deadline_exceeded())?.map_err(from_database))
            .collect();
        let mut found = |key: &Key| {
            let part = others.get(&key.0).copied().unwrap_or_default();
            let (rows, large) =
                parts.get_mut(part).ok_or_else(Error::internal)?.as_mut().map_err(|error| error.clone())?;
            let memory = match large.get_mut(key) {
                None => None,
                // The next caller has a reservation of its own.
                Some((bytes, memory)) => match memory.take() {
                    None => return Ok(FoundRecord::TooLarge(*bytes)),
                    memory => memory,
                },
            };
            let row = rows.as_ref().and_then(|rows| Some((Arc::clone(rows), *rows.indices.get(key)?)));
            let (rows, index) = row.ok_or_else(|| (self.not_found)(key.1))?;
            Ok(FoundRecord::Row(rows, index, memory))
        };
        keys.iter().map(&mut found).collect()
    }

    /// The records of these keys by the statement that reads them: one, unless companies are on different nodes.
    async fn fetch_divided(&self, keys: Vec<Key>) -> Vec<(Vec<Key>, Result<Fetched<T>, Elapsed>)> {
        let parts = self.pool.divided(keys, |key| key.0).await;
        let fetched = parts.into_iter().map(async |part| {
            let fetched = tokio::time::timeout(COALESCED_TIMEOUT, self.fetch(&part)).await;
            (part, fetched)
        });
        join_all(fetched).await
    }

    async fn fetch(&self, keys: &[Key]) -> Fetched<T> {
        let (companies, ids): (Vec<i64>, Vec<i64>) = keys.iter().copied().unzip();
        let pool = self.pool.of_company(keys.first().map_or(0, |key| key.0));
        let read = async |pool: Connections| {
            let (mut rows, mut large, mut failed) = (Vec::new(), Large::new(), Ok(()));
            let query = sqlx::query(self.many).bind(&companies).bind(&ids);
            pool.fetch_while(query, |row| {
                match self.has_memory(&row, &mut large) {
                    Ok(true) => rows.push(row),
                    Ok(false) => {}
                    Err(error) => failed = Err(error),
                }
                ready(failed.is_ok())
            })
            .await?;
            failed?;
            Ok((Rows::new(self.decode, rows)?.map(Arc::new), large))
        };
        database::short_read(&pool, read).await
    }

    /// Whether there is memory for a row, if it is large.
    fn has_memory(&self, row: &PgRow, large: &mut Large) -> Result<bool, sqlx::Error> {
        let bytes = self.long_bytes(row)?;
        if bytes <= SMALL {
            return Ok(true);
        }
        let (company_id, id) = key_ordinals(row)?;
        let key: Key = (row.try_get(company_id)?, row.try_get(id)?);
        let mut memory = self.memory.reservation(Some(key.0));
        let has_memory = memory.grow(bytes * COPIES).is_ok();
        large.insert(key, (bytes, has_memory.then_some(memory)));
        Ok(has_memory)
    }

    /// The bytes of the columns that make a record large.
    fn long_bytes(&self, row: &PgRow) -> Result<usize, sqlx::Error> {
        let bytes = |name: &&str| Ok(row.try_get_raw(*name)?.as_bytes().map_or(0, <[u8]>::len));
        self.long.iter().map(bytes).sum()
    }
}

/// A read in flight, until this is dropped.
struct InFlight<'r> {
    reads: &'r AtomicUsize,
    /// Whether there was no other when it began.
    is_alone: bool,
}

impl<'r> InFlight<'r> {
    fn new(reads: &'r AtomicUsize) -> Self {
        Self { reads, is_alone: reads.fetch_add(1, Ordering::Relaxed) == 0 }
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.reads.fetch_sub(1, Ordering::Relaxed);
    }
}
