//! Limits shared by several storage modules. Other limits are in the module that uses them.

use std::time::Duration;

/// Maximum number of coalesced requests of one kind waiting for a statement.
pub(crate) const MAX_QUEUED_COALESCED: usize = 8192;
/// Timeout for a statement that serves coalesced requests.
pub(crate) const COALESCED_TIMEOUT: Duration = Duration::from_secs(20);
/// Size of a `COPY` part, in bytes. The server processes one part while the service encodes the next.
pub const COPY_PART: usize = 64 << 10;
/// Number of values sampled to estimate a batch's size.
pub const SAMPLE: usize = 64;
/// Maximum number of attempts for a write that conflicts with others.
pub const MAX_TRIES: u32 = 5;
/// Copies of a row in memory: the received row, the record, and the response.
pub const COPIES: usize = 3;
/// Maximum number of prepared statements per connection. The service has fewer statements, so a connection prepares each only once.
pub const STATEMENT_CACHE: usize = 256;
/// How long a request waits for a connection. Well below the request's deadline, so the error can state the reason.
pub(crate) const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a statement waits for a lock before it returns its connection and retries.
///
/// Most statements take less time, and callers hardly notice the wait.
pub(crate) const LOCK_TIMEOUT: &str = "100ms";
/// Maximum time to retry a statement blocked by a lock.
pub(crate) const LOCK_WAIT: Duration = Duration::from_mins(1);
/// Maximum time to retry a migration blocked by a lock.
pub(crate) const MIGRATION_LOCK_WAIT: Duration = Duration::from_mins(10);
/// Timeout for the first connection, and for idle connections in sqlx's pool.
pub(crate) const START_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout for detecting a pooler between the service and the database.
pub(crate) const POOLER_CHECK_TIMEOUT: Duration = Duration::from_secs(2);
