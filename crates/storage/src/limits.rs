//! Sizes and times that several files of storage use. Other numbers are in the file that uses them.

use std::time::Duration;

/// Maximum number of coalesced requests of one kind that wait for a statement.
pub(crate) const MAX_QUEUED_COALESCED: usize = 8192;
/// Timeout of a statement that serves coalesced requests.
pub(crate) const COALESCED_TIMEOUT: Duration = Duration::from_secs(20);
/// Size of a part of a `COPY`, in bytes. The server processes a part while the next one is encoded.
pub const COPY_PART: usize = 64 << 10;
/// Number of values from which a batch's size is estimated.
pub const SAMPLE: usize = 64;
/// Maximum number of attempts of a write that conflicts with others.
pub const MAX_TRIES: u32 = 5;
/// Copies of a row in memory: the received row, the record, and the response.
pub const COPIES: usize = 3;
/// Prepared statements per connection. The service has fewer statements, so a connection prepares each only once.
pub const STATEMENT_CACHE: usize = 256;
/// How long a request waits for a connection: well below its deadline, so that the error names the reason.
pub(crate) const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a statement waits for a lock. It then returns its connection and is retried.
///
/// Most statements take less time, and callers hardly notice the wait.
pub(crate) const LOCK_TIMEOUT: &str = "100ms";
/// How long a statement is retried while a lock blocks it.
pub(crate) const LOCK_WAIT: Duration = Duration::from_mins(1);
/// How long a migration is retried while a lock blocks it.
pub(crate) const MIGRATION_LOCK_WAIT: Duration = Duration::from_mins(10);
/// Timeout of the first connection. Also how long idle connections of sqlx's pool are kept.
pub(crate) const START_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout of the check for a pooler between the service and the database.
pub(crate) const POOLER_CHECK_TIMEOUT: Duration = Duration::from_secs(2);
