//! Reads rows in batches, ahead of the calls to the service.

use std::ops::ControlFlow;

use anyhow::Context as _;
use spreadsheets::{Row, RowError, Table, TableRecord};
use tokio::{sync::mpsc, task::spawn_blocking};

use super::{objects::Objects, recorder::Recorder, row::Position, source::Source};

/// Batches to read ahead.
const AHEAD: usize = 2;

/// Fails if a JSON list is truncated.
pub(super) fn check_end(source: &Source) -> anyhow::Result<()> {
    let mut objects = (1..).zip(Objects::open(source, true).context("cannot read the file")?);
    objects.try_for_each(|(row, object)| object.map(drop).with_context(|| format!("record {row} cannot be read")))
}

pub(super) struct Batches<R>(mpsc::Receiver<anyhow::Result<Vec<Row<R>>>>);

impl<R: Send + 'static> Batches<R> {
    /// Runs `read` on a separate thread, and collects its rows in batches of `size`.
    fn read<F>(size: usize, read: F) -> Self
    where
        F: FnOnce(&mut dyn FnMut(Row<R>) -> ControlFlow<()>) -> anyhow::Result<()> + Send + 'static,
    {
        let (sender, receiver) = mpsc::channel(AHEAD);
        spawn_blocking(move || {
            let mut batch = Vec::with_capacity(size);
            let end = read(&mut |row| {
                batch.push(row);
                if batch.len() < size {
                    return ControlFlow::Continue(());
                }
                let sent = sender.blocking_send(Ok(std::mem::replace(&mut batch, Vec::with_capacity(size))));
                if sent.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
            // This fails if the receiver was dropped.
            let _ = sender.blocking_send(end.map(|()| batch));
        });
        Self(receiver)
    }

    /// Reads the rows of a table, and converts them with `record`.
    pub(super) fn of_table<T: TableRecord + Send + 'static>(
        size: usize,
        mut table: Table<T>,
        record: impl Fn(T) -> R + Send + 'static,
    ) -> Self {
        for note in table.notes() {
            tracing::warn!("{note}");
        }
        Self::read(size, move |each| {
            let rows = table.read(|Row { row, line, record: read, .. }| {
                each(Row { row, line, record: read.map(&record), identity: None })
            });
            Ok(rows?)
        })
    }

    /// Reads JSON objects: list elements, or one object per line.
    pub(super) fn of_objects(
        size: usize,
        source: &Source,
        is_list: bool,
        parse: impl Fn(&[u8]) -> Result<R, Vec<RowError>> + Send + 'static,
    ) -> anyhow::Result<Self> {
        let mut objects = Objects::open(source, is_list).context("cannot read the file")?;
        Ok(Self::read(size, move |each| {
            let mut row = 0;
            while let Some(object) = objects.next() {
                row += 1;
                let object = object.with_context(|| format!("record {row} cannot be read"))?;
                let record = parse(object.trim_ascii());
                if each(Row { row, line: objects.line, record, identity: None }).is_break() {
                    break;
                }
            }
            Ok(())
        }))
    }

    /// Returns the next batch without recording its rows, or `None` after the last batch.
    pub(super) async fn next_unrecorded(&mut self) -> anyhow::Result<Option<Vec<Row<R>>>> {
        self.0.recv().await.transpose()
    }

    /// Returns the next batch's valid rows, or `None` after the last batch. Skips batches without valid rows. Records invalid rows, and writes
    /// earlier invalid rows to the report.
    pub(super) async fn next(&mut self, recorder: &mut Recorder<'_>) -> anyhow::Result<Option<Vec<(Position, R)>>> {
        loop {
            recorder.flush().await?;
            let Some(batch) = self.next_unrecorded().await? else { return Ok(None) };
            recorder.tally.rows += batch.len() as u64;
            let mut valid = Vec::with_capacity(batch.len());
            for row in batch {
                let position = Position::of(&row);
                match row.record {
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
