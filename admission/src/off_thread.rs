//! Long computations, away from the threads that serve everybody.

use std::{
    pin::Pin,
    sync::atomic::{AtomicUsize, Ordering},
    task::{Context, Poll},
};

use tokio::runtime::{Handle, RuntimeFlavor};

/// A computation on more bytes than this takes long: about a millisecond, in which a thread that serves everybody would
/// not notice what arrives for others.
const LONG: usize = 64 << 10;
/// Computations that are left to other threads at the same time, since each takes one.
const MOST: usize = 64;

/// How many there are now.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// Runs a computation that takes long. The other tasks of this thread go on meanwhile on another thread.
///
/// In a runtime of one thread there is no other thread, and the computation runs as any other; so it does if very many are
/// running.
pub fn off_thread<T>(compute: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => {
            let place = Place::take();
            if place.is_free { tokio::task::block_in_place(compute) } else { compute() }
        }
        _ => compute(),
    }
}

/// Runs a computation on so many bytes: by [`off_thread`] if that takes long.
pub fn compute<T>(bytes: usize, compute: impl FnOnce() -> T) -> T {
    if is_long(bytes) { off_thread(compute) } else { compute() }
}

/// Whether a computation on so many bytes takes long.
pub fn is_long(bytes: usize) -> bool {
    bytes > LONG
}

/// One of the computations that run.
struct Place {
    is_free: bool,
}

impl Place {
    fn take() -> Self {
        Self { is_free: RUNNING.fetch_add(1, Ordering::Relaxed) < MOST }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        RUNNING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A future of which each step may take long, if `long` is set: it decodes, checks or encodes much.
#[derive(Debug)]
pub struct OffThread<F> {
    future: Pin<Box<F>>,
    long: bool,
}

impl<F: Future> OffThread<F> {
    /// Polls the future by [`off_thread`] if `long` is set.
    pub fn new(future: F, long: bool) -> Self {
        Self { future: Box::pin(future), long }
    }
}

impl<F: Future> Future for OffThread<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let long = self.long;
        let future = self.future.as_mut();
        if long { off_thread(|| future.poll(context)) } else { future.poll(context) }
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, time::Duration};

    use super::{LONG, MOST, OffThread, Place, compute, off_thread};

    #[tokio::test]
    async fn a_runtime_of_one_thread_computes_as_well() {
        assert_eq!(off_thread(|| 5), 5);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn what_is_short_and_what_is_too_many_runs_here() {
        // A computation that is left to other threads may wait for a task of this one.
        let waits_for_a_task = |bytes| {
            let (sender, receiver) = mpsc::channel();
            tokio::spawn(async move { sender.send(7) });
            compute(bytes, || receiver.recv_timeout(Duration::from_millis(200)).is_ok())
        };
        let computed = tokio::spawn(async move {
            let long = waits_for_a_task(LONG + 1);
            let short = waits_for_a_task(LONG);
            let places: Vec<Place> = (0..MOST).map(|_| Place::take()).collect();
            let beside_many = waits_for_a_task(LONG + 1);
            drop(places);
            (long, short, beside_many, waits_for_a_task(LONG + 1))
        });
        assert_eq!(computed.await.unwrap(), (true, false, false, true));
    }

    /// With one worker, the task that the computation waits for could otherwise never run.
    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn other_tasks_run_during_a_long_computation() {
        let computed = tokio::spawn(async {
            let (sender, receiver) = mpsc::channel();
            tokio::spawn(async move { sender.send(7) });
            OffThread::new(async move { receiver.recv() }, true).await
        });
        assert_eq!(computed.await.unwrap(), Ok(7));
    }
}
