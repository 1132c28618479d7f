//! Whether several companies call.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use tokio::time::Instant;

/// Companies that called within this time of each other call at the same time.
const AT_THE_SAME_TIME: Duration = Duration::from_secs(1);

/// Notices when several companies call at the same time. Costs a call next to nothing. Clones share what they noticed.
#[derive(Clone, Debug, Default)]
pub struct Callers(Arc<Seen>);

#[derive(Debug)]
struct Seen {
    start: Instant,
    /// Whether any company has called, and the last one.
    any: AtomicBool,
    last: AtomicI64,
    /// When a call was last made by another company than the one before, in milliseconds since the start; 0: never.
    changed: AtomicU64,
}

impl Default for Seen {
    fn default() -> Self {
        Self { start: Instant::now(), any: false.into(), last: 0.into(), changed: 0.into() }
    }
}

impl Callers {
    /// A company calls.
    pub fn called(&self, company: i64) {
        let Seen { start, any, last, changed } = &*self.0;
        if last.load(Relaxed) == company && any.load(Relaxed) {
            return;
        }
        let is_first = !any.swap(true, Relaxed);
        if last.swap(company, Relaxed) != company && !is_first {
            changed.store(milliseconds(*start).max(1), Relaxed);
        }
    }

    /// Whether more than one company has called of late.
    pub fn are_several(&self) -> bool {
        let Seen { start, changed, .. } = &*self.0;
        let changed = changed.load(Relaxed);
        changed != 0 && milliseconds(*start).saturating_sub(changed) < AT_THE_SAME_TIME.as_millis() as u64
    }
}

fn milliseconds(since: Instant) -> u64 {
    since.elapsed().as_millis() as u64
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
