//! Limits of the gateway that operators cannot set. [`crate::Settings`] has the others, and [`admission`] has the limits of both layers.

use std::time::Duration;

// Large requests.
/// Requests that use more memory wait for a permit, in bytes.
pub const LARGE_REQUEST: usize = 256 << 10;
/// Large requests in progress per processor.
pub(crate) const LARGE_REQUESTS_PER_CPU: usize = 2;
/// Large requests in progress per processor and company.
pub(crate) const LARGE_REQUESTS_OF_A_COMPANY_PER_CPU: usize = 1;

// Bodies of requests.
/// Bytes of a body that are read without a pause. Other tasks of the thread wait during this time.
pub const READ_AT_ONCE: usize = 64 << 10;
/// How long a refused body is still read. Otherwise a client could see a reset connection before the response.
pub(crate) const DISCARD_TIME: Duration = Duration::from_secs(5);
/// How much of a refused body is read, in bytes. At least twice the body limit.
pub(crate) const DISCARD_BYTES: usize = 8 << 20;

/// Maximum number of entity tags in `If-Match`.
pub(crate) const MAX_ENTITY_TAGS: usize = 50;
/// Digits of the greatest etag, a 64-bit integer.
pub(crate) const MAX_ETAG_CHARS: usize = 19;

// Responses.
/// Minimum size of a compressed response, in bytes. The head of a response is about as long.
pub const SMALLEST_COMPRESSED: u64 = 1024;
/// Memory to compress one response with any encoding, in bytes.
pub(crate) const ENCODER_MEMORY: usize = 2 << 20;
/// Memory of a large page, in bytes: a message and its JSON, both possibly encoded again.
pub(crate) const PAGE_MEMORY: usize = 16 << 20;
/// Expected size of the first records as JSON, in bytes: slightly more than a record with usual values in every field.
pub(crate) const RECORD_SIZE: usize = 1280;
/// When a client may repeat a request after a temporary error.
pub(crate) const RETRY_WAIT: Duration = Duration::from_secs(1);
/// How long a browser may cache the response to a preflight request.
pub(crate) const PREFLIGHT_MAX_AGE: Duration = Duration::from_hours(1);

// Cores.
/// How long a readiness check waits for the core's health.
pub(crate) const READINESS_TIMEOUT: Duration = Duration::from_secs(2);
/// How long the gateway's own check waits for a core's health.
pub(crate) const CORE_HEALTH_TIMEOUT: Duration = Duration::from_secs(2);
/// How often the gateway checks the health of cores.
pub(crate) const CORE_CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// How soon the gateway checks again after a failure. The interval doubles while a core does not serve.
pub(crate) const FIRST_CORE_CHECK: Duration = Duration::from_millis(50);
/// How often names are resolved.
pub(crate) const RESOLVE_INTERVAL: Duration = Duration::from_secs(5);
/// Idle time before the system sends a keepalive.
pub(crate) const KEEPALIVE: Duration = Duration::from_secs(30);
/// Window of a list or watch, in bytes. An unread response buffers as much.
pub(crate) const LIST_WINDOW: u32 = 64 << 10;
/// Lists and watches on one connection: fewer than the streams that a core allows.
pub(crate) const LONG_RESPONSES_PER_CONNECTION: usize = 64;
/// Window of any other response, in bytes. With 64 KiB, batches and pages would need a round trip for each 64 KiB.
pub(crate) const RESPONSE_WINDOW: u32 = 1 << 20;
/// How much longer than the core the gateway waits, so that the core's own deadline error arrives first.
pub(crate) const CORE_DEADLINE_SLACK: Duration = Duration::from_millis(500);
/// After this time, a batch of reads is slow, and further batches start.
pub(crate) const READ_SLOW_AFTER: Duration = Duration::from_millis(10);
/// Maximum number of batches in flight when some are slow.
pub(crate) const READ_BATCHES_WHEN_SLOW: usize = 64;
/// Maximum number of reads that wait for a batch.
pub(crate) const MAX_QUEUED_READS: usize = 16_384;

/// Maximum number of ignored names in a response header.
pub(crate) const MAX_IGNORED_NAMES: usize = 10;
/// Maximum number of characters of an ignored name.
pub(crate) const MAX_IGNORED_CHARS: usize = 64;
