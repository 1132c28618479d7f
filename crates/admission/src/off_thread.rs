//! Long computations, which run on separate threads.

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
mod tests;
