//! Reads the rows of a file in batches, ahead of the calls that send them.

use anyhow::Context as _;
use tokio::{sync::mpsc, task::spawn_blocking};

use super::{
    elements::Elements,
    recorder::Recorder,
    row::{Parsed, Position, RowError},
    source::{Source, read_line},
};

/// Batches that are read ahead while one is sent.
const AHEAD: usize = 2;

/// Fails if a JSON list ends before its last bracket.
pub(super) fn check_end(source: &Source) -> anyhow::Result<()> {
    let mut elements = Elements::new(source.text().context("the file cannot be read")?);
    for row in 1.. {
        if elements.next().with_context(|| format!("record {row} cannot be read"))?.is_none() {
            break;
        }
    }
    Ok(())
}

pub(super) struct Batches<R>(mpsc::Receiver<anyhow::Result<Vec<Parsed<R>>>>);

impl<R: Send + 'static> Batches<R> {
    /// Reads batches of `size` rows on a separate thread, until the end or until a row cannot be read.
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

    /// Reads the lines of an NDJSON file that are not blank.
    fn of_lines(
        size: usize,
        source: &Source,
        parse: impl Fn(&[u8]) -> Result<R, Vec<RowError>> + Send + 'static,
    ) -> anyhow::Result<Self> {
        let mut text = source.text().context("the file cannot be read")?;
        let (mut position, mut line) = (Position { row: 0, line: 0 }, Vec::new());
        let mut next = move || {
            let read = read_line(&mut text, &mut line);
            let lines = read.with_context(|| format!("line {} cannot be read", position.line + 1))?;
            position.row += 1;
            position.line += lines;
            Ok((lines > 0).then(|| (position, parse(line.trim_ascii()))))
        };
        Ok(Self::read(size, std::iter::from_fn(move || next().transpose())))
    }

    /// Reads the records of a JSON list.
    fn of_elements(
        size: usize,
        source: &Source,
        parse: impl Fn(&[u8]) -> Result<R, Vec<RowError>> + Send + 'static,
    ) -> anyhow::Result<Self> {
        let mut elements = Elements::new(source.text().context("the file cannot be read")?);
        let mut row = 0;
        let mut next = move || {
            let element = elements.next().with_context(|| format!("record {} cannot be read", row + 1))?;
            row += 1;
            Ok(element.map(|element| (Position { row, line: elements.line }, parse(&element))))
        };
        Ok(Self::read(size, std::iter::from_fn(move || next().transpose())))
    }

    /// Reads JSON objects: the elements of a list, or one a line.
    pub(super) fn of_objects(
        size: usize,
        source: &Source,
        is_list: bool,
        parse: impl Fn(&[u8]) -> Result<R, Vec<RowError>> + Send + 'static,
    ) -> anyhow::Result<Self> {
        if is_list { Self::of_elements(size, source, parse) } else { Self::of_lines(size, source, parse) }
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
