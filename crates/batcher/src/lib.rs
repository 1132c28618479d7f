//! Coalesces concurrent requests of one kind into batches.
//!
//! While fewer than [`BatchLimits::max_in_flight`] batches are running, a request starts a new batch and includes requests that other tasks are about
//! to send. Otherwise, it joins the next batch. The queue is bounded. A panic in a batch affects only the callers of that batch. If a caller
//! disconnects before its batch starts, the batcher drops the request.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "the test's runtime aborts its tasks"))]

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
    /// One caller's request.
    type Request: Send + 'static;
    /// The response to one caller, including any error.
    type Response: Send + 'static;

    /// Responds to each request in a batch as soon as its response is known. Must finish in bounded time.
    fn run(&self, batch: Vec<Pending<Self::Request, Self::Response>>) -> impl Future<Output = ()> + Send;
}

/// A request waiting for its response. Dropping it reports [`BatchError::Closed`] to the caller.
#[derive(Debug)]
pub struct Pending<Q, R> {
    /// The caller's request.
    pub request: Q,
    reply: Reply<R>,
}

/// Sends the response to the caller. Closed once the caller disconnects.
pub type Reply<R> = oneshot::Sender<R>;

impl<Q, R> Pending<Q, R> {
    /// Responds to the caller.
    pub fn respond(self, response: R) {
        // Sending fails only if the caller has disconnected.
        let _ = self.reply.send(response);
    }

    /// Returns the request and its reply channel.
    pub fn parts_mut(&mut self) -> (&Q, &mut Reply<R>) {
        (&self.request, &mut self.reply)
    }

    /// Returns whether the caller has disconnected.
    pub fn is_abandoned(&self) -> bool {
        self.reply.is_closed()
    }
}

/// Default maximum number of requests per batch.
pub const MAX_BATCH: usize = 256;

/// Limits of a batcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchLimits {
    /// Maximum number of batches in flight, not counting slow ones. A higher limit would only make batches smaller.
    pub max_in_flight: usize,
    /// Maximum number of batches in flight, including slow ones.
    pub max_in_flight_when_slow: usize,
    /// Run time after which a batch is considered slow.
    pub slow_after: Duration,
    /// Maximum number of requests per batch.
    pub max_batch: usize,
    /// Maximum number of waiting requests. The batcher rejects excess requests.
    pub max_queue: usize,
}

impl BatchLimits {
    /// Allows one batch in flight per two cores, which keeps this machine busy.
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

/// Why a request received no response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchError {
    /// The queue is full.
    QueueFull,
    /// The batch ended without responding, because it panicked or the runtime is shutting down.
    Closed,
}

/// Coalesces requests into batches. Clones share one queue.
#[derive(Debug)]
pub struct Batcher<B: RunBatch> {
    queue: mpsc::UnboundedSender<Pending<B::Request, B::Response>>,
    /// Number of waiting requests, in the queue and in the next batch.
    waiting: Arc<AtomicUsize>,
    max_queue: usize,
}

impl<B: RunBatch> Clone for Batcher<B> {
    fn clone(&self) -> Self {
        Self { queue: self.queue.clone(), waiting: Arc::clone(&self.waiting), max_queue: self.max_queue }
    }
}

impl<B: RunBatch> Batcher<B> {
    /// Starts the dispatcher on the current Tokio runtime. The dispatcher ends when the last clone is dropped.
    pub fn new(run: B, limits: BatchLimits) -> Self {
        let (queue, receiver) = mpsc::unbounded_channel();
        let waiting = Arc::default();
        #[allow(clippy::disallowed_methods, reason = "the dispatcher catches batch panics and ends with the batcher")]
        tokio::spawn(dispatch(Arc::new(run), limits, receiver, Arc::clone(&waiting)));
        Self { queue, waiting, max_queue: limits.max_queue.max(1) }
    }

    /// Returns a function that reads the queue length, or `None` once the batcher is dropped.
    pub fn queue_length(&self) -> impl Fn() -> Option<usize> + Send + use<B> {
        let (queue, waiting) = (self.queue.downgrade(), Arc::clone(&self.waiting));
        move || queue.upgrade().map(|_| waiting.load(Ordering::Relaxed))
    }

    /// Sends a request in a batch and returns its response.
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

/// Forms and runs batches.
///
/// One batch runs in this task, which saves a lone request two task switches. Concurrent batches run in their own tasks on other cores.
async fn dispatch<B: RunBatch>(
    run: Arc<B>,
    limits: BatchLimits,
    mut queue: mpsc::UnboundedReceiver<Pending<B::Request, B::Response>>,
    waiting: Arc<AtomicUsize>,
) {
    let mut running = FuturesUnordered::new();
    // Start times of the batches in flight, oldest first.
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
                // Other ready tasks may be about to send requests, unless a single caller sends one after another. Requests that wait for
                // the next batch are coalesced anyway.
                let is_alone = running.is_empty() && !are_several;
                if !is_alone && free_at(&starts, &limits).is_some_and(|instant| instant <= Instant::now()) {
                    yield_now().await;
                }
                continue;
            }
            // The timer runs only while a request waits. Otherwise, every lone request would wake a core.
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
        // A panic affects only the callers of this batch.
        let batch = async move { AssertUnwindSafe(run.run(batch)).catch_unwind().await.unwrap_or_default() };
        starts.push(start);
        running.push(if runs_here {
            #[allow(clippy::disallowed_methods, reason = "the dispatcher waits for the batch to end")]
            let elsewhere = tokio::spawn(batch);
            Either::Left(elsewhere.map(move |_| (start, false)))
        } else {
            runs_here = true;
            Either::Right(batch.map(move |()| (start, true)))
        });
    }
    while running.next().await.is_some() {}
}

/// Returns when the next batch can start while all others are still running, or `None` if one must end first.
///
/// `starts` contains the running batches' start times, oldest first.
fn free_at(starts: &[Instant], limits: &BatchLimits) -> Option<Instant> {
    if starts.len() >= limits.max_in_flight_when_slow.max(1) {
        return None;
    }
    match starts.len().checked_sub(limits.max_in_flight.max(1)) {
        // Once this batch is slow, all older ones are slow.
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
