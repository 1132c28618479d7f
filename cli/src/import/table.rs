//! CSV files: columns below a row of names.

use std::io::BufRead;

use anyhow::Context as _;

use super::{
    affiliate::{Affiliate, Draft},
    mapping::{Mapping, Target},
    row::{InvalidRow, Parsed, Position},
    source::{Meter, Source},
};
use crate::csv_cell;

/// The rows of a CSV file.
pub(super) struct Table {
    reader: csv::Reader<Box<dyn BufRead + Send>>,
    columns: Vec<Target>,
    meter: Meter,
    record: csv::StringRecord,
    row: u64,
    /// Whether lines end in a carriage return and a line feed.
    ends_in_crlf: bool,
}

impl Table {
    pub(super) fn of(source: &Source, mapping: &Mapping) -> anyhow::Result<Self> {
        let head = source.head().context("the file cannot be read")?;
        let (separator, ends_in_crlf) = (separator(&head), ends_in_crlf(&head));
        let text = source.text().context("the file cannot be read")?;
        // A row with too many or too few columns is an error of that row, not of the file.
        let mut reader = csv::ReaderBuilder::new().delimiter(separator).flexible(true).from_reader(text);
        let header = reader.headers().context("the row of column names cannot be read")?;
        if header.is_empty() {
            anyhow::bail!("the file is empty; its first row has to name the columns");
        }
        let columns = mapping.columns(header.iter())?;
        let (meter, record) = (source.meter.clone(), csv::StringRecord::new());
        Ok(Self { reader, columns, meter, record, row: 0, ends_in_crlf })
    }

    /// The next row. An empty cell is a field that is not given.
    pub(super) fn next(&mut self) -> anyhow::Result<Option<Parsed<Affiliate>>> {
        let more = self.reader.read_record(&mut self.record);
        if !more.with_context(|| format!("row {} cannot be read", self.row + 1))? {
            return Ok(None);
        }
        self.meter.row_ends();
        self.row += 1;
        // The reader counts the line feed of a line's end to the next row.
        let line = self.record.position().map_or(0, csv::Position::line) + u64::from(self.ends_in_crlf);
        let position = Position { row: self.row, line };
        if self.record.len() != self.columns.len() {
            let reason = format!(
                "The row has {} columns, and the row of names has {}; is a separator or a quote missing?",
                self.record.len(),
                self.columns.len()
            );
            return Ok(Some(Err(InvalidRow::new(position, reason))));
        }
        let mut draft = Draft::at(position);
        for (target, cell) in self.columns.iter().zip(&self.record) {
            if let Target::Field(field) = target
                && !cell.is_empty()
            {
                draft.set(field, Some(csv_cell::text(cell).to_owned()));
            }
        }
        Ok(Some(draft.finish()))
    }
}

/// The separator of the columns: the usual character that is most frequent in the first line outside quotes.
fn separator(head: &[u8]) -> u8 {
    let mut quoted = false;
    let mut counts = [(b',', 0), (b';', 0), (b'\t', 0), (b'|', 0)];
    for byte in head {
        match byte {
            b'"' => quoted = !quoted,
            b'\n' | b'\r' if !quoted => break,
            byte if !quoted => {
                counts.iter_mut().filter(|(separator, _)| separator == byte).for_each(|(_, count)| *count += 1);
            }
            _ => {}
        }
    }
    // `max_by_key` returns the last of equals, and the first is the most usual.
    counts.iter().rev().max_by_key(|(_, count)| *count).map_or(b',', |(separator, _)| *separator)
}

fn ends_in_crlf(head: &[u8]) -> bool {
    let end = head.iter().position(|byte| *byte == b'\n');
    end.and_then(|end| end.checked_sub(1)).is_some_and(|before| head[before] == b'\r')
}

#[cfg(test)]
mod tests {
    use super::separator;

    #[test]
    fn the_most_frequent_separator_is_chosen() {
        assert_eq!(separator(b"a,b,c\n"), b',');
        assert_eq!(separator(b"a;\"x,y,z\";c\r\n1,2;3,4;5\n"), b';');
        assert_eq!(separator(b"a\tb\n"), b'\t');
        assert_eq!(separator(b"a|b"), b'|');
        assert_eq!(separator(b"alone\n"), b',');
    }
}
