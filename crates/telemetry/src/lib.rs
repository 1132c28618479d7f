//! Prometheus metrics, OpenTelemetry traces, rate-limited logs and supervised background tasks.

/// Maximum size of a client's request ID, in bytes. Longer IDs are ignored.
pub const MAX_REQUEST_ID: usize = 128;

pub mod background;
pub mod log;
pub mod metrics;
mod record;
pub mod trace;
