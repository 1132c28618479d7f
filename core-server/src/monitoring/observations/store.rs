//! The statement that saves a chunk.

use std::{collections::HashMap, sync::Arc};

use compliance_api::error::Error;
use tokio::sync::Semaphore;

use super::row::{self, Row};
use crate::monitoring::context::Context;

/// Saves chunks: a few at a time, so that reads find connections as well.
pub(in crate::monitoring) struct Store {
    context: Arc<Context>,
    permits: Arc<Semaphore>,
}

/// What became of a row. Without an ID, the company does not have its affiliate.
pub(super) struct Saved {
    url_hash: Vec<u8>,
    pub(super) url_id: Option<i64>,
    pub(super) created: bool,
}

impl Store {
    pub(in crate::monitoring) fn new(context: &Arc<Context>) -> Self {
        // The writers of one company wait for each other at its counts; more of them would only hold connections.
        let permits = (context.pool.most() / 4).clamp(1, 8) as usize;
        Self { context: Arc::clone(context), permits: Arc::new(Semaphore::new(permits)) }
    }

    /// Saves rows of which no two are of the same URL. Returns what became of each.
    pub(super) async fn save(&self, company_id: i64, rows: Vec<Row>) -> Result<Vec<(Row, Saved)>, Error> {
        self.context.write_all(rows, |row| row.hash, |rows| self.run(company_id, rows)).await
    }

    async fn run(&self, company_id: i64, rows: Vec<Row>) -> Result<(Vec<Row>, HashMap<[u8; 32], Saved>), Error> {
        let _permit = self.permits.acquire().await.map_err(|_| Error::internal())?;
        let saved = self.context.write(|layouts| {
            let batch = row::INPUT.batch(&layouts, &rows);
            sqlx::query_file_as!(Saved, "src/monitoring/observations/save.sql", company_id, batch as _)
                .fetch_all(&self.context.pool)
        });
        let saved = saved.await?.into_iter().filter_map(|saved| Some((saved.url_hash[..].try_into().ok()?, saved)));
        let saved = saved.collect();
        Ok((rows, saved))
    }
}
