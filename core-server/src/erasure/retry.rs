//! How the command retries a transaction that other writers block.

use std::time::Duration;

use storage::error::{is_contention, is_lock_timeout};
use tokio::time::sleep;

/// Maximum number of attempts of one transaction.
const ERASURE_TRIES: u32 = 12;
/// The pause after the first attempt. Each further pause is longer by the same time.
const ERASURE_PAUSE: Duration = Duration::from_millis(50);

/// Why the command cannot erase. What it has erased remains erased.
#[derive(Debug, thiserror::Error)]
pub enum ErasureError {
    /// Other writers blocked every attempt.
    #[error(
        "concurrent writes of the company blocked {ERASURE_TRIES} attempts; the last error: {0}. Erased records stay erased. \
         Revoke the company's tokens, end its long transactions, and run the command again"
    )]
    InTheWay(sqlx::Error),
    /// Only the owner can erase the record of changes.
    #[error("only the owner of the tables can erase a company: connect with the URL of that role")]
    NotOwner,
    /// The database does not respond, or rejects a statement.
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

/// Runs a transaction, and retries it while another writer blocks it.
pub(super) async fn retried<T>(
    mut transaction: impl AsyncFnMut() -> Result<T, sqlx::Error>,
) -> Result<T, ErasureError> {
    let mut attempt = 0;
    loop {
        let error = match transaction().await {
            Ok(done) => return Ok(done),
            Err(error) if is_contention(&error) || is_lock_timeout(&error) => error,
            Err(error) => return Err(ErasureError::Database(error)),
        };
        attempt += 1;
        if attempt >= ERASURE_TRIES {
            return Err(ErasureError::InTheWay(error));
        }
        tracing::info!(attempt, "a concurrent write blocked the erasure of a batch, which is retried: {error}");
        sleep(ERASURE_PAUSE * attempt).await;
    }
}

#[cfg(test)]
mod tests {
    use std::{borrow::Cow, error::Error, fmt};

    use sqlx::error::{DatabaseError, ErrorKind};

    use super::{ERASURE_TRIES, ErasureError, retried};

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
    async fn a_transaction_is_retried_a_bounded_number_of_times() {
        let fail = async |code| {
            let mut attempts = 0;
            let failed = retried::<()>(async || {
                attempts += 1;
                Err(sqlx::Error::Database(Box::new(Code(code))))
            });
            (failed.await.unwrap_err(), attempts)
        };
        for code in ["40P01", "40001", "23503", "55P03"] {
            let (last, attempts) = fail(code).await;
            assert!(matches!(last, ErasureError::InTheWay(_)) && last.to_string().contains("run the command again"));
            assert_eq!(attempts, ERASURE_TRIES);
        }
        assert!(matches!(fail("42501").await, (ErasureError::Database(_), 1)));
    }
}
