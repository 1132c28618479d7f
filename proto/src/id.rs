//! IDs of records.

/// The largest ID there can be: 2^53 − 1, the largest integer that every JSON reader keeps exact.
pub const MAX_ID: i64 = (1 << 53) - 1;
