//! Connections as an executor of sqlx: each statement borrows one.

use futures::{
    StreamExt as _, TryFutureExt as _, TryStreamExt as _,
    future::{BoxFuture, ready},
    stream::{self, BoxStream},
};
use sqlx::{
    Describe, Either, Execute, Executor, Postgres, SqlStr,
    postgres::{PgQueryResult, PgRow, PgStatement, PgTypeInfo},
};

use super::connections::Connections;

impl<'p> Executor<'p> for &'_ Connections {
    type Database = Postgres;

    fn fetch_many<'e, 'q: 'e, E>(self, query: E) -> BoxStream<'e, Result<Either<PgQueryResult, PgRow>, sqlx::Error>>
    where
        E: 'q + Execute<'q, Postgres>,
    {
        let rows = stream::once(self.clone().rows(query));
        Box::pin(rows.map_ok(|rows| stream::iter(rows).map(|row| Ok(Either::Right(row)))).try_flatten())
    }

    fn fetch_optional<'e, 'q: 'e, E>(self, query: E) -> BoxFuture<'e, Result<Option<PgRow>, sqlx::Error>>
    where
        E: 'q + Execute<'q, Postgres>,
    {
        Box::pin(self.clone().rows(query).map_ok(|rows| rows.into_iter().next()))
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

/// Statements are prepared by the connection that runs them.
fn not_used<'e, T: Send + 'e>() -> BoxFuture<'e, Result<T, sqlx::Error>> {
    Box::pin(ready(Err(sqlx::Error::Protocol("no statement is prepared without a connection".to_owned()))))
}
