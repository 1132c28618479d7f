//! The activity of a connection, kept in counters: no lock and no timer for each request.

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

/// The activity of a connection. Timestamps are milliseconds since `opened`.
pub(super) struct Activity {
    opened: Instant,
    /// Requests in flight, counted apart by the parity of the period in which they started.
    in_flight: [AtomicUsize; 2],
    /// Number of the current period. A period is as long as one request may take.
    period: AtomicUsize,
    period_start: AtomicU64,
    /// When a request last started or ended; 0 if there was none yet.
    last_change: AtomicU64,
    first_byte_timeout: Duration,
    idle_timeout: Duration,
    max_request_time: Duration,
}

/// The state of a connection.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Within its limits. Check again then.
    Active(Instant),
    /// Without a request for too long. Check again then.
    Idle(Instant),
    /// One of its requests has been in flight for longer than any may.
    Stuck,
}

impl Activity {
    pub(super) fn new(settings: &Settings) -> Arc<Self> {
        // The body arrives, the core is called twice at most, and the client reads a list.
        let max_request_time = settings.body_timeout + settings.request_timeout * 3 + settings.list_timeout;
        Arc::new(Self {
            opened: Instant::now(),
            in_flight: Default::default(),
            period: AtomicUsize::new(0),
            period_start: AtomicU64::new(0),
            last_change: AtomicU64::new(0),
            first_byte_timeout: settings.header_timeout,
            idle_timeout: settings.idle_timeout,
            max_request_time,
        })
    }

    /// Counts a request as in flight until the returned guard is dropped.
    pub(super) fn start(self: &Arc<Self>) -> InFlight {
        let period = self.period.load(Ordering::Relaxed) % 2;
        self.in_flight[period].fetch_add(1, Ordering::Relaxed);
        self.changed();
        InFlight { activity: Arc::clone(self), period }
    }

    /// When a new connection is to be checked for the first time.
    pub(super) fn first_check(&self) -> Instant {
        self.opened + self.first_byte_timeout
    }

    /// The state now.
    pub(super) fn check(&self) -> State {
        let now = self.opened.elapsed();
        let in_flight = [0, 1].map(|period| self.in_flight[period].load(Ordering::Relaxed));
        if in_flight == [0, 0] {
            self.start_period(now);
            let last_change = self.last_change.load(Ordering::Relaxed);
            let timeout = if last_change == 0 { self.first_byte_timeout } else { self.idle_timeout };
            let end = Duration::from_millis(last_change) + timeout;
            return if end <= now {
                State::Idle(self.opened + now + self.idle_timeout)
            } else {
                State::Active(self.opened + end)
            };
        }
        let period_end = Duration::from_millis(self.period_start.load(Ordering::Relaxed)) + self.max_request_time;
        if period_end <= now {
            // Requests of the previous period have been in flight during all of this one.
            if in_flight[(self.period.load(Ordering::Relaxed) + 1) % 2] > 0 {
                return State::Stuck;
            }
            self.period.fetch_add(1, Ordering::Relaxed);
            self.start_period(now);
        }
        State::Active(self.opened + now + self.idle_timeout)
    }

    fn start_period(&self, now: Duration) {
        self.period_start.store(now.as_millis() as u64, Ordering::Relaxed);
    }

    fn changed(&self) {
        // 0 stands for a connection that has had no request yet.
        let now = (self.opened.elapsed().as_millis() as u64).max(1);
        self.last_change.store(now, Ordering::Relaxed);
    }
}

/// A request in flight.
pub(super) struct InFlight {
    activity: Arc<Activity>,
    period: usize,
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.activity.in_flight[self.period].fetch_sub(1, Ordering::Relaxed);
        self.activity.changed();
    }
}

/// A response body whose request is in flight until the body is sent.
pub(super) struct Tracked {
    body: Body,
    _in_flight: InFlight,
}

impl Tracked {
    pub(super) fn new(body: Body, in_flight: InFlight) -> Self {
        Self { body, _in_flight: in_flight }
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

    use super::{Activity, State};
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
    async fn a_connection_is_idle_after_its_timeout() {
        let activity = Activity::new(&settings());
        advance(Duration::from_secs(3)).await;
        assert!(matches!(activity.check(), State::Idle(_)));
        drop(activity.start());
        assert_eq!(activity.check(), State::Active(Instant::now() + Duration::from_secs(10)));
        advance(Duration::from_secs(10)).await;
        assert!(matches!(activity.check(), State::Idle(_)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_never_ends_is_detected_among_others() {
        let activity = Activity::new(&settings());
        let _stuck = activity.start();
        for second in 0..201 {
            let _other = activity.start();
            assert!(matches!(activity.check(), State::Active(_)) || second == 200, "{second}");
            advance(Duration::from_secs(1)).await;
        }
        assert_eq!(activity.check(), State::Stuck);
    }
}
