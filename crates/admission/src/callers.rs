//! Whether several companies call.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::limits::AT_THE_SAME_TIME;

/// Notices when several companies call at the same time. Clones share what they noticed.
#[derive(Clone, Debug, Default)]
pub struct Callers(Arc<Mutex<Seen>>);

#[derive(Debug, Default)]
struct Seen {
    last: Option<i64>,
    /// When a call was last made by another company than the one before.
    changed: Option<Instant>,
}

impl Callers {
    /// A company calls.
    pub fn called(&self, company: i64) {
        let seen = &mut *self.0.lock();
        if seen.last.replace(company).is_some_and(|last| last != company) {
            seen.changed = Some(Instant::now());
        }
    }

    /// Whether more than one company has called recently.
    pub fn are_several(&self) -> bool {
        self.0.lock().changed.is_some_and(|changed| changed.elapsed() < AT_THE_SAME_TIME)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::{AT_THE_SAME_TIME, Callers};

    #[tokio::test(start_paused = true)]
    async fn one_company_is_alone_until_another_calls_and_a_while_after_it() {
        let callers = Callers::default();
        assert!(!callers.are_several());
        // The ID 0 is a company's like any other.
        for _ in 0..3 {
            callers.called(0);
            assert!(!callers.are_several());
        }
        callers.called(7);
        assert!(callers.are_several());
        callers.called(7);
        advance(AT_THE_SAME_TIME / 2).await;
        callers.called(7);
        assert!(callers.are_several());
        advance(AT_THE_SAME_TIME).await;
        callers.called(7);
        assert!(!callers.are_several(), "the other company has gone");
        callers.clone().called(0);
        assert!(callers.are_several());
        advance(AT_THE_SAME_TIME).await;
        assert!(!callers.are_several(), "the time is over");
    }
}
