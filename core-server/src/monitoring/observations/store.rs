//! The statement that saves a chunk.

use std::collections::HashMap;

use compliance_api::error::Error;

use super::row::{self, Row};
use crate::monitoring::context::Context;

/// What became of a row. Without an ID, the company does not have its affiliate.
pub(super) struct Saved {
    url_hash: Vec<u8>,
    pub(super) url_id: Option<i64>,
    pub(super) created: bool,
}

/// Saves rows of which no two are of the same URL. Returns what became of each.
pub(super) async fn save(context: &Context, company_id: i64, rows: Vec<Row>) -> Result<Vec<(Row, Saved)>, Error> {
    context.write_all(rows, |row| row.hash, |rows| run(context, company_id, rows)).await
}

async fn run(
    context: &Context,
    company_id: i64,
    rows: Vec<Row>,
) -> Result<(Vec<Row>, HashMap<[u8; 32], Saved>), Error> {
    let permit = context.queues.urls.one(company_id).await?;
    let saved = context.write_with(&permit, |pool, layouts| {
        let batch = row::INPUT.batch(&layouts, &rows);
        let save = sqlx::query_file_as!(Saved, "src/monitoring/observations/save.sql", company_id, batch as _);
        async move {
            // A chunk that may wait for a lock has a turn instead.
            let _permit = if pool.waits_for_locks() { None } else { context.chunk_permits.acquire().await.ok() };
            save.fetch_all(&pool).await
        }
    });
    let saved = saved.await?.into_iter().filter_map(|saved| Some((saved.url_hash[..].try_into().ok()?, saved)));
    let saved = saved.collect();
    Ok((rows, saved))
}
