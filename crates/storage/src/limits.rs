//! What storage may use, and for how long: every number that is a decision and not a format.

use std::time::Duration;

// Reads and writes that are coalesced.
/// Statements in flight when some of them are slow.
pub(crate) const READS_WHEN_SLOW: usize = 8;
pub(crate) const WRITES_WHEN_SLOW: usize = 4;
/// Requests of one kind that wait for a statement.
pub(crate) const MAX_QUEUED_COALESCED: usize = 8192;
pub(crate) const COALESCED_TIMEOUT: Duration = Duration::from_secs(20);

// Writes.
/// Bytes that are encoded before they are sent. The server works on them while the next part is encoded.
pub const COPY_PART: usize = 64 << 10;
/// After so many values of a batch, the size of the others is estimated.
pub const SAMPLE: usize = 64;
/// Companies whose node of Citus is known without asking. Each takes some 50 bytes.
pub(crate) const MAX_LOCATED_COMPANIES: usize = 100_000;

// Webhooks.
/// How long it may take until the positions of all companies have jumped ahead, after a restore.
pub(crate) const RESTORE_TIMEOUT: Duration = Duration::from_mins(10);
/// How long to wait before that is tried again.
pub(crate) const RESTORE_PAUSE: Duration = Duration::from_secs(1);

// Statements and connections.
/// How often a write is tried that conflicts with another one.
pub const MAX_TRIES: u32 = 5;
/// A row is held as it was received, as a record, and as a part of the response.
pub const COPIES: usize = 3;
/// Statements that a connection keeps prepared: more than the service has, so that it prepares each once.
pub const STATEMENT_CACHE: usize = 256;
/// How long a request waits for a connection. Well below its deadline, so that a lack of connections is reported as such.
pub(crate) const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);
/// Connections that no statement borrows: the one in reserve, and one of the pool for questions about the schema.
pub(crate) const NOT_BORROWED: usize = 2;
/// A statement that takes longer is logged, and so many of the IDs of its requests.
pub(crate) const SLOW_STATEMENT: Duration = Duration::from_secs(1);
/// See [`SLOW_STATEMENT`].
pub(crate) const LOGGED_REQUESTS: usize = 10;
/// How long a read waits for a lock. It then returns its connection and runs again.
pub(crate) const LOCK_TIMEOUT: &str = "1s";
/// The same for a statement that writes for several companies: longer than another one takes, and too short to be noticed.
pub const SHARED_LOCK_TIMEOUT: &str = "50ms";
/// The same for the first try of a write of one company, which then waits for its turn.
pub(crate) const FIRST_LOCK_TIMEOUT: &str = "5ms";
/// How long a statement is run again while it finds a lock in its way.
pub(crate) const LOCK_WAIT: Duration = Duration::from_mins(1);
/// How long a migration is tried again while it finds a lock in its way, and the pause between two attempts, in which the
/// statements that wait behind it run.
pub(crate) const MIGRATION_LOCK_WAIT: Duration = Duration::from_mins(10);
/// See [`MIGRATION_LOCK_WAIT`].
pub(crate) const MIGRATION_PAUSE: Duration = Duration::from_secs(2);
/// How long an attempt of a migration waits for a lock. Later statements wait behind it, one in fifty of them while a
/// backup keeps it from its lock: so long that it outlasts nearly every statement, and so short that hardly a caller notices.
pub(crate) const MIGRATION_LOCK_TIMEOUT: &str = "40ms";
/// After this time without its lock, an attempt waits longer, so that long statements that overlap cannot keep it waiting for ever.
pub(crate) const MIGRATION_PATIENCE: Duration = Duration::from_mins(5);
/// See [`MIGRATION_PATIENCE`].
pub(crate) const MIGRATION_LONG_LOCK_TIMEOUT: &str = "1s";
/// How long the first attempt of a read by key may take.
pub(crate) const SHORT_READ_TIMEOUT: Duration = Duration::from_secs(3);
/// How long the first connection may take, and how long connections of the pool are kept after the start.
pub(crate) const START_TIMEOUT: Duration = Duration::from_secs(10);
/// How many hosts a database may have, and for how many seconds a connection to one may be waited for.
pub(crate) const MAX_HOSTS: usize = 16;
pub(crate) const MAX_CONNECT_SECONDS: u64 = 300;
/// How long it may take to find out whether a pooler is in between.
pub(crate) const POOLER_CHECK_TIMEOUT: Duration = Duration::from_secs(2);
/// How often a statement is run to see whether a pooler gives it another process of the server. Each is one round trip.
pub(crate) const POOLER_CHECKS: usize = 5;
/// When a connection is replaced, so that none keeps its memory, or the server that a name resolved to, for good.
pub(crate) const CONNECTION_LIFETIME: Duration = Duration::from_mins(30);
/// Errors of abandoned statements that a connection may report before it is ready. There is one for each statement.
pub(crate) const LATE_ERRORS: usize = 16;
/// How long the clean-up of an abandoned connection may take before it is closed.
pub(crate) const CLEANUP_TIMEOUT: Duration = Duration::from_secs(2);
/// When a statement is cancelled again: a cancellation that arrives before the statement has no effect.
pub(crate) const CANCEL_INTERVAL: Duration = Duration::from_millis(100);
pub(crate) const CANCEL_TIMEOUT: Duration = Duration::from_millis(500);
pub(crate) const CHECK_TIMEOUT: Duration = Duration::from_millis(500);
/// How long a check waits for the open connection before it opens another one.
pub(crate) const HEDGE_DELAY: Duration = Duration::from_millis(200);
/// How often the database is checked.
pub(crate) const CHECK_INTERVAL: Duration = Duration::from_millis(250);
pub(crate) const CHECK_INTERVAL_WHEN_DOWN: Duration = Duration::from_millis(100);
/// How often the log says why the database is away, if the reason stays the same.
pub(crate) const REASON_LOG_INTERVAL: Duration = Duration::from_secs(30);
/// The shortest time between two checks, however many connections were lost.
pub(crate) const SHORTEST_CHECK_INTERVAL: Duration = Duration::from_millis(10);
/// How long suspected connections may stay silent before they are abandoned.
pub(crate) const SUSPECTED_SILENCE: Duration = Duration::from_secs(1);
/// A connection that has not been used for longer is checked before anybody needs it.
pub(crate) const CONNECTION_UNCHECKED: Duration = Duration::from_secs(2);
/// How long it takes until a replica that has not replayed enough is asked again.
pub(crate) const REPLAY_PAUSE: Duration = Duration::from_millis(2);
