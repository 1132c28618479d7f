//! IDs of records.

/// The largest ID, 2^53 − 1. Every JSON reader represents integers up to this one exactly.
pub const MAX_ID: i64 = (1 << 53) - 1;
