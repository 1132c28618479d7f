//! Coalesces concurrent requests of one kind into batches.
//!
//! If fewer than [`BatchLimits::max_in_flight`] batches are running, a request starts a batch after one yield to the
//! scheduler, together with what other tasks send in the meantime. Otherwise it waits in a bounded queue and joins the
//! next batch. A panic in a batch reaches the callers of that batch alone. A request whose caller has gone away is dropped
//! before its batch starts.

use std::{
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::{FutureExt as _, StreamExt as _, stream};
use tokio::{
    pin,
    sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot},
    time::timeout,
};

/// Runs batches.
pub trait RunBatch: Send + Sync + 'static {
    /// What a caller asks for.
    type Request: Send + 'static;
    /// What a caller receives, errors of its own included.
    type Response: Send + 'static;

    /// Responds to every request of a batch, each as soon as its response is known. Must end in bounded time.
    fn run(&self, batch: Vec<Pending<Self::Request, Self::Response>>) -> impl Future<Output = ()> + Send;
}

/// A request that waits for its response. Dropped, it reports [`BatchError::Closed`] to its caller.
#[derive(Debug)]
pub struct Pending<Q, R> {
    /// What the caller asks for.
    pub request: Q,
    reply: Reply<R>,
}

/// Where the response to a request goes. It is closed when the caller goes away.
pub type Reply<R> = oneshot::Sender<R>;

impl<Q, R> Pending<Q, R> {
    /// Responds to the caller.
    pub fn respond(self, response: R) {
        // A caller that has gone away needs no response.
        let _ = self.reply.send(response);
    }

    /// The request, and where its response goes.
    pub fn parts_mut(&mut self) -> (&Q, &mut Reply<R>) {
        (&self.request, &mut self.reply)
    }

    /// Whether the caller has gone away.
    pub fn is_abandoned(&self) -> bool {
        self.reply.is_closed()
    }
}

/// Requests in one batch, if nothing else is set.
pub const MAX_BATCH: usize = 256;

/// How much runs, and how much waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchLimits {
    /// Batches in flight. More of them would only make each one smaller.
    pub max_in_flight: usize,
    /// Batches in flight, slow ones included. A slow batch does not count towards `max_in_flight`.
    pub max_in_flight_when_slow: usize,
    /// How long a batch runs until it is slow.
    pub slow_after: Duration,
    /// Requests in one batch.
    pub max_batch: usize,
    /// Requests that wait for a batch. Further ones are refused.
    pub max_queue: usize,
}

impl BatchLimits {
    /// One batch in flight for every two cores, which keeps this machine busy.
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
    /// As many requests wait as may.
    QueueFull,
    /// The batch ended without a response to this request: it panicked, or the runtime shuts down.
    Closed,
}

/// Coalesces requests. Clones share the queue.
#[derive(Debug)]
pub struct Batcher<B: RunBatch>(mpsc::Sender<Pending<B::Request, B::Response>>);

impl<B: RunBatch> Clone for Batcher<B> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<B: RunBatch> Batcher<B> {
    /// Starts the dispatcher on the current Tokio runtime. It ends when the last clone is dropped.
    pub fn new(run: B, limits: BatchLimits) -> Self {
        let (sender, receiver) = mpsc::channel(limits.max_queue.max(1));
        tokio::spawn(dispatch(Arc::new(run), limits, receiver));
        Self(sender)
    }

    /// A function that returns how many requests wait, or `None` once the batcher is dropped.
    pub fn queue_length(&self) -> impl Fn() -> Option<usize> + Send + use<B> {
        let sender = self.0.downgrade();
        move || sender.upgrade().map(|queue| queue.max_capacity() - queue.capacity())
    }

    /// Makes a request, alone or with others.
    pub async fn call(&self, request: B::Request) -> Result<B::Response, BatchError> {
        let (reply, response) = oneshot::channel();
        self.0.try_send(Pending { request, reply }).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => BatchError::QueueFull,
            mpsc::error::TrySendError::Closed(_) => BatchError::Closed,
        })?;
        response.await.map_err(|_| BatchError::Closed)
    }
}

/// Forms batches and runs them. The first runs in this task, which saves a lone request two switches of tasks. One that
/// starts while others run is run in a task of its own, on another core.
async fn dispatch<B: RunBatch>(
    run: Arc<B>,
    limits: BatchLimits,
    queue: mpsc::Receiver<Pending<B::Request, B::Response>>,
) {
    let all = Arc::new(Semaphore::new(limits.max_in_flight_when_slow.max(1)));
    let fast = Arc::new(Semaphore::new(limits.max_in_flight.max(1)));
    let in_flight = AtomicUsize::new(0);
    let batches = stream::unfold(queue, async |mut queue| {
        let any = Arc::clone(&all).acquire_owned().await.ok()?;
        let permit = Arc::clone(&fast).acquire_owned().await.ok()?;
        let batch = next_batch(&mut queue, limits.max_batch).await?;
        Some(((batch, any, permit), queue))
    });
    let running = batches.for_each_concurrent(None, async |(batch, any, permit)| {
        let run = run_batch(Arc::clone(&run), limits.slow_after, batch, any, permit);
        if in_flight.fetch_add(1, Ordering::Relaxed) == 0 {
            run.await;
        } else {
            let _ = tokio::spawn(run).await;
        }
        in_flight.fetch_sub(1, Ordering::Relaxed);
    });
    running.await;
}

/// Waits for requests, and takes those that wait with them. `None` when there will be no more.
async fn next_batch<Q, R>(queue: &mut mpsc::Receiver<Pending<Q, R>>, max_batch: usize) -> Option<Vec<Pending<Q, R>>> {
    loop {
        let was_idle = queue.is_empty();
        let mut batch = Vec::new();
        if queue.recv_many(&mut batch, max_batch).await == 0 {
            return None;
        }
        if was_idle {
            // Other tasks that are ready may be about to send requests.
            tokio::task::yield_now().await;
            while batch.len() < max_batch
                && let Ok(pending) = queue.try_recv()
            {
                batch.push(pending);
            }
        }
        batch.retain(|pending| !pending.is_abandoned());
        if !batch.is_empty() {
            return Some(batch);
        }
    }
}

/// Runs a batch. A panic reaches its callers alone.
async fn run_batch<B: RunBatch>(
    run: Arc<B>,
    slow_after: Duration,
    batch: Vec<Pending<B::Request, B::Response>>,
    _any: OwnedSemaphorePermit,
    permit: OwnedSemaphorePermit,
) {
    let running = AssertUnwindSafe(run.run(batch)).catch_unwind();
    pin!(running);
    if timeout(slow_after, running.as_mut()).await.is_err() {
        drop(permit);
        let _ = running.await;
    }
}

#[cfg(test)]
mod tests;
