//! Record IDs.

/// Largest ID, 2^53 − 1. Every JSON parser represents integers up to this value exactly.
pub const MAX_ID: i64 = (1 << 53) - 1;
