//! Fetches rows. Each statement borrows a connection.

use admission::{LimitReached, Reservation, SMALL};
use futures::{
    StreamExt as _, TryStreamExt as _,
    future::{BoxFuture, ready},
    stream::{self, BoxStream},
};
use sqlx::{
    Describe, Either, Execute, Executor, Postgres, Row as _, SqlStr,
    postgres::{PgQueryResult, PgRow, PgStatement, PgTypeInfo},
};

use super::connections::Connections;
use crate::limits::COPIES;

/// A statement's rows, with the memory they use.
#[derive(Debug)]
pub struct Fetched {
    /// Rows, in order.
    pub rows: Vec<PgRow>,
    /// Why the rows ended.
    pub end: End,
    /// Memory for the rows and the values decoded from them.
    pub memory: Reservation,
}

/// Why a statement's rows ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The statement has no more rows.
    Complete,
    /// The next row would exceed the requested size.
    TooLarge,
    /// No memory is left for the next row.
    LimitReached(LimitReached),
}

impl Connections {
    /// Returns the rows that fit in `most` bytes, or at least one row.
    ///
    /// Reserves their memory for the same company as `memory`. Abandons the statement if it has more rows.
    pub async fn fetch_at_most<'q, E: 'q + Execute<'q, Postgres>>(
        &self,
        query: E,
        most: usize,
        memory: &Reservation,
    ) -> Result<Fetched, sqlx::Error> {
        let (mut rows, mut bytes, mut memory) = (Vec::new(), 0, memory.empty());
        let mut end = End::Complete;
        self.fetch_while(query, |row| {
            bytes += size(&row);
            if bytes > most && !rows.is_empty() {
                end = End::TooLarge;
            } else if bytes > SMALL
                && let Err(limit) = memory.grow_to(bytes * COPIES)
            {
                end = End::LimitReached(limit);
            } else {
                rows.push(row);
            }
            ready(end == End::Complete)
        })
        .await?;
        Ok(Fetched { rows, end, memory })
    }

    /// Passes rows to `take` one by one until it returns false, and then abandons the statement.
    pub async fn fetch_while<'q, E: 'q + Execute<'q, Postgres>, F: Future<Output = bool>>(
        &self,
        query: E,
        mut take: impl FnMut(PgRow) -> F,
    ) -> Result<(), sqlx::Error> {
        let mut borrowed = self.borrow_connection().await?;
        let (connection, outage) = borrowed.connection()?;
        let reading = async {
            let mut returned = self.session(connection).stream(query);
            while let Some(row) = returned.try_next().await? {
                if !take(row).await {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        match outage.or_end(reading).await? {
            Ok(false) => Ok(()),
            result => borrowed.done(result).map(drop),
        }
    }
}

impl<'p> Executor<'p> for &'_ Connections {
    type Database = Postgres;

    fn fetch_many<'e, 'q: 'e, E>(self, query: E) -> BoxStream<'e, Result<Either<PgQueryResult, PgRow>, sqlx::Error>>
    where
        E: 'q + Execute<'q, Postgres>,
    {
        let pool = self.clone();
        let rows = stream::once(async move { pool.rows(query).await });
        Box::pin(rows.map_ok(|rows| stream::iter(rows).map(|row| Ok(Either::Right(row)))).try_flatten())
    }

    fn fetch_optional<'e, 'q: 'e, E>(self, query: E) -> BoxFuture<'e, Result<Option<PgRow>, sqlx::Error>>
    where
        E: 'q + Execute<'q, Postgres>,
    {
        let pool = self.clone();
        Box::pin(async move { Ok(pool.rows(query).await?.into_iter().next()) })
    }

    fn prepare_with<'e>(self, _: SqlStr, _: &'e [PgTypeInfo]) -> BoxFuture<'e, Result<PgStatement, sqlx::Error>>
    where
        'p: 'e,
    {
        not_used()
    }

    fn describe<'e>(self, _: SqlStr) -> BoxFuture<'e, Result<Describe<Postgres>, sqlx::Error>>
    where
        'p: 'e,
    {
        not_used()
    }
}

/// Fails, because only the connection that runs a statement prepares it.
fn not_used<'e, T: Send + 'e>() -> BoxFuture<'e, Result<T, sqlx::Error>> {
    Box::pin(ready(Err(sqlx::Error::Protocol("cannot prepare a statement without a connection".to_owned()))))
}

/// Returns the size of a row's values, in bytes.
pub fn size(row: &PgRow) -> usize {
    let value = |index| row.try_get_raw(index).ok().and_then(|value| value.as_bytes().ok()).map_or(0, <[u8]>::len);
    (0..row.len()).map(value).sum()
}
