//! Long computations, away from the threads that serve everybody.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use tokio::runtime::{Handle, RuntimeFlavor};

/// Runs a computation that takes long. The other tasks of this thread go on meanwhile on another thread. The caller
/// bounds how many computations there are at once: each takes a thread.
///
/// In a runtime of one thread there is no other thread, and the computation runs as any other.
pub fn off_thread<T>(compute: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(compute),
        _ => compute(),
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
    use std::sync::mpsc;

    use super::{OffThread, off_thread};

    #[tokio::test]
    async fn a_runtime_of_one_thread_computes_as_well() {
        assert_eq!(off_thread(|| 5), 5);
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
