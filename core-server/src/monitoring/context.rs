//! What every operation works with: connections and names.

use std::sync::Arc;

use compliance_api::error::Error;

use super::names::NameCache;
use crate::{
    database::Connections,
    error::{from_database, is_contention, is_disconnected},
    table::Layouts,
};

/// How often a statement is tried when it conflicts with another one or its connection is dead.
pub(super) const MAX_TRIES: u32 = 5;

/// What every operation works with.
pub(super) struct Context {
    pub(super) pool: Connections,
    pub(super) names: NameCache,
}

impl Context {
    pub(super) fn new(pool: &Connections) -> Self {
        Self { pool: pool.clone(), names: NameCache::new(pool) }
    }

    /// Runs a statement that sends a batch, and retries it where that helps: every write of internal services is
    /// idempotent.
    pub(super) async fn write<T, F: Future<Output = Result<T, sqlx::Error>>>(
        &self,
        run: impl Fn(Arc<Layouts>) -> F,
    ) -> Result<T, Error> {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.pool.inputs().send(&run).await {
                Err(error) if tries < MAX_TRIES && (is_contention(&error) || is_disconnected(&error)) => {
                    tracing::debug!("a write is retried: {error}");
                }
                result => return result.map_err(|error| from_database(&error)),
            }
        }
    }
}
