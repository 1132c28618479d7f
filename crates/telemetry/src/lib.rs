//! Metrics for Prometheus, traces for OpenTelemetry, and tasks whose state both show. Until a program starts them, recording costs next to
//! nothing.

/// The longest request ID of a client that is used, in bytes.
pub const MAX_REQUEST_ID: usize = 128;

pub mod background;
pub mod metrics;
pub mod trace;
