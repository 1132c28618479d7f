//! CSV files: columns below a row of names.

use std::{
    io::BufRead,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use anyhow::{Context as _, bail};

use super::{
    affiliate::{Affiliate, Draft},
    mapping::{Mapping, Target},
    row::{Parsed, Position, RowError},
    source::Source,
};
use compliance_api::csv_cell::Escape;

/// The column names of a CSV file, and its rows.
pub(super) struct Table {
    pub(super) header: csv::StringRecord,
    reader: csv::Reader<Box<dyn BufRead + Send>>,
    ends_in_crlf: bool,
    bytes: Arc<AtomicU64>,
}

impl Table {
    pub(super) fn open(source: &Source) -> anyhow::Result<Self> {
        let head = source.head().context("the file cannot be read")?;
        let first_line = head.split_inclusive(|byte| *byte == b'\n').next();
        let ends_in_crlf = first_line.is_some_and(|line| line.ends_with(b"\r\n"));
        let text = source.text().context("the file cannot be read")?;
        // A row with too many or too few columns is an error of that row, not of the file.
        let mut reader = csv::ReaderBuilder::new().delimiter(separator(&head)).flexible(true).from_reader(text);
        let header = reader.headers().context("the row of column names cannot be read")?.clone();
        if header.is_empty() {
            bail!("the file is empty; its first row has to name the columns");
        }
        Ok(Self { header, reader, ends_in_crlf, bytes: Arc::clone(&source.row) })
    }

    /// The records of the rows, each of which `parse` makes of its cells.
    pub(super) fn rows<R>(
        self,
        parse: impl Fn(&csv::StringRecord) -> Result<R, Vec<RowError>>,
    ) -> impl Iterator<Item = anyhow::Result<Parsed<R>>> {
        let Self { header, mut reader, ends_in_crlf, bytes } = self;
        let (mut record, mut row) = (csv::StringRecord::new(), 0);
        let mut next = move || {
            if !reader.read_record(&mut record).with_context(|| format!("row {} cannot be read", row + 1))? {
                return Ok(None);
            }
            bytes.store(0, Ordering::Relaxed);
            row += 1;
            // The reader counts the line feed of a line's end to the next row.
            let line = record.position().map_or(0, csv::Position::line) + u64::from(ends_in_crlf);
            let parsed = if record.len() == header.len() { parse(&record) } else { Err(ragged(&record, &header)) };
            Ok(Some((Position { row, line }, parsed)))
        };
        std::iter::from_fn(move || next().transpose())
    }
}

fn ragged(record: &csv::StringRecord, header: &csv::StringRecord) -> Vec<RowError> {
    RowError::of_row(format!(
        "The row has {} columns, and the row of names has {}; is a separator or a quote missing?",
        record.len(),
        header.len()
    ))
}

/// Where in a cell a byte is.
#[derive(Clone, Copy)]
enum Place {
    Start,
    Unquoted,
    Quoted,
    /// Behind a quote within quotes, which ends them unless another one follows.
    Quote,
}

/// Fails if the file ends within quotes. The reader would take what is left of the last cell for all of it.
pub(super) fn check_end(source: &Source) -> anyhow::Result<()> {
    let separator = separator(&source.head().context("the file cannot be read")?);
    let mut text = source.text().context("the file cannot be read")?;
    let (mut place, mut line, mut opened) = (Place::Start, 1, 0);
    loop {
        let bytes = text.fill_buf().context("the file cannot be read")?;
        let length = bytes.len();
        if length == 0 {
            break;
        }
        for byte in bytes {
            place = match (place, byte) {
                (Place::Quoted, b'"') => Place::Quote,
                (Place::Quoted, _) | (Place::Quote, b'"') => Place::Quoted,
                (Place::Start, b'"') => {
                    opened = line;
                    Place::Quoted
                }
                (_, b'\r' | b'\n') => Place::Start,
                (_, byte) if *byte == separator => Place::Start,
                _ => Place::Unquoted,
            };
            line += u64::from(*byte == b'\n');
        }
        text.consume(length);
        // Too long a row is refused when it is read.
        source.row.store(0, Ordering::Relaxed);
    }
    if matches!(place, Place::Quoted) {
        bail!(
            "the file ends within the quoted cell that begins on line {opened}: it was cut off, or a quote is missing"
        );
    }
    Ok(())
}

/// The affiliates of a CSV file.
pub(super) fn rows(
    source: &Source,
    mapping: &Mapping,
    escape: Escape,
) -> anyhow::Result<impl Iterator<Item = anyhow::Result<Parsed<Affiliate>>> + use<>> {
    let table = Table::open(source)?;
    let (columns, required) = (mapping.columns(table.header.iter())?, mapping.required);
    Ok(table.rows(move |record| affiliate(&columns, record, required, escape)))
}

/// The affiliate of a row. An empty cell is a field that is not given.
fn affiliate(
    columns: &[Target],
    record: &csv::StringRecord,
    required: &[&str],
    escape: Escape,
) -> Result<Affiliate, Vec<RowError>> {
    let mut draft = Draft::default();
    for (target, cell) in columns.iter().zip(record) {
        if let Target::Field(field) = target
            && !cell.is_empty()
        {
            draft.set(field, Some(escape.text(cell).to_owned()));
        }
    }
    draft.finish(required)
}

/// The separator of the columns: the usual character that is most frequent in the first line outside quotes.
fn separator(head: &[u8]) -> u8 {
    let mut quoted = false;
    let unquoted = head.iter().filter(|byte| {
        quoted ^= **byte == b'"';
        !quoted
    });
    let line: Vec<u8> = unquoted.copied().take_while(|byte| !matches!(byte, b'\n' | b'\r')).collect();
    // `max_by_key` returns the last of equals, and the last is the most usual.
    let columns = |separator: &u8| line.split(|byte| byte == separator).count();
    [b'|', b'\t', b';', b','].into_iter().max_by_key(columns).unwrap_or(b',')
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
