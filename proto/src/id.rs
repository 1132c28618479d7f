//! IDs of records.

/// The largest ID: 2^53 − 1, the largest integer that every JSON reader represents exactly.
pub const MAX_ID: i64 = (1 << 53) - 1;
