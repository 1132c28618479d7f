//! Concurrent reads of records by key, gathered into one statement. Keys carry the company.

use std::{collections::HashMap, time::Duration};

use batcher::{Fetch, Limits, Refused};
use compliance_api::error::Error;
use sqlx::{Row as _, postgres::PgRow};

use crate::database::Connections;

use crate::{database, error::from_database};

/// Fetches under way when those do not come back.
const UNDER_WAY_AT_MOST: usize = 8;
/// Reads that wait.
const WAITING: usize = 8192;
/// How long a statement of this kind may take.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A record's key: company and ID.
type Key = (i64, i64);

/// Reads records of one kind by key. Clones share the queue.
pub(crate) type Gather<T> = batcher::Gather<Records<T>>;

/// A statement that reads records of one kind by key.
pub(crate) struct Records<T> {
    pool: Connections,
    sql: &'static str,
    decode: fn(&PgRow) -> Result<T, sqlx::Error>,
}

/// A reader of records. `sql` takes the companies and the IDs as two arrays and returns the company and the ID of each
/// record in the first two columns; `decode` reads a row.
pub(crate) fn records<T: Clone + Send + Sync + 'static>(
    pool: &Connections,
    sql: &'static str,
    decode: fn(&PgRow) -> Result<T, sqlx::Error>,
) -> Gather<T> {
    Gather::new(Records { pool: pool.clone(), sql, decode }, Limits::for_this_machine(UNDER_WAY_AT_MOST, WAITING))
}

/// The record of a key, or `None`.
pub(crate) async fn get<T: Clone + Send + Sync + 'static>(
    gather: &Gather<T>,
    company_id: i64,
    id: i64,
) -> Result<Option<T>, Error> {
    gather.get((company_id, id)).await.unwrap_or_else(|refused| {
        Err(match refused {
            Refused::Full => Error::overloaded(),
            Refused::Lost => Error::internal(),
        })
    })
}

impl<T: Clone + Send + Sync + 'static> Fetch for Records<T> {
    type Key = Key;
    type Answer = Result<Option<T>, Error>;

    async fn fetch(&self, keys: Vec<Key>) -> Vec<Self::Answer> {
        let found = tokio::time::timeout(TIMEOUT, self.read(&keys)).await;
        match found.unwrap_or_else(|_| Err(Error::deadline_exceeded())) {
            Ok(found) => keys.iter().map(|key| Ok(found.get(key).cloned())).collect(),
            Err(error) => vec![Err(error); keys.len()],
        }
    }
}

impl<T: Clone> Records<T> {
    async fn read(&self, keys: &[Key]) -> Result<HashMap<Key, T>, Error> {
        // Each key once: the statement would read a record as often as it is named.
        let mut keys = keys.to_vec();
        keys.sort_unstable();
        keys.dedup();
        let (companies, ids): (Vec<i64>, Vec<i64>) = keys.into_iter().unzip();
        let rows = database::read(|| sqlx::query(self.sql).bind(&companies).bind(&ids).fetch_all(&self.pool)).await;
        let rows = rows.map_err(|error| from_database(&error))?;
        rows.iter()
            .map(|row| Ok(((row.try_get(0)?, row.try_get(1)?), (self.decode)(row)?)))
            .collect::<Result<_, sqlx::Error>>()
            .map_err(|error| from_database(&error))
    }
}
