//! The statement that saves a chunk.

use std::{collections::HashMap, sync::Arc};

use compliance_api::error::Error;
use tokio::sync::Semaphore;

use super::row::{self, Row};
use crate::monitoring::context::{Context, MAX_TRIES};

/// Saves chunks: a few at a time, so that reads find connections as well.
pub(in crate::monitoring) struct Store {
    context: Arc<Context>,
    permits: Arc<Semaphore>,
}

/// What became of a row.
struct Saved {
    url_hash: Vec<u8>,
    url_id: Option<i64>,
    created: bool,
}

impl Store {
    pub(in crate::monitoring) fn new(context: &Arc<Context>) -> Self {
        // The writers of one company wait for each other at its counts; more of them would only hold connections.
        let permits = (context.pool.most() / 4).clamp(1, 8) as usize;
        Self { context: Arc::clone(context), permits: Arc::new(Semaphore::new(permits)) }
    }

    /// Saves rows of which no two are of the same URL. Returns each row, and its ID and whether it is new; no ID if the
    /// company does not have its affiliate.
    pub(super) async fn save(
        &self,
        company_id: i64,
        mut rows: Vec<Row>,
    ) -> Result<Vec<(Row, Option<(i64, bool)>)>, Error> {
        let mut results = Vec::with_capacity(rows.len());
        for _ in 0..MAX_TRIES {
            let saved = self.run(company_id, &rows).await?;
            let mut saved: HashMap<Vec<u8>, Option<(i64, bool)>> =
                saved.into_iter().map(|saved| (saved.url_hash, saved.url_id.map(|id| (id, saved.created)))).collect();
            let mut rest = Vec::new();
            for row in rows {
                match saved.remove(&row.hash[..]) {
                    Some(result) => results.push((row, result)),
                    None => rest.push(row),
                }
            }
            if rest.is_empty() {
                return Ok(results);
            }
            tracing::debug!(rest = rest.len(), "another writer added some of these URLs: they are saved again");
            rows = rest;
        }
        tracing::error!("URLs could not be saved in {MAX_TRIES} tries");
        Err(Error::internal())
    }

    async fn run(&self, company_id: i64, rows: &[Row]) -> Result<Vec<Saved>, Error> {
        let _permit = self.permits.acquire().await.map_err(|_| Error::internal())?;
        let rows: Vec<&Row> = rows.iter().collect();
        self.context
            .write(|layouts| {
                let batch = row::INPUT.batch(&layouts, &rows);
                sqlx::query_file_as!(Saved, "src/monitoring/observations/save.sql", company_id, batch as _)
                    .fetch_all(&self.context.pool)
            })
            .await
    }
}
