//! The lines of an NDJSON file.

use std::io::BufRead;

use super::{
    row::Position,
    source::{Meter, Source},
};
use anyhow::Context as _;

/// The lines of a file that are not blank.
pub(super) struct Lines {
    text: Box<dyn BufRead + Send>,
    meter: Meter,
    position: Position,
    line: Vec<u8>,
}

impl Lines {
    pub(super) fn of(source: &Source) -> anyhow::Result<Self> {
        let text = source.text().context("the file cannot be read")?;
        Ok(Self { text, meter: source.meter.clone(), position: Position { row: 0, line: 0 }, line: Vec::new() })
    }

    /// The next line and its position.
    pub(super) fn next(&mut self) -> anyhow::Result<Option<(Position, &[u8])>> {
        loop {
            self.line.clear();
            let read = self.text.read_until(b'\n', &mut self.line);
            if read.with_context(|| format!("line {} cannot be read", self.position.line + 1))? == 0 {
                return Ok(None);
            }
            self.meter.row_ends();
            self.position.line += 1;
            if self.line.iter().any(|byte| !byte.is_ascii_whitespace()) {
                self.position.row += 1;
                return Ok(Some((self.position, self.line.trim_ascii())));
            }
        }
    }
}
