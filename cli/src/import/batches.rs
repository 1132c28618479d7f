//! Reads the rows of a file in batches, ahead of their consumer.

use tokio::sync::mpsc;

use super::{
    recorder::Recorder,
    row::{Parsed, Row},
};

/// Batches that are read ahead while one is sent.
const AHEAD: usize = 2;

/// The rows of a file, in batches.
pub(super) struct Batches<R>(mpsc::Receiver<anyhow::Result<Vec<Parsed<R>>>>);

impl<R: Send + 'static> Batches<R> {
    /// Reads batches of `size` rows on a thread of its own, until `next` fails or returns no row.
    pub(super) fn read(
        size: usize,
        mut next: impl FnMut() -> anyhow::Result<Option<Parsed<R>>> + Send + 'static,
    ) -> Self {
        let (sender, receiver) = mpsc::channel(AHEAD);
        tokio::task::spawn_blocking(move || {
            loop {
                let rows = std::iter::from_fn(|| next().transpose()).take(size);
                let batch: anyhow::Result<Vec<_>> = rows.collect();
                let last = batch.as_ref().map_or(true, |batch| batch.len() < size);
                if sender.blocking_send(batch).is_err() || last {
                    return;
                }
            }
        });
        Self(receiver)
    }

    /// The valid rows of the next batch; `None` after the last. The others are recorded.
    pub(super) async fn next(&mut self, recorder: &mut Recorder) -> anyhow::Result<Option<Vec<Row<R>>>> {
        let batch = self.0.recv().await.transpose()?;
        Ok(batch.map(|batch| recorder.valid(batch)))
    }
}
