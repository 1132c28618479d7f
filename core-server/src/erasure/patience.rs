//! How the command waits for other writers.

use storage::error::{is_contention, is_lock_timeout};

use std::time::Duration;

/// How often it is tried while other writers are in its way, and the pause after the first attempt, which grows by as much each time.
const ERASURE_TRIES: u32 = 12;
/// See [`ERASURE_TRIES`].
const ERASURE_PAUSE: Duration = Duration::from_millis(50);

/// Why the command cannot erase. What it has erased stays so.
#[derive(Debug, thiserror::Error)]
pub enum ErasureError {
    /// Other writers were in the way of every attempt.
    #[error(
        "other writers of the company were in the way of {ERASURE_TRIES} attempts, the last time with: {0}. What was erased stays so. \
         Revoke the company's tokens, end its long transactions, and run the command again"
    )]
    InTheWay(sqlx::Error),
    /// The record of changes is its owner's to erase.
    #[error(
        "a company is erased as the owner of the tables, which this database role is not: use the URL of that role"
    )]
    NotOwner,
    /// The database does not respond, or rejects a statement.
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

/// The attempts of one transaction.
#[derive(Default)]
pub(super) struct Patience(u32);

impl Patience {
    /// Waits after an attempt in whose way another writer was. Fails after the last attempt, and for other errors.
    pub(super) async fn wait(&mut self, error: sqlx::Error) -> Result<(), ErasureError> {
        if !is_contention(&error) && !is_lock_timeout(&error) {
            return Err(ErasureError::Database(error));
        }
        self.0 += 1;
        if self.0 >= ERASURE_TRIES {
            return Err(ErasureError::InTheWay(error));
        }
        tracing::info!(attempt = self.0, "another writer is in the way, and the batch is erased again: {error}");
        tokio::time::sleep(ERASURE_PAUSE * self.0).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{borrow::Cow, error::Error, fmt};

    use sqlx::error::{DatabaseError, ErrorKind};

    use super::ERASURE_TRIES;
    use super::{ErasureError, Patience};

    #[derive(Debug)]
    struct Code(&'static str);

    impl fmt::Display for Code {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Code {}

    impl DatabaseError for Code {
        fn message(&self) -> &str {
            self.0
        }
        fn code(&self) -> Option<Cow<'_, str>> {
            Some(self.0.into())
        }
        fn as_error(&self) -> &(dyn Error + Send + Sync + 'static) {
            self
        }
        fn as_error_mut(&mut self) -> &mut (dyn Error + Send + Sync + 'static) {
            self
        }
        fn into_error(self: Box<Self>) -> Box<dyn Error + Send + Sync + 'static> {
            self
        }
        fn kind(&self) -> ErrorKind {
            ErrorKind::Other
        }
    }

    #[tokio::test(start_paused = true)]
    async fn other_writers_are_waited_for_a_bounded_number_of_times() {
        for code in ["40P01", "40001", "23503", "55P03"] {
            let mut patience = Patience::default();
            for _ in 1..ERASURE_TRIES {
                patience.wait(sqlx::Error::Database(Box::new(Code(code)))).await.unwrap();
            }
            let last = patience.wait(sqlx::Error::Database(Box::new(Code(code)))).await.unwrap_err();
            assert!(matches!(last, ErasureError::InTheWay(_)) && last.to_string().contains("run the command again"));
        }
        let other = Patience::default().wait(sqlx::Error::Database(Box::new(Code("42501")))).await;
        assert!(matches!(other, Err(ErasureError::Database(_))));
    }
}
