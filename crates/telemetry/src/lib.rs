//! Metrics for Prometheus, and traces for OpenTelemetry. Until a program starts them, recording costs next to nothing.

/// The longest request ID of a client that is used, in bytes.
pub const MAX_REQUEST_ID: usize = 128;

pub mod metrics;
pub mod trace;
