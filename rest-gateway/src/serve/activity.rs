//! What goes on on a connection, told by counters alone: no lock and no timer a request.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::time::Instant;

use crate::Settings;

/// What goes on on a connection.
pub(super) struct Activity {
    made: Instant,
    /// Requests that run, apart by the parity of the period in which they started.
    running: [AtomicUsize; 2],
    /// Periods of [`Self::longest`] that have passed while requests ran.
    period: AtomicUsize,
    /// When the period began; when a request last began or ended. Milliseconds since `made`.
    period_began: AtomicU64,
    last_change: AtomicU64,
    first_byte: Duration,
    idle: Duration,
    longest: Duration,
}

/// What is to be done with a connection.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing, until then.
    Good(Instant),
    /// It has had no request for too long; look again then.
    Idle(Instant),
    /// One of its requests has run for longer than any may.
    Stuck,
}

impl Activity {
    pub(super) fn new(settings: &Settings) -> Arc<Self> {
        // A body arrives, the core is asked twice at most, and a list is read by the client.
        let longest = settings.body_timeout + settings.request_timeout * 3 + settings.list_timeout;
        Arc::new(Self {
            made: Instant::now(),
            running: Default::default(),
            period: AtomicUsize::new(0),
            period_began: AtomicU64::new(0),
            last_change: AtomicU64::new(0),
            first_byte: settings.header_timeout,
            idle: settings.idle_timeout,
            longest,
        })
    }

    /// A request begins; it ends when what is returned is dropped.
    pub(super) fn start(self: &Arc<Self>) -> Running {
        let period = self.period.load(Ordering::Relaxed) % 2;
        self.running[period].fetch_add(1, Ordering::Relaxed);
        self.changed();
        Running { activity: Arc::clone(self), period }
    }

    /// When a connection that was just made is to be judged.
    pub(super) fn next_check(&self) -> Instant {
        self.made + self.first_byte
    }

    pub(super) fn judge(&self) -> Verdict {
        let now = self.made.elapsed();
        let running = [0, 1].map(|period| self.running[period].load(Ordering::Relaxed));
        if running == [0, 0] {
            self.begin_period(now);
            let last_change = self.last_change.load(Ordering::Relaxed);
            let patience = if last_change == 0 { self.first_byte } else { self.idle };
            let end = Duration::from_millis(last_change) + patience;
            return if end <= now {
                Verdict::Idle(self.made + now + self.idle)
            } else {
                Verdict::Good(self.made + end)
            };
        }
        let period_end = Duration::from_millis(self.period_began.load(Ordering::Relaxed)) + self.longest;
        if period_end <= now {
            // Those of the period before have run through all of this one.
            if running[(self.period.load(Ordering::Relaxed) + 1) % 2] > 0 {
                return Verdict::Stuck;
            }
            self.period.fetch_add(1, Ordering::Relaxed);
            self.begin_period(now);
        }
        Verdict::Good(self.made + now + self.idle)
    }

    fn begin_period(&self, now: Duration) {
        self.period_began.store(now.as_millis() as u64, Ordering::Relaxed);
    }

    fn changed(&self) {
        // Zero is for a connection that has had no request yet.
        let now = (self.made.elapsed().as_millis() as u64).max(1);
        self.last_change.store(now, Ordering::Relaxed);
    }
}

/// A request that runs.
pub(super) struct Running {
    activity: Arc<Activity>,
    period: usize,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.activity.running[self.period].fetch_sub(1, Ordering::Relaxed);
        self.activity.changed();
    }
}

/// The body of an answer: its request runs until it is sent.
pub(super) struct Tracked {
    body: Body,
    _running: Running,
}

impl Tracked {
    pub(super) fn new(body: Body, running: Running) -> Self {
        Self { body, _running: running }
    }
}

impl http_body::Body for Tracked {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::{Instant, advance};

    use super::{Activity, Verdict};
    use crate::Settings;

    fn settings() -> Settings {
        let second = Duration::from_secs(1);
        Settings {
            header_timeout: second * 3,
            idle_timeout: second * 10,
            body_timeout: second * 10,
            request_timeout: second * 10,
            list_timeout: second * 60,
            ..Settings::default()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_idle_after_its_time() {
        let activity = Activity::new(&settings());
        advance(Duration::from_secs(3)).await;
        assert!(matches!(activity.judge(), Verdict::Idle(_)));
        drop(activity.start());
        assert_eq!(activity.judge(), Verdict::Good(Instant::now() + Duration::from_secs(10)));
        advance(Duration::from_secs(10)).await;
        assert!(matches!(activity.judge(), Verdict::Idle(_)));
    }

    #[tokio::test(start_paused = true)]
    async fn one_request_of_many_that_never_ends_is_found() {
        let activity = Activity::new(&settings());
        let _stuck = activity.start();
        for second in 0..201 {
            let _other = activity.start();
            assert!(matches!(activity.judge(), Verdict::Good(_)) || second == 200, "{second}");
            advance(Duration::from_secs(1)).await;
        }
        assert_eq!(activity.judge(), Verdict::Stuck);
    }
}
