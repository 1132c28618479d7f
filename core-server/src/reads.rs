//! Reads of single records. Concurrent reads, of all companies together, become one statement.

use std::{collections::HashMap, iter::repeat_n, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use admission::{Memory, Reservation};
use batcher::{BatchError, Batcher, Limits, Pending, RunBatch};
use compliance_api::{error::Error, record::Record};
use futures::FutureExt as _;
use sqlx::{Column as _, Row as _, postgres::PgRow};
use telemetry::trace::Span;
use tonic::Response;

use crate::{
    database::{self, COPIES, Connections, SMALL},
    error::from_database,
    requests::holding,
    table::{Read, Reader},
};

/// Statements in flight when some of them are slow.
const MAX_IN_FLIGHT_WHEN_SLOW: usize = 8;
/// Reads that wait for a statement.
const MAX_QUEUE: usize = 8192;
/// How long a statement may take.
const TIMEOUT: Duration = Duration::from_secs(20);
/// How long a large record waits for the memory that others of its company hold.
const MEMORY_WAIT: Duration = Duration::from_secs(5);

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
    /// What large records take, and what is made of them, until they were sent.
    pub(crate) memory: Memory,
    /// The columns that make a record large.
    pub(crate) long: &'static [&'static str],
}

/// Names the span of a statement that reads for many callers.
pub(crate) const COALESCED_READ: &str = "coalesced read";

/// A record that was found, not yet decoded. Its caller decodes it, so that the next statement does not wait for that,
/// and so that the thread that allocates the record also frees it.
pub(crate) enum Found<T: Record> {
    /// Its row, with the memory that it takes if it is large.
    Row(Arc<Rows<T>>, usize, Option<Reservation>),
    /// It takes so many bytes that it must wait for memory, and was not kept.
    TooLarge(usize),
}

/// The rows of a statement, one a record.
pub(crate) struct Rows<T: Record> {
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

    /// Decodes a record.
    pub(crate) fn record(&self, index: usize) -> Result<T, Error> {
        let row = self.returned.get(index).ok_or_else(Error::internal)?;
        (self.decode)(&self.reader, row).map_err(|error| from_database(&error))
    }
}

/// The columns of a row's key.
fn key_ordinals(row: &PgRow) -> Result<(usize, usize), sqlx::Error> {
    Ok((row.try_column("key_company_id")?.ordinal(), row.try_column("key_id")?.ordinal()))
}

/// Keeps the rows of a statement, large ones only if there is memory for them.
struct Keep<'s> {
    memory: &'s Memory,
    long: &'static [&'static str],
    /// The columns of `long`.
    ordinals: Option<Vec<usize>>,
    rows: Vec<PgRow>,
    large: Large,
}

/// Large records by key: the memory of those that were kept, and the size of the others.
type Large = HashMap<Key, Result<Reservation, usize>>;

impl Keep<'_> {
    fn add(&mut self, row: PgRow) -> Result<(), sqlx::Error> {
        if !self.long.is_empty() {
            let bytes = self.bytes(&row)?;
            if bytes > SMALL {
                let (company_id, id) = key_ordinals(&row)?;
                let key: Key = (row.try_get(company_id)?, row.try_get(id)?);
                let mut reservation = self.memory.reservation(Some(key.0));
                if reservation.grow(bytes * COPIES).is_err() {
                    self.large.insert(key, Err(bytes));
                    return Ok(());
                }
                self.large.insert(key, Ok(reservation));
            }
        }
        self.rows.push(row);
        Ok(())
    }

    /// The bytes of the long columns.
    fn bytes(&mut self, row: &PgRow) -> Result<usize, sqlx::Error> {
        let ordinals = if let Some(ordinals) = &self.ordinals {
            ordinals
        } else {
            let ordinals: Result<_, sqlx::Error> =
                self.long.iter().map(|name| Ok(row.try_column(name)?.ordinal())).collect();
            self.ordinals.insert(ordinals?)
        };
        let bytes = |ordinal: &usize| row.try_get_raw(*ordinal).ok()?.as_bytes().ok().map(<[u8]>::len);
        Ok(ordinals.iter().filter_map(bytes).sum())
    }
}

