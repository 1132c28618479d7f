//! Work that may block for any time, such as opening or writing a pipe, on threads of its own: signals still end the command.

use anyhow::Context as _;
use tokio::{
    sync::mpsc,
    task::{JoinHandle, spawn_blocking},
};

/// Runs work that may block.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> anyhow::Result<T> + Send + 'static,
) -> anyhow::Result<T> {
    result_of(spawn_blocking(work)).await
}

async fn result_of<T>(thread: JoinHandle<anyhow::Result<T>>) -> anyhow::Result<T> {
    thread.await.context("a thread of the command has failed")?
}

/// A thread that writes items in their order.
pub(crate) struct Writing<I> {
    items: mpsc::Sender<I>,
    /// `None` once its result was returned.
    thread: Option<JoinHandle<anyhow::Result<()>>>,
}

impl<I: Send + 'static> Writing<I> {
    /// Starts a thread that calls `write` with each item, and with `None` after the last.
    pub(crate) fn start(mut write: impl FnMut(Option<I>) -> anyhow::Result<()> + Send + 'static) -> Self {
        let (items, mut receiver) = mpsc::channel(1);
        let thread = spawn_blocking(move || {
            while let Some(item) = receiver.blocking_recv() {
                write(Some(item))?;
            }
            write(None)
        });
        Self { items, thread: Some(thread) }
    }

    /// Hands over an item. Fails if an earlier one could not be written.
    pub(crate) async fn write(&mut self, item: I) -> anyhow::Result<()> {
        match self.items.send(item).await {
            Ok(()) => Ok(()),
            Err(_) => self.result().await,
        }
    }

    /// Waits until everything is written.
    pub(crate) async fn finish(mut self) -> anyhow::Result<()> {
        self.items = mpsc::channel(1).0;
        self.result().await
    }

    async fn result(&mut self) -> anyhow::Result<()> {
        match self.thread.take() {
            Some(thread) => result_of(thread).await,
            None => anyhow::bail!("the output has failed"),
        }
    }
}
