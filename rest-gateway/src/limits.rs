//! Gateway limits that operators cannot set. [`crate::Settings`] contains the other limits, and [`admission`] the limits of both layers.

use std::time::Duration;

// Large requests.
/// Maximum memory for a request without a permit, in bytes.
pub const LARGE_REQUEST: usize = 256 << 10;
/// Maximum number of large requests in progress per processor.
pub(crate) const LARGE_REQUESTS_PER_CPU: usize = 2;
/// Maximum number of large requests in progress per processor and company.
pub(crate) const LARGE_REQUESTS_OF_A_COMPANY_PER_CPU: usize = 1;

// Request bodies.
/// Number of body bytes to read before yielding to other tasks on the thread.
pub const READ_AT_ONCE: usize = 64 << 10;
/// How long to keep reading a rejected body. Otherwise, a client could see a connection reset instead of the response.
pub(crate) const DISCARD_TIME: Duration = Duration::from_secs(5);
/// How much of a rejected body to read, in bytes, unless twice the body limit is more.
pub(crate) const DISCARD_BYTES: usize = 8 << 20;

/// Maximum time to read a table file.
pub(crate) const FILE_TIME: Duration = Duration::from_secs(20);

/// Maximum number of entity tags in `If-Match`.
pub(crate) const MAX_ENTITY_TAGS: usize = 50;
/// Maximum number of digits in an etag, a 64-bit integer.
pub(crate) const MAX_ETAG_CHARS: usize = 19;

// Responses.
/// Minimum size of a response to compress, in bytes. A response head is about as long.
pub const SMALLEST_COMPRESSED: u64 = 1024;
/// Memory to compress one response, in bytes.
pub(crate) const ENCODER_MEMORY: usize = 512 << 10;
/// Memory for a large page, in bytes: a message and its JSON, each possibly encoded again.
pub(crate) const PAGE_MEMORY: usize = 16 << 20;
/// Expected JSON size of the first records, in bytes: slightly more than a record with typical values in every field.
pub(crate) const RECORD_SIZE: usize = 1280;
/// How long clients wait before they retry after a temporary error.
pub(crate) const RETRY_WAIT: Duration = Duration::from_secs(1);
/// How long browsers can cache a preflight response.
pub(crate) const PREFLIGHT_MAX_AGE: Duration = Duration::from_hours(1);

// Cores.
/// How long a readiness check waits for the core's health.
pub(crate) const READINESS_TIMEOUT: Duration = Duration::from_secs(2);
/// How long the gateway's own check waits for a core's health.
pub(crate) const CORE_HEALTH_TIMEOUT: Duration = Duration::from_secs(2);
/// How often the gateway checks the health of cores.
pub(crate) const CORE_CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// How often the gateway checks the health of cores while a core is unhealthy.
pub(crate) const UNHEALTHY_CORE_CHECK_INTERVAL: Duration = Duration::from_millis(200);
/// Minimum time between two checks.
pub(crate) const MIN_CORE_CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// How often the gateway resolves the host names of cores.
pub(crate) const RESOLVE_INTERVAL: Duration = Duration::from_secs(5);
/// Idle time before the system sends a TCP keepalive.
pub(crate) const KEEPALIVE: Duration = Duration::from_secs(30);
/// HTTP/2 window for a list or watch, in bytes. An unread response buffers this much.
pub(crate) const LIST_WINDOW: u32 = 64 << 10;
/// Maximum number of lists and watches per connection, below a core's stream limit.
pub(crate) const LONG_RESPONSES_PER_CONNECTION: usize = 64;
/// HTTP/2 window for all other responses, in bytes. With the usual 64 KiB, batches and pages would need a round trip per 64 KiB.
pub(crate) const RESPONSE_WINDOW: u32 = 1 << 20;
/// How much longer the gateway waits than the core, so the core's own deadline error arrives first.
pub(crate) const CORE_DEADLINE_SLACK: Duration = Duration::from_millis(500);
/// How long a batch of reads can take before more batches start.
pub(crate) const READ_SLOW_AFTER: Duration = Duration::from_millis(10);
/// Maximum number of batches in flight when some are slow.
pub(crate) const READ_BATCHES_WHEN_SLOW: usize = 64;
/// Maximum number of reads that wait for a batch.
pub(crate) const MAX_QUEUED_READS: usize = 16_384;

/// Maximum number of ignored names in a response header.
pub(crate) const MAX_IGNORED_NAMES: usize = 10;
/// Maximum number of characters in an ignored name.
pub(crate) const MAX_IGNORED_CHARS: usize = 64;
