//! What the gateway may use, and for how long: numbers that are decisions and not formats. What operators may set is in
//! [`crate::Settings`], and what the core limits in the same way is in [`admission`].

use std::time::Duration;

// Large requests.
/// Requests that take more bytes than this wait for a slot to be processed.
pub const LARGE_REQUEST: usize = 256 << 10;
/// Large requests that are processed at the same time, per processor.
pub(crate) const LARGE_REQUESTS_PER_CPU: usize = 2;
/// The same of one company.
pub(crate) const LARGE_REQUESTS_OF_A_COMPANY_PER_CPU: usize = 1;
/// While other companies call, a company may have one slot for so many processors: half of them stay free for the others.
pub(crate) const CPUS_PER_SLOT_WITH_OTHERS: usize = 2;
/// Large requests that wait for a slot, and how many of them one company may have.
pub(crate) const MAX_QUEUED_LARGE_REQUESTS: usize = 1024;
pub(crate) const MAX_QUEUED_LARGE_REQUESTS_OF_A_COMPANY: usize = 256;

// Bodies of requests.
/// A longer body is in pages of its own. The system gives a page when something is written to it, and takes it back with the
/// body. So a body of unknown size never has to be moved, and takes what has arrived of it. The allocator keeps what bodies had for
/// a while: with 36 bodies of 31 MiB in chunks, the process grew by 705 MiB instead of 331.
pub const BODY_IN_HEAP: usize = 64 << 10;
/// A body of at most this size is inflated at once: as it arrives, and as it becomes.
pub(crate) const INFLATED_AT_ONCE: usize = 64 << 10;
/// About how many bytes a step inflates, of at most [`INFLATED_AT_ONCE`] bytes: members without content make none.
pub(crate) const INFLATE_STEP: usize = 256 << 10;
/// How long a refused body is still read: the client could find the connection reset before it sees the response.
pub(crate) const DISCARD_TIME: Duration = Duration::from_secs(5);
/// How much of a refused body is read at most, or twice as many bytes as are allowed if that is more.
pub(crate) const DISCARD_BYTES: usize = 8 << 20;

/// Entity tags of a header `If-Match`.
pub(crate) const MAX_ENTITY_TAGS: usize = 50;
/// Digits of an etag: those of the greatest 64-bit integer.
pub(crate) const MAX_ETAG_CHARS: usize = 19;

// Responses.
/// A response of fewer bytes is sent as it is: its head is as long.
pub const SMALLEST_COMPRESSED: u64 = 1024;
/// What the compression of one response takes, of whatever kind, in bytes.
pub(crate) const ENCODER_MEMORY: usize = 2 << 20;
/// What a large page takes in memory: a record as a message and as JSON, each of which can be encoded yet.
pub(crate) const PAGE_MEMORY: usize = 16 << 20;
/// What the first records are taken to have as JSON, in bytes: somewhat more than one with usual values in every field.
pub(crate) const RECORD_SIZE: usize = 1280;
/// When a client may repeat a request after an error that may go away.
pub(crate) const RETRY_WAIT: Duration = Duration::from_secs(1);
/// How long a browser may remember what pages of other origins may send.
pub(crate) const PREFLIGHT_MAX_AGE: Duration = Duration::from_hours(1);

// Cores.
/// How long a core may take to report its health, to a client that asks whether the service is ready and to the gateway.
pub(crate) const READINESS_TIMEOUT: Duration = Duration::from_secs(2);
pub(crate) const CORE_HEALTH_TIMEOUT: Duration = Duration::from_secs(2);
/// How often cores are asked for their health.
pub(crate) const CORE_CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// How soon cores are asked again when one of them has just failed. The interval doubles while one does not serve.
pub(crate) const FIRST_CORE_CHECK: Duration = Duration::from_millis(50);
/// How often names are resolved.
pub(crate) const RESOLVE_INTERVAL: Duration = Duration::from_secs(5);
/// After how much silence the system asks whether the peer is still there.
pub(crate) const KEEPALIVE: Duration = Duration::from_secs(30);
/// What a list that is not read keeps here.
pub(crate) const LIST_WINDOW: u32 = 64 << 10;
/// Watches of one connection, fewer than a core lets a connection have streams.
pub(crate) const WATCHES_OF_A_CONNECTION: usize = 64;
/// What any other response does. Batches and pages are large; a window of 64 KiB would cost them a round trip for each 64 KiB.
pub(crate) const RESPONSE_WINDOW: u32 = 1 << 20;
/// How much longer than the core itself the gateway waits, so that the core's own error on a deadline arrives first.
pub(crate) const CORE_DEADLINE_SLACK: Duration = Duration::from_millis(500);
/// How long the reads of a batch usually take. Behind a read that takes longer, further batches start.
pub(crate) const READ_SLOW_AFTER: Duration = Duration::from_millis(10);
/// Batches of reads in flight when some of them are slow.
pub(crate) const READ_BATCHES_WHEN_SLOW: usize = 64;
/// Reads that wait for a batch.
pub(crate) const MAX_QUEUED_READS: usize = 16_384;

/// Names of ignored parameters in the header of a response, and characters of each.
pub(crate) const MAX_IGNORED_NAMES: usize = 10;
/// See [`MAX_IGNORED_NAMES`].
pub(crate) const MAX_IGNORED_CHARS: usize = 64;
