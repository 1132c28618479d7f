//! Reads rows in batches, ahead of the calls that send them.

use anyhow::Context as _;
use tokio::{sync::mpsc, task::spawn_blocking};

use super::{
    objects::Objects,
    recorder::Recorder,
    row::{Parsed, Position, RowError},
    source::Source,
};

/// Batches that are read ahead while one is sent.
const AHEAD: usize = 2;

/// Fails if a JSON list ends before its last bracket.
pub(super) fn check_end(source: &Source) -> anyhow::Result<()> {
    let mut objects = (1..).zip(Objects::open(source, true).context("the file cannot be read")?);
    objects.try_for_each(|(row, object)| object.map(drop).with_context(|| format!("record {row} cannot be read")))
}

pub(super) struct Batches<R>(mpsc::Receiver<anyhow::Result<Vec<Parsed<R>>>>);

impl<R: Send + 'static> Batches<R> {
    /// Reads batches of `size` rows on a separate thread. It ends after the last row, or at a row that cannot be read.
    pub(super) fn read(
        size: usize,
        mut rows: impl Iterator<Item = anyhow::Result<Parsed<R>>> + Send + 'static,
    ) -> Self {
        let (sender, receiver) = mpsc::channel(AHEAD);
        spawn_blocking(move || {
            loop {
                let batch: anyhow::Result<Vec<_>> = rows.by_ref().take(size).collect();
                let last = batch.as_ref().map_or(true, |batch| batch.len() < size);
                if sender.blocking_send(batch).is_err() || last {
                    return;
                }
            }
        });
        Self(receiver)
    }

    /// Reads JSON objects: the elements of a list, or one a line.
    pub(super) fn of_objects(
        size: usize,
        source: &Source,
        is_list: bool,
        parse: impl Fn(&[u8]) -> Result<R, Vec<RowError>> + Send + 'static,
    ) -> anyhow::Result<Self> {
        let mut objects = Objects::open(source, is_list).context("the file cannot be read")?;
        let mut row = 0;
        let rows = std::iter::from_fn(move || {
            row += 1;
            let object = objects.next()?.with_context(|| format!("record {row} cannot be read"));
            Some(object.map(|object| (Position { row, line: objects.line }, parse(object.trim_ascii()))))
        });
        Ok(Self::read(size, rows))
    }

    /// Returns the next batch, and records nothing; `None` after the last.
    pub(super) async fn next_unrecorded(&mut self) -> anyhow::Result<Option<Vec<Parsed<R>>>> {
        self.0.recv().await.transpose()
    }

    /// Returns the valid rows of the next batch that has any; `None` after the last. Records invalid rows, and writes earlier ones to the
    /// report.
    pub(super) async fn next(&mut self, recorder: &mut Recorder<'_>) -> anyhow::Result<Option<Vec<(Position, R)>>> {
        loop {
            recorder.flush().await?;
            let Some(batch) = self.next_unrecorded().await? else { return Ok(None) };
            recorder.tally.rows += batch.len() as u64;
            let mut valid = Vec::with_capacity(batch.len());
            for (position, row) in batch {
                match row {
                    Ok(record) => valid.push((position, record)),
                    Err(errors) => recorder.reject(position, errors),
                }
            }
            if !valid.is_empty() {
                return Ok(Some(valid));
            }
        }
    }
}
