//! Coalesces concurrent requests of one kind into batches.
//!
//! If fewer than [`BatchLimits::max_in_flight`] batches are running, a request starts a batch, together with requests that other tasks
//! are about to send. Otherwise it waits and joins the next batch. The number of waiting requests is limited. A panic in a batch
//! reaches only the callers of that batch. A request whose caller has left is dropped before its batch starts.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tasks of tests end with them"))]

use std::{
    future::pending,
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::{FutureExt as _, StreamExt as _, future::Either, stream::FuturesUnordered};
use tokio::{
    sync::{mpsc, oneshot},
    task::yield_now,
    time::{Instant, sleep_until},
};

/// Runs batches.
pub trait RunBatch: Send + Sync + 'static {
    /// What a caller asks for.
    type Request: Send + 'static;
    /// What a caller receives, including its errors.
    type Response: Send + 'static;

    /// Responds to every request of a batch, as soon as its response is known. Must end in bounded time.
    fn run(&self, batch: Vec<Pending<Self::Request, Self::Response>>) -> impl Future<Output = ()> + Send;
}

/// A request that waits for its response. Dropped, it reports [`BatchError::Closed`] to its caller.
#[derive(Debug)]
pub struct Pending<Q, R> {
    /// The request of the caller.
    pub request: Q,
    reply: Reply<R>,
}

/// Where the response to a request goes. It is closed when the caller leaves.
pub type Reply<R> = oneshot::Sender<R>;

impl<Q, R> Pending<Q, R> {
    /// Responds to the caller.
    pub fn respond(self, response: R) {
        // A caller that has left needs no response.
        let _ = self.reply.send(response);
    }

    /// The request, and where its response goes.
    pub fn parts_mut(&mut self) -> (&Q, &mut Reply<R>) {
        (&self.request, &mut self.reply)
    }

    /// Whether the caller has left.
    pub fn is_abandoned(&self) -> bool {
        self.reply.is_closed()
    }
}

/// The default maximum number of requests in one batch.
pub const MAX_BATCH: usize = 256;

/// The limits of a batcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchLimits {
    /// Maximum number of batches in flight. More would only make each one smaller.
    pub max_in_flight: usize,
    /// Maximum number of batches in flight, including slow batches.
    ///
    /// Slow batches do not count towards `max_in_flight`.
    pub max_in_flight_when_slow: usize,
    /// A batch that runs longer is slow.
    pub slow_after: Duration,
    /// Maximum number of requests in one batch.
    pub max_batch: usize,
    /// Maximum number of requests that wait for a batch. Further ones are refused.
    pub max_queue: usize,
}

impl BatchLimits {
    /// One batch in flight per two cores, which keeps this machine busy.
    pub fn for_this_machine(max_in_flight_when_slow: usize, max_queue: usize) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self::for_cores(cores, max_in_flight_when_slow, max_queue)
    }

    fn for_cores(cores: usize, max_in_flight_when_slow: usize, max_queue: usize) -> Self {
        Self {
            max_in_flight: (cores / 2).clamp(1, max_in_flight_when_slow.max(1)),
            max_in_flight_when_slow,
            slow_after: Duration::from_millis(50),
            max_batch: MAX_BATCH,
            max_queue,
        }
    }
}

/// Why a request has no response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchError {
    /// The queue is full.
    QueueFull,
    /// The batch ended without a response to this request: it panicked, or the runtime shuts down.
    Closed,
}

/// Coalesces requests. Clones share the queue.
#[derive(Debug)]
pub struct Batcher<B: RunBatch> {
    queue: mpsc::UnboundedSender<Pending<B::Request, B::Response>>,
    /// The number of waiting requests: in the queue, and in the next batch.
    waiting: Arc<AtomicUsize>,
    max_queue: usize,
}

impl<B: RunBatch> Clone for Batcher<B> {
    fn clone(&self) -> Self {
        Self { queue: self.queue.clone(), waiting: Arc::clone(&self.waiting), max_queue: self.max_queue }
    }
}

impl<B: RunBatch> Batcher<B> {
    /// Starts the dispatcher on the current Tokio runtime. It ends when the last clone is dropped.
    pub fn new(run: B, limits: BatchLimits) -> Self {
        let (queue, receiver) = mpsc::unbounded_channel();
        let waiting = Arc::default();
        #[allow(clippy::disallowed_methods, reason = "it catches the panics of batches, and ends with the batcher")]
        tokio::spawn(dispatch(Arc::new(run), limits, receiver, Arc::clone(&waiting)));
        Self { queue, waiting, max_queue: limits.max_queue.max(1) }
    }

