//! Concurrent reads of one shape, gathered into one statement.
//!
//! While a worker's statement runs, further reads wait in a bounded queue; when it is done the worker takes all of
//! them at once. An idle service therefore adds no wait, and a busy one makes one round trip for many reads. Keys carry
//! the company. A caller that goes away loses its own answer only.

use std::{collections::HashMap, sync::Arc, time::Duration};

use compliance_api::error::Error;
use sqlx::{PgPool, Row as _, postgres::PgRow};
use tokio::sync::{Mutex, mpsc, oneshot};

use crate::{database, error::from_database};

/// Reads in one statement, at most.
const MOST_AT_ONCE: usize = 256;
/// Reads that wait, at most; more are refused as overload.
const MOST_WAITING: usize = 8192;
/// Statements of one shape at the same time.
const WORKERS: usize = 2;
/// How long a statement of this kind may take.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A record's key: company and ID.
type Key = (i64, i64);

struct Wanted<T> {
    key: Key,
    answer: oneshot::Sender<Result<Option<T>, Error>>,
}

/// Reads records of one kind by key. Cheap to clone.
pub(crate) struct Gather<T> {
    queue: mpsc::Sender<Wanted<T>>,
}

impl<T> Clone for Gather<T> {
    fn clone(&self) -> Self {
        Self { queue: self.queue.clone() }
    }
}

impl<T: Clone + Send + 'static> Gather<T> {
    /// Starts the workers. `sql` takes the companies and the IDs as two arrays and answers with the company and the ID
    /// of each record in the first two columns; `decode` reads a row.
    pub(crate) fn start(pool: &PgPool, sql: &'static str, decode: fn(&PgRow) -> Result<T, sqlx::Error>) -> Self {
        let (queue, wanted) = mpsc::channel(MOST_WAITING);
        let wanted = Arc::new(Mutex::new(wanted));
        for _ in 0..WORKERS {
            tokio::spawn(work(pool.clone(), sql, decode, Arc::clone(&wanted)));
        }
        Self { queue }
    }

    /// The record of a key, or `None`.
    pub(crate) async fn get(&self, company_id: i64, id: i64) -> Result<Option<T>, Error> {
        let (answer, read) = oneshot::channel();
        self.queue.try_send(Wanted { key: (company_id, id), answer }).map_err(|_| Error::overloaded())?;
        read.await.unwrap_or_else(|_| Err(Error::internal()))
    }
}

async fn work<T: Clone>(
    pool: PgPool,
    sql: &'static str,
    decode: fn(&PgRow) -> Result<T, sqlx::Error>,
    queue: Arc<Mutex<mpsc::Receiver<Wanted<T>>>>,
) {
    let mut batch = Vec::with_capacity(MOST_AT_ONCE);
    loop {
        // The lock is held while waiting: the other worker is next in line, not at the same message.
        if queue.lock().await.recv_many(&mut batch, MOST_AT_ONCE).await == 0 {
            return;
        }
        batch.retain(|wanted| !wanted.answer.is_closed());
        if batch.is_empty() {
            continue;
        }
        let found = tokio::time::timeout(TIMEOUT, fetch(&pool, sql, decode, &batch)).await;
        match found.unwrap_or_else(|_| Err(Error::deadline_exceeded())) {
            Ok(found) => {
                for Wanted { key, answer } in batch.drain(..) {
                    // A caller that has gone wants no answer.
                    let _ = answer.send(Ok(found.get(&key).cloned()));
                }
            }
            Err(error) => {
                for wanted in batch.drain(..) {
                    let _ = wanted.answer.send(Err(error.clone()));
                }
            }
        }
    }
}

async fn fetch<T>(
    pool: &PgPool,
    sql: &'static str,
    decode: fn(&PgRow) -> Result<T, sqlx::Error>,
    batch: &[Wanted<T>],
) -> Result<HashMap<Key, T>, Error> {
    let mut keys: Vec<Key> = batch.iter().map(|wanted| wanted.key).collect();
    keys.sort_unstable();
    keys.dedup();
    let (companies, ids): (Vec<i64>, Vec<i64>) = keys.into_iter().unzip();
    let rows = database::read(|| sqlx::query(sql).bind(&companies).bind(&ids).fetch_all(pool)).await;
    let rows = rows.map_err(|error| from_database(&error))?;
    rows.iter()
        .map(|row| Ok(((row.try_get(0)?, row.try_get(1)?), decode(row)?)))
        .collect::<Result<_, sqlx::Error>>()
        .map_err(|error| from_database(&error))
}
