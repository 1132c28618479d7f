//! Metrics for Prometheus, and traces for OpenTelemetry. Until a program starts them, recording costs next to nothing.

pub mod metrics;
pub mod trace;
