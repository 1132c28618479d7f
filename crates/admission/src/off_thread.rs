//! Runs long computations away from the threads that serve everybody.

use std::future::poll_fn;

use futures::future::Either;
use tokio::{
    runtime::{Handle, RuntimeFlavor},
    sync::Semaphore,
};

/// Number of bytes from which a computation takes about a millisecond. During that time, its thread serves nobody else.
pub const LONG_COMPUTATION: usize = 64 << 10;
/// Maximum number of concurrent computations on other threads. Each occupies a thread.
const MAX_OFF_THREAD: usize = 64;

/// Permits for computations on other threads.
static OTHERS: Semaphore = Semaphore::const_new(MAX_OFF_THREAD);

/// Runs a long computation without blocking the thread's other tasks.
///
/// The other tasks continue on another thread.
///
/// If the runtime has one thread, or too many computations run, the other tasks wait.
pub fn off_thread<T>(compute: impl FnOnce() -> T) -> T {
    run(&OTHERS, compute)
}

fn run<T>(others: &Semaphore, compute: impl FnOnce() -> T) -> T {
    let Ok(RuntimeFlavor::MultiThread) = Handle::try_current().map(|runtime| runtime.runtime_flavor()) else {
        return compute();
    };
    match others.try_acquire() {
        Ok(_other) => tokio::task::block_in_place(compute),
        Err(_) => compute(),
    }
}

/// Runs a computation on `bytes` bytes, by [`off_thread`] if it is long.
pub fn compute<T>(bytes: usize, compute: impl FnOnce() -> T) -> T {
    if is_long(bytes) { off_thread(compute) } else { compute() }
}

/// Whether a computation on `bytes` bytes is long.
pub fn is_long(bytes: usize) -> bool {
    bytes > LONG_COMPUTATION
}

/// Runs a future. If `is_long` is set, [`off_thread`] runs each step.
pub fn run_off_thread<F: Future>(future: F, is_long: bool) -> impl Future<Output = F::Output> {
    if !is_long {
        return Either::Left(future);
    }
    let mut future = Box::pin(future);
    Either::Right(poll_fn(move |context| off_thread(|| future.as_mut().poll(context))))
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{Arc, mpsc},
        time::Duration,
    };

    use tokio::sync::Semaphore;

    use super::{LONG_COMPUTATION, MAX_OFF_THREAD, compute, off_thread, run, run_off_thread};

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
        for (bytes, is_left) in [(LONG_COMPUTATION, false), (LONG_COMPUTATION + 1, true)] {
            assert_eq!(
                tokio::spawn(async move { compute(bytes, task(is_left)) }).await.unwrap(),
                is_left,
                "{bytes} bytes"
            );
        }
        for (others, is_left) in [(MAX_OFF_THREAD - 1, true), (MAX_OFF_THREAD, false), (0, true)] {
            let running = Arc::new(Semaphore::new(MAX_OFF_THREAD));
            // In a task of their own: they may have left the worker to another thread.
            let ended = Arc::clone(&running);
            tokio::spawn(async move { (0..MAX_OFF_THREAD).for_each(|_| run(&ended, || ())) }).await.unwrap();
            let computed = tokio::spawn(async move {
                let _others = running.try_acquire_many(others as u32).unwrap();
                run(&running, task(is_left))
            });
            assert_eq!(computed.await.unwrap(), is_left, "next to {others}");
        }
    }

    /// With one worker, the task that the computation waits for could otherwise never run.
    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn other_tasks_run_during_a_long_computation() {
        let computed = tokio::spawn(async {
            let (sender, receiver) = mpsc::channel();
            tokio::spawn(async move { sender.send(7) });
            run_off_thread(async move { receiver.recv() }, true).await
        });
        assert_eq!(computed.await.unwrap(), Ok(7));
    }
}
