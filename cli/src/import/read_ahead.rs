//! Reads batches ahead of their consumer.

use tokio::sync::mpsc;

/// Batches that are read ahead while one is sent.
const AHEAD: usize = 2;

/// Reads batches on a thread of its own, a few ahead of the receiver, until one is empty or fails.
pub(super) fn read_ahead<T: Send + 'static>(
    mut read: impl FnMut() -> anyhow::Result<Vec<T>> + Send + 'static,
) -> mpsc::Receiver<anyhow::Result<Vec<T>>> {
    let (sender, receiver) = mpsc::channel(AHEAD);
    tokio::task::spawn_blocking(move || {
        loop {
            let batch = read();
            let last = batch.as_ref().map_or(true, Vec::is_empty);
            if batch.as_ref().is_ok_and(Vec::is_empty) || sender.blocking_send(batch).is_err() || last {
                return;
            }
        }
    });
    receiver
}
