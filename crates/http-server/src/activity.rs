//! The activity of a connection: requests in flight and stalls, without a timer for each. A request is in flight until its response is sent.

use std::{
    collections::BTreeMap,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use futures::task::AtomicWaker;
use http_body::{Body, Frame, SizeHint};
use parking_lot::Mutex;
use tokio::{sync::Notify, time::Instant};

use crate::connection_limits::{ConnectionLimits, EARLY, MAX_BYTES_WITHOUT_REQUEST, MAX_CANCELLED};

/// The activity of a connection.
pub(crate) struct Activity {
    requests: Mutex<Requests>,
    opened: Instant,
    /// When the peer stopped reading, in milliseconds after the connection was opened, plus one. 0 while the peer reads.
    stalled: AtomicU64,
    /// Bytes from the peer since a request last started or ended.
    bytes_read: AtomicU64,
    is_http2: AtomicBool,
    /// Wakes a response body that waits for the peer to read.
    reads_again: AtomicWaker,
    /// Wakes the connection before its next check is due.
    pub(crate) changed: Notify,
    limits: ConnectionLimits,
    request_time: Option<Duration>,
}

struct Requests {
    /// Requests by their number on the connection.
    in_flight: BTreeMap<u64, InFlightRequest>,
    /// Number of requests so far.
    total: u64,
    /// Number of requests that the peer cancelled early.
    cancelled: u64,
    /// When the connection was opened, or a request last started or ended.
    last_change: Instant,
}

struct InFlightRequest {
    started: Instant,
    deadline: Option<Instant>,
}

/// The state of a connection.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Within the limits. The next check is due then.
    Active(Instant),
    /// Idle for too long, cancels most of its requests, or one of several requests exceeds its time. The next check is due then.
    Closable(Instant),
    /// The peer does not read, or its only request exceeds its time.
    Stalled,
}

impl Activity {
    /// A new connection. Each of its requests has `request_time`.
    pub(crate) fn new(limits: &ConnectionLimits, request_time: Option<Duration>) -> Arc<Self> {
        let now = Instant::now();
        Arc::new(Self {
            requests: Mutex::new(Requests { in_flight: BTreeMap::new(), total: 0, cancelled: 0, last_change: now }),
            opened: now,
            stalled: AtomicU64::new(0),
            bytes_read: AtomicU64::new(0),
            is_http2: AtomicBool::new(false),
            reads_again: AtomicWaker::new(),
            changed: Notify::new(),
            limits: limits.clone(),
            request_time,
        })
    }

    /// Counts a request as in flight until the returned guard is dropped.
    pub(crate) fn start(self: &Arc<Self>, is_http2: bool) -> InFlight {
        if is_http2 {
            self.is_http2.store(true, Ordering::Relaxed);
        }
        self.bytes_read.store(0, Ordering::Relaxed);
        let mut requests = self.requests.lock();
        requests.total += 1;
        let (number, started) = (requests.total, Instant::now());
        requests.last_change = started;
        let deadline = self.request_time.map(|time| started + time);
        requests.in_flight.insert(number, InFlightRequest { started, deadline });
        InFlight { activity: Arc::clone(self), number, is_finished: false }
    }

    /// Records whether the peer reads what is written.
    pub(crate) fn written(&self, progress: bool) {
        if !progress {
            let now = self.opened.elapsed().as_millis() as u64 + 1;
            let _ = self.stalled.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
        } else if self.stalled.load(Ordering::Relaxed) != 0 {
            self.stalled.store(0, Ordering::Relaxed);
            self.reads_again.wake();
        }
    }

    /// Counts bytes from the peer. Returns whether it sends too much without a request.
    ///
    /// On HTTP/1, the unread body of a request may follow its response.
    pub(crate) fn has_read_too_much(&self, bytes: u64) -> bool {
        if self.bytes_read.fetch_add(bytes, Ordering::Relaxed) + bytes <= MAX_BYTES_WITHOUT_REQUEST {
            return false;
        }
        let requests = self.requests.lock();
        requests.in_flight.is_empty() && (requests.total == 0 || self.is_http2())
    }

    /// Whether the peer has sent a request over HTTP/2.
    pub(crate) fn is_http2(&self) -> bool {
        self.is_http2.load(Ordering::Relaxed)
    }

