//! The names that a company has of its own, read when a name is not known here, and cached.
//!
//! Names are never renamed or removed, so the cache stays correct; it is keyed by company, so the names of one company never serve
//! another.

use std::sync::Arc;

use compliance_api::error::Error;
use storage::{database, error::from_database};

use super::{
    context::{CompanyWriter, Context},
    names::{CompanyNames, OwnName},
};

impl CompanyWriter<'_> {
    /// The company's names: the cached ones, if they are `enough`, otherwise read now.
    pub(super) async fn names(self, enough: impl Fn(&CompanyNames) -> bool) -> Result<Arc<CompanyNames>, Error> {
        let cached = self.context.names.get(&self.id).unwrap_or_default();
        if enough(&cached) { Ok(cached) } else { self.read_names().await }
    }

    /// The company's names, read now.
    pub(super) async fn read_names(self) -> Result<Arc<CompanyNames>, Error> {
        let Context { backend, names: cache, .. } = self.context;
        let own = database::read(&backend.pool, async |pool| {
            sqlx::query_file_as!(OwnName, "src/monitoring/names.sql", self.id).fetch_all(&pool).await
        });
        let own = own.await.map_err(from_database)?;
        let names = Arc::new(CompanyNames::new(own));
        if names.own.is_empty() {
            cache.remove(&self.id);
        } else {
            cache.insert(self.id, Arc::clone(&names));
        }
        Ok(names)
    }
}
