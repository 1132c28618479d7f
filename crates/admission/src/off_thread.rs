//! Runs long computations without blocking other tasks.

use std::future::poll_fn;

use futures::future::Either;
use tokio::{
    runtime::{Handle, RuntimeFlavor},
    sync::Semaphore,
};

/// Input size, in bytes, that takes about a millisecond to process. During that time, the thread runs no other task.
pub const LONG_COMPUTATION: usize = 64 << 10;
/// Maximum number of concurrent computations off the worker threads. Each occupies a thread.
const MAX_OFF_THREAD: usize = 64;

/// Permits for computations off the worker threads.
static OTHERS: Semaphore = Semaphore::const_new(MAX_OFF_THREAD);

/// Runs a long computation without blocking the thread's other tasks.
///
/// The other tasks continue on another thread. On a current-thread runtime, or if too many computations are running, they wait.
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

/// Runs a computation on `bytes` bytes, using [`off_thread`] if it is long.
pub fn compute<T>(bytes: usize, compute: impl FnOnce() -> T) -> T {
    if is_long(bytes) { off_thread(compute) } else { compute() }
}

/// Returns whether a computation on `bytes` bytes is long.
pub fn is_long(bytes: usize) -> bool {
    bytes > LONG_COMPUTATION
}

/// Runs a future. If `is_long` is set, [`off_thread`] runs each poll.
pub fn run_off_thread<F: Future>(future: F, is_long: bool) -> impl Future<Output = F::Output> {
    if !is_long {
        return Either::Left(future);
    }
    let mut future = Box::pin(future);
    Either::Right(poll_fn(move |context| off_thread(|| future.as_mut().poll(context))))
}

#[cfg(test)]
mod tests;
