//! A few events of many.

use std::sync::{Mutex, PoisonError};

/// Events that pass in a second.
const PER_SECOND: u32 = 5;

/// Lets the first events of each second pass.
#[derive(Debug, Default)]
pub(super) struct Few(Mutex<(i64, u32)>);

impl Few {
    /// Whether an event of this second passes.
    pub(super) fn pass(&self, now: i64) -> bool {
        let mut passed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if passed.0 != now {
            *passed = (now, 0);
        }
        passed.1 = passed.1.saturating_add(1);
        passed.1 <= PER_SECOND
    }
}
