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

/// Those that run now.
static RUNNING: Running = Running(AtomicUsize::new(0));

/// Runs a computation that takes long. The other tasks of this thread go on meanwhile on another thread.
///
/// In a runtime of one thread there is no other thread, and the computation runs as any other; so it does if very many are
/// running.
pub fn off_thread<T>(compute: impl FnOnce() -> T) -> T {
    RUNNING.run(compute)
}

/// Runs a computation on so many bytes: by [`off_thread`] if that takes long.
pub fn compute<T>(bytes: usize, compute: impl FnOnce() -> T) -> T {
    if is_long(bytes) { off_thread(compute) } else { compute() }
}

/// Whether a computation on so many bytes takes long.
pub fn is_long(bytes: usize) -> bool {
    bytes > LONG
}

/// How many computations run.
struct Running(AtomicUsize);

impl Running {
    fn run<T>(&self, compute: impl FnOnce() -> T) -> T {
        let Ok(RuntimeFlavor::MultiThread) = Handle::try_current().map(|runtime| runtime.runtime_flavor()) else {
            return compute();
        };
        let place = self.enter();
        if place.is_free { tokio::task::block_in_place(compute) } else { compute() }
    }

    fn enter(&self) -> Place<'_> {
        Place { is_free: self.0.fetch_add(1, Ordering::Relaxed) < MOST, running: self }
    }
}

/// One of the computations that run.
struct Place<'r> {
    is_free: bool,
    running: &'r Running,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.running.0.fetch_sub(1, Ordering::Relaxed);
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
    use std::{
        sync::{atomic::AtomicUsize, mpsc},
        time::Duration,
    };

    use super::{LONG, MOST, OffThread, Place, Running, compute, off_thread};

    #[tokio::test]
    async fn a_runtime_of_one_thread_computes_as_well() {
        assert_eq!(off_thread(|| 5), 5);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn what_is_short_and_what_is_too_many_runs_here() {
        // A computation that is left to other threads may wait for a task of this one, on a busy machine for long.
        fn task(is_left: bool) -> impl FnOnce() -> bool {
            let (sender, receiver) = mpsc::channel();
            tokio::spawn(async move { sender.send(7) });
            let patience = if is_left { Duration::from_mins(1) } else { Duration::from_millis(200) };
            move || receiver.recv_timeout(patience).is_ok()
        }
        for (bytes, is_left) in [(LONG, false), (LONG + 1, true)] {
            assert_eq!(
                tokio::spawn(async move { compute(bytes, task(is_left)) }).await.unwrap(),
                is_left,
                "{bytes} bytes"
            );
        }
        for (others, is_left) in [(MOST - 1, true), (MOST, false), (0, true)] {
            let computed = tokio::spawn(async move {
                let running = Running(AtomicUsize::new(0));
                let gone: Vec<Place<'_>> = (0..MOST).map(|_| running.enter()).collect();
                drop(gone);
                let _others: Vec<Place<'_>> = (0..others).map(|_| running.enter()).collect();
                running.run(task(is_left))
            });
            assert_eq!(computed.await.unwrap(), is_left, "beside {others}");
        }
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
