//! Bulk loading by COPY, and the IDs for it.

use anyhow::Context as _;
use sqlx::{PgPool, postgres::PgPoolCopyExt as _};

use super::rows::Rows;

/// Takes IDs from a sequence, in ascending order. A service that writes meanwhile takes others.
pub(super) async fn ids(pool: &PgPool, sequence: &str, count: u64) -> anyhow::Result<Vec<i64>> {
    if count == 0 {
        return Ok(Vec::new());
    }
    let mut ids: Vec<i64> =
        sqlx::query_scalar("select array_agg(nextval($1::regclass)) from generate_series(1, $2::bigint)")
            .bind(sequence)
            .bind(count as i64)
            .fetch_one(pool)
            .await
            .with_context(|| format!("cannot take IDs from {sequence}"))?;
    ids.sort_unstable();
    Ok(ids)
}

/// Copies rows that have been written.
pub(super) async fn copy(pool: &PgPool, table: &'static str, columns: &str, rows: Rows) -> anyhow::Result<u64> {
    if rows.count == 0 {
        return Ok(0);
    }
    let mut copy = begin(pool, table, columns).await?;
    if let Err(error) = copy.send(rows.text.into_bytes()).await {
        return Err(failed(table, error));
    }
    copy.finish().await.map_err(|error| failed(table, error))
}

/// A copy into a table, to be fed piece by piece.
pub(super) async fn begin(
    pool: &PgPool,
    table: &'static str,
    columns: &str,
) -> anyhow::Result<sqlx::postgres::PgCopyIn<sqlx::pool::PoolConnection<sqlx::Postgres>>> {
    let statement = format!("copy {table} ({columns}) from stdin");
    pool.copy_in_raw(&statement).await.map_err(|error| failed(table, error))
}

pub(super) fn failed(table: &str, error: sqlx::Error) -> anyhow::Error {
    anyhow::Error::new(error).context(format!("cannot load {table}"))
}
