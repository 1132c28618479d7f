//! Storage metrics.

use metrics::gauge;
use telemetry::metrics::{count, describe, on_render};

const RETRIES: &str = "compliance_statement_retries_total";
/// Retry reason: a lock wait timed out.
pub const RETRY_LOCK: &str = "lock";
/// Retry reason: a concurrent write conflicted.
pub const RETRY_CONFLICT: &str = "conflict";
/// Retry reason: the connection was lost.
pub const RETRY_CONNECTION: &str = "connection";
/// Retry reason: the connection did not respond within the timeout.
pub const RETRY_SILENCE: &str = "silence";
/// Metric for statements that failed for lack of a resource.
const EXHAUSTED: &str = "compliance_database_exhausted_total";
/// Exhausted resource: disk space.
pub(crate) const EXHAUSTED_DISK: &str = "disk";
/// Exhausted resource: memory.
pub(crate) const EXHAUSTED_MEMORY: &str = "memory";
/// Exhausted resource: connections.
pub(crate) const EXHAUSTED_CONNECTIONS: &str = "connections";
/// Exhausted resource: one limited by settings, such as temporary files.
pub(crate) const EXHAUSTED_OTHER: &str = "limit";
/// The server does not accept writes. Some servers become read-only when their disk is nearly full.
pub(crate) const EXHAUSTED_READ_ONLY: &str = "read_only";

/// Counts a retry.
pub fn count_retry(reason: &'static str) {
    count(RETRIES, "reason", reason);
}

/// Counts a statement that failed for lack of a resource.
pub(crate) fn count_exhausted(reason: &'static str) {
    count(EXHAUSTED, "reason", reason);
}

/// Measures a queue's length until `length` returns `None`.
pub fn report_queue(name: &'static str, length: impl Fn() -> Option<usize> + Send + 'static) {
    on_render(gauge!("compliance_core_queue_length", "queue" => name), move || Some(length()? as f64));
}

/// Describes the counters.
pub(crate) fn describe_counts() {
    let reasons = [RETRY_LOCK, RETRY_CONFLICT, RETRY_CONNECTION, RETRY_SILENCE];
    describe(RETRIES, "Retried statements, by reason.", "reason", &reasons);
    let reasons = [EXHAUSTED_DISK, EXHAUSTED_MEMORY, EXHAUSTED_CONNECTIONS, EXHAUSTED_OTHER, EXHAUSTED_READ_ONLY];
    let description =
        "Statements that failed because the database ran out of disk space, memory, connections or a similar resource.";
    describe(EXHAUSTED, description, "reason", &reasons);
}