    /// Returns a function for the number of waiting requests. It returns `None` once the batcher is dropped.
    pub fn queue_length(&self) -> impl Fn() -> Option<usize> + Send + use<B> {
        let (queue, waiting) = (self.queue.downgrade(), Arc::clone(&self.waiting));
        move || queue.upgrade().map(|_| waiting.load(Ordering::Relaxed))
    }

    /// Makes a request, alone or with others.
    pub async fn call(&self, request: B::Request) -> Result<B::Response, BatchError> {
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= self.max_queue {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            return Err(BatchError::QueueFull);
        }
        let (reply, response) = oneshot::channel();
        if self.queue.send(Pending { request, reply }).is_err() {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            return Err(BatchError::Closed);
        }
        response.await.map_err(|_| BatchError::Closed)
    }
}

/// Forms batches and runs them.
///
/// One batch runs in this task, which saves a lone request two task switches. Concurrent batches run in their own tasks, on other
/// processors.
async fn dispatch<B: RunBatch>(
    run: Arc<B>,
    limits: BatchLimits,
    mut queue: mpsc::UnboundedReceiver<Pending<B::Request, B::Response>>,
    waiting: Arc<AtomicUsize>,
) {
    let mut running = FuturesUnordered::new();
    // When the batches in flight started, the oldest first.
    let mut starts = Vec::new();
    let (mut runs_here, mut are_several) = (false, true);
    let mut batch = Vec::new();
    loop {
        tokio::select! {
            biased;
            Some(ended) = running.next() => {
                let (start, ran_here): (Instant, bool) = ended;
                if let Some(index) = starts.iter().position(|other| *other == start) {
                    starts.remove(index);
                }
                runs_here &= !ran_here;
                continue;
            }
            received = queue.recv_many(&mut batch, limits.max_batch), if batch.is_empty() => {
                if received == 0 {
                    break;
                }
                // Other ready tasks may be about to send requests, unless one caller sends them one after another. Requests that wait
                // for the next batch meet others there.
                let is_alone = running.is_empty() && !are_several;
                if !is_alone && free_at(&starts, &limits).is_some_and(|instant| instant <= Instant::now()) {
                    yield_now().await;
                }
                continue;
            }
            // A timer is set only while a request waits, because it would wake a processor for each lone request.
            () = until(free_at(&starts, &limits)), if !batch.is_empty() => {}
        }
        while batch.len() < limits.max_batch
            && let Ok(pending) = queue.try_recv()
        {
            batch.push(pending);
        }
        waiting.fetch_sub(batch.len(), Ordering::Relaxed);
        batch.retain(|pending| !pending.is_abandoned());
        if batch.is_empty() {
            continue;
        }
        are_several = batch.len() > 1;
        let (run, batch, start) = (Arc::clone(&run), std::mem::take(&mut batch), Instant::now());
        // A panic reaches the callers of the batch alone.
        let batch = async move { AssertUnwindSafe(run.run(batch)).catch_unwind().await.unwrap_or_default() };
        starts.push(start);
        running.push(if runs_here {
            #[allow(clippy::disallowed_methods, reason = "it is one batch, whose end is waited for")]
            let elsewhere = tokio::spawn(batch);
            Either::Left(elsewhere.map(move |_| (start, false)))
        } else {
            runs_here = true;
            Either::Right(batch.map(move |()| (start, true)))
        });
    }
    while running.next().await.is_some() {}
}

/// When another batch may start, although none of the batches in flight ends: as they become slow. `starts` are their start times. `None` if
/// one must end first.
fn free_at(starts: &[Instant], limits: &BatchLimits) -> Option<Instant> {
    if starts.len() >= limits.max_in_flight_when_slow.max(1) {
        return None;
    }
    match starts.len().checked_sub(limits.max_in_flight.max(1)) {
        // If this one is slow, so are those before it.
        Some(last) => starts[last].checked_add(limits.slow_after),
        None => Some(Instant::now()),
    }
}

async fn until(instant: Option<Instant>) {
    match instant {
        Some(instant) if instant <= Instant::now() => {}
        Some(instant) => sleep_until(instant).await,
        None => pending().await,
    }
}

#[cfg(test)]
mod tests;
