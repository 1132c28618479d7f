//! The layouts of the input types of one database, read at start and again when a type changed under the service.

use std::sync::{Arc, PoisonError, RwLock};

use sqlx::PgPool;

use super::{Expected, Layouts, SchemaError};

/// The input types of a database.
#[derive(Debug)]
pub(crate) struct Inputs {
    pool: PgPool,
    expected: Expected,
    layouts: RwLock<Arc<Layouts>>,
}

impl Inputs {
    /// Checks the database's tables and input types, and reads the layouts of the types.
    pub(crate) async fn open(pool: &PgPool, expected: Expected) -> Result<Self, SchemaError> {
        let layouts = expected.check(pool).await?;
        Ok(Self { pool: pool.clone(), expected, layouts: RwLock::new(Arc::new(layouts)) })
    }

    /// The layouts, as they were read last.
    pub(crate) fn layouts(&self) -> Arc<Layouts> {
        Arc::clone(&self.layouts.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the layouts again if `error` says that a value has other attributes than its type (`datatype_mismatch`).
    /// Returns whether it did: then nothing was written, and the write can run again.
    pub(crate) async fn changed(&self, error: &sqlx::Error) -> bool {
        let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
        if code.is_none_or(|code| code != "42804") {
            return false;
        }
        tracing::info!("the database's input types have changed; their attributes are read again");
        match self.expected.check(&self.pool).await {
            Ok(layouts) => {
                *self.layouts.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(layouts);
                true
            }
            Err(changed) => {
                tracing::error!("the database has changed under the service: {changed}");
                false
            }
        }
    }
}