impl<T: Record> Reads<T> {
    pub(crate) fn new(statement: Statement<T>) -> Self {
        let limits = Limits::for_this_machine(MAX_IN_FLIGHT_WHEN_SLOW, MAX_QUEUE);
        Self { coalesced: Batcher::new(statement.clone(), limits), statement }
    }

    /// A function that returns how many reads wait, or `None` once this is dropped.
    pub(crate) fn queue_length(&self) -> impl Fn() -> Option<usize> + Send + use<T> {
        self.coalesced.queue_length()
    }

    /// The company's record of this ID. Concurrent reads become one statement.
    pub(crate) async fn get(&self, company_id: i64, id: i64) -> Result<Response<T>, Error> {
        let key = (company_id, id);
        // The statement runs in a task of its own, for many callers.
        let span = Span::of_statement(COALESCED_READ);
        let found = self.coalesced.call(key).await;
        drop(span);
        let found = match found {
            Ok(found) => found?,
            Err(BatchError::QueueFull) => return Err(Error::overloaded()),
            Err(BatchError::Closed) => return Err(Error::internal()),
        };
        let (record, memory) = match found {
            Found::Row(rows, index, memory) => (rows.record(index)?, memory),
            Found::TooLarge(bytes) => self.large(key, bytes).await?,
        };
        Ok(match memory {
            Some(memory) => holding(record, memory),
            None => Response::new(record),
        })
    }

    /// A large record of this key, read by itself once there is memory for it.
    pub(crate) async fn large(&self, key: Key, bytes: usize) -> Result<(T, Option<Reservation>), Error> {
        let mut memory = self.statement.memory.reservation(Some(key.0));
        memory.wait_to_grow(bytes * COPIES, MEMORY_WAIT).await?;
        let read = tokio::time::timeout(TIMEOUT, self.statement.fetch_large(key)).await;
        let rows = read.unwrap_or_else(|_| Err(Error::deadline_exceeded()))?;
        let rows = rows.ok_or_else(|| (self.statement.not_found)(key.1))?;
        Ok((rows.record(0)?, Some(memory)))
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
            Ok((rows, mut large)) => {
                let rows = rows.map(Arc::new);
                let mut found = |key| {
                    let mut memory = None;
                    if !large.is_empty() {
                        match large.remove(key) {
                            Some(Err(bytes)) => {
                                large.insert(*key, Err(bytes));
                                return Some(Found::TooLarge(bytes));
                            }
                            // The next caller has a reservation of its own.
                            Some(Ok(reservation)) => {
                                large.insert(*key, Err(reservation.bytes() / COPIES));
                                memory = Some(reservation);
                            }
                            None => {}
                        }
                    }
                    let rows = rows.as_ref()?;
                    let index = *rows.indices.get(key)?;
                    Some(Found::Row(Arc::clone(rows), index, memory))
                };
                keys.iter().map(|key| found(key).ok_or_else(|| (self.not_found)(key.1))).collect()
            }
            Err(error) => repeat_n(error, keys.len()).map(Err).collect(),
        }
    }

    async fn fetch(&self, keys: Vec<Key>) -> Result<(Option<Rows<T>>, Large), Error> {
        let (companies, ids): (Vec<i64>, Vec<i64>) = keys.into_iter().unzip();
        let read = async || {
            let Self { pool, memory, long, .. } = self;
            let (mut keep, mut failed) =
                (Keep { memory, long, ordinals: None, rows: Vec::new(), large: HashMap::new() }, Ok(()));
            let query = sqlx::query(self.sql).bind(&companies).bind(&ids);
            pool.fetch_while(query, |row| {
                failed = keep.add(row);
                failed.is_ok()
            })
            .await?;
            failed?;
            Ok((Rows::new(self.decode, keep.rows)?, keep.large))
        };
        database::short_read(read).await.map_err(|error| from_database(&error))
    }

    /// The row of a key, whatever its size.
    async fn fetch_large(&self, (company_id, id): Key) -> Result<Option<Rows<T>>, Error> {
        let read = || sqlx::query(self.sql).bind(vec![company_id]).bind(vec![id]).fetch_all(&self.pool);
        let rows = database::short_read(read).await;
        rows.and_then(|rows| Rows::new(self.decode, rows)).map_err(|error| from_database(&error))
    }
}
