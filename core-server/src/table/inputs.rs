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

    fn layouts(&self) -> Arc<Layouts> {
        Arc::clone(&self.layouts.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Runs a write that sends batches. If the database reports that a type has other attributes by now, nothing was
    /// written: the layouts are read again and the write runs once more.
    pub(crate) async fn send<T, F: Future<Output = Result<T, sqlx::Error>>>(
        &self,
        run: impl Fn(Arc<Layouts>) -> F,
    ) -> Result<T, sqlx::Error> {
        match run(self.layouts()).await {
            Err(error) if is_other_layout(&error) => {
                tracing::info!("the database's input types have changed; their attributes are read again");
                match self.expected.check(&self.pool).await {
                    Ok(layouts) => {
                        let layouts = Arc::new(layouts);
                        *self.layouts.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&layouts);
                        run(layouts).await
                    }
                    Err(changed) => {
                        tracing::error!("the database has changed under the service: {changed}");
                        Err(error)
                    }
                }
            }
            result => result,
        }
    }
}

/// `datatype_mismatch`: a value has other attributes than its type.
fn is_other_layout(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    code.is_some_and(|code| code == "42804")
}