    /// Whether more than one request is in flight.
    pub(crate) fn has_several(&self) -> bool {
        self.requests.lock().in_flight.len() > 1
    }

    /// Returns the current state.
    pub(crate) fn check(&self) -> State {
        let (requests, limits, now) = (self.requests.lock(), &self.limits, Instant::now());
        let stalled = self.stalled.load(Ordering::Relaxed);
        if stalled != 0 && self.opened + Duration::from_millis(stalled - 1) + limits.write_timeout <= now {
            return State::Stalled;
        }
        let interval = limits.idle_timeout.min(limits.write_timeout / 2).max(Duration::from_millis(1));
        if cancels_most(&requests) {
            return State::Closable(now + interval);
        }
        if !requests.in_flight.is_empty() {
            let earliest = requests.in_flight.values().filter_map(|request| request.deadline).min();
            return match earliest {
                // On HTTP/2, the other requests finish first.
                Some(deadline) if deadline <= now && self.is_http2() => State::Closable(now + interval),
                Some(deadline) if deadline <= now => State::Stalled,
                Some(deadline) => State::Active(deadline.min(now + interval)),
                None => State::Active(now + interval),
            };
        }
        let timeout = if requests.total == 0 { limits.header_timeout } else { limits.idle_timeout };
        let end = requests.last_change + timeout;
        if end <= now { State::Closable(now + interval) } else { State::Active(end.min(now + interval)) }
    }
}

/// Requests that are cancelled early cost the service more than the peer.
fn cancels_most(requests: &Requests) -> bool {
    requests.cancelled >= MAX_CANCELLED && requests.cancelled * 2 > requests.total
}

/// A request in flight.
pub(crate) struct InFlight {
    activity: Arc<Activity>,
    number: u64,
    is_finished: bool,
}

impl InFlight {
    /// The response has been sent.
    fn finish(&mut self) {
        self.is_finished = true;
    }

    /// On HTTP/1, waits until the peer reads what was written. On HTTP/2, each response has a window of its own.
    fn poll_read(&self, context: &Context<'_>) -> Poll<()> {
        if self.activity.is_http2() || self.activity.stalled.load(Ordering::Relaxed) == 0 {
            return Poll::Ready(());
        }
        self.activity.reads_again.register(context.waker());
        // The connection's own task writes and polls, so the state cannot change in between.
        Poll::Pending
    }

    /// Sets the deadline of the response.
    pub(crate) fn finish_by(&self, deadline: Instant) {
        if let Some(request) = self.activity.requests.lock().in_flight.get_mut(&self.number) {
            request.deadline = Some(deadline);
        }
        self.activity.changed.notify_one();
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.activity.bytes_read.store(0, Ordering::Relaxed);
        let mut requests = self.activity.requests.lock();
        let now = Instant::now();
        requests.last_change = now;
        let request = requests.in_flight.remove(&self.number);
        if !self.is_finished && request.is_some_and(|request| now < request.started + EARLY) {
            requests.cancelled += 1;
            if cancels_most(&requests) {
                self.activity.changed.notify_one();
            }
        }
    }
}

/// A response body that keeps its request in flight.
pub(crate) struct Tracked<B: Body> {
    body: B,
    /// The inner body was polled for the next frame and is not ready.
    is_polled: bool,
    in_flight: InFlight,
}

impl<B: Body> Tracked<B> {
    pub(crate) fn new(body: B, in_flight: InFlight) -> Self {
        Self { body, is_polled: false, in_flight }
    }
}

impl<B: Body + Unpin> Body for Tracked<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        // Without this wait, hyper would buffer more for a peer that does not read.
        if !self.is_polled {
            ready!(self.in_flight.poll_read(context));
        }
        let frame = Pin::new(&mut self.body).poll_frame(context);
        self.is_polled = frame.is_pending();
        // Nothing follows trailers or an error. The peer has not caused the error.
        let is_end = match &frame {
            Poll::Ready(Some(Ok(frame))) => frame.is_trailers(),
            Poll::Ready(_) => true,
            Poll::Pending => false,
        };
        if is_end {
            self.in_flight.finish();
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<B: Body> Drop for Tracked<B> {
    fn drop(&mut self) {
        // The end of a body may be known without another frame.
        if self.body.is_end_stream() {
            self.in_flight.finish();
        }
    }
}

#[cfg(test)]
mod tests;
