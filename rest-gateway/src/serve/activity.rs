//! The activity of a connection: its requests in flight, without a timer for each of them.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use crate::Settings;

/// The activity of a connection.
pub(super) struct Activity {
    requests: Mutex<Requests>,
    first_byte_timeout: Duration,
    idle_timeout: Duration,
    max_request_time: Duration,
}

struct Requests {
    /// When each request in flight started, by its number on the connection.
    in_flight: BTreeMap<u64, Instant>,
    /// Requests so far.
    total: u64,
    /// When the connection was opened, or a request last started or ended.
    last_change: Instant,
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
    /// A new connection.
    pub(super) fn new(settings: &Settings) -> Arc<Self> {
        Arc::new(Self {
            requests: Mutex::new(Requests { in_flight: BTreeMap::new(), total: 0, last_change: Instant::now() }),
            first_byte_timeout: settings.header_timeout,
            idle_timeout: settings.idle_timeout,
            // The body arrives, the core is called twice at most, and the client reads a list.
            max_request_time: settings.body_timeout + settings.request_timeout * 3 + settings.list_timeout,
        })
    }

    /// Counts a request as in flight until the returned guard is dropped.
    pub(super) fn start(self: &Arc<Self>) -> InFlight {
        let mut requests = self.requests();
        requests.total += 1;
        requests.last_change = Instant::now();
        let (number, now) = (requests.total, requests.last_change);
        requests.in_flight.insert(number, now);
        InFlight { activity: Arc::clone(self), number }
    }

    /// The state now.
    pub(super) fn check(&self) -> State {
        let (requests, now) = (self.requests(), Instant::now());
        if let Some(oldest) = requests.in_flight.values().next() {
            let is_stuck = *oldest + self.max_request_time <= now;
            return if is_stuck { State::Stuck } else { State::Active(now + self.idle_timeout) };
        }
        let timeout = if requests.total == 0 { self.first_byte_timeout } else { self.idle_timeout };
        let end = requests.last_change + timeout;
        if end <= now { State::Idle(now + self.idle_timeout) } else { State::Active(end) }
    }

    fn requests(&self) -> MutexGuard<'_, Requests> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request in flight.
pub(super) struct InFlight {
    activity: Arc<Activity>,
    number: u64,
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let mut requests = self.activity.requests();
        requests.in_flight.remove(&self.number);
        requests.last_change = Instant::now();
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
        // The body's 10 s, three calls of 10 s, and the list's 60 s.
        for second in 0..100 {
            let _other = activity.start();
            assert!(matches!(activity.check(), State::Active(_)), "{second}");
            advance(Duration::from_secs(1)).await;
        }
        assert_eq!(activity.check(), State::Stuck);
    }
}
