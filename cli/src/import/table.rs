//! Tables: columns below a row of names, in CSV or in a workbook.

use std::{
    io::{BufRead as _, Read as _},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use anyhow::{Context as _, bail};

use super::{
    affiliate::{Affiliate, Draft},
    cell::Reading,
    dates::{Dates, Order, Orders},
    mapping::{self, Mapping, REQUIRED, Target},
    row::{Parsed, Position, RowError},
    source::Source,
};
use compliance_api::{csv_cell::Escape, record::Record as _, v1::AffiliateInput};

/// Cells of a row, and the line on which it begins.
type Record = (u64, csv::StringRecord);

/// The column names of a file, and its rows.
pub(super) struct Table {
    /// The names of the columns, up to the last that has one.
    pub(super) header: Vec<String>,
    /// Columns with and without names.
    width: usize,
    /// The rows that are not blank.
    pub(super) records: Box<dyn Iterator<Item = anyhow::Result<Record>> + Send>,
    is_sheet: bool,
    ends_in_line_end: bool,
    bytes: Arc<AtomicU64>,
}

impl Table {
    pub(super) fn open(source: &Source) -> anyhow::Result<Self> {
        let is_blank = |cells: &csv::StringRecord| cells.iter().all(|cell| cell.trim().is_empty());
        let records: Box<dyn Iterator<Item = _> + Send> = match source.workbook.clone() {
            Some(workbook) => {
                let number = workbook.rows.len();
                Box::new((0..number).map(move |index| {
                    let (line, cells) = &workbook.rows[index];
                    Ok((*line, csv::StringRecord::from(&cells[..])))
                }))
            }
            None => csv_records(source)?,
        };
        let mut records = records.filter(move |record| !matches!(record, Ok((_, cells)) if is_blank(cells)));
        let Some(first) = records.next() else { bail!("the file is empty; its first row has to name the columns") };
        let (_, first) = first.context("the row of column names cannot be read")?;
        let mut header: Vec<String> = first.iter().map(|name| name.trim().to_owned()).collect();
        header.truncate(header.iter().rposition(|name| !name.is_empty()).map_or(0, |last| last + 1));
        Ok(Self {
            header,
            width: first.len(),
            records: Box::new(records),
            is_sheet: source.workbook.is_some(),
            ends_in_line_end: source.ends_in_line_end,
            bytes: Arc::clone(&source.row),
        })
    }

    /// Reads the records of the rows: `parse` makes one of the cells of a row. Each row has its first `required` cells.
    pub(super) fn rows<R>(
        self,
        required: usize,
        parse: impl Fn(&csv::StringRecord) -> Result<R, Vec<RowError>>,
    ) -> impl Iterator<Item = anyhow::Result<Parsed<R>>> {
        let Self { header, width, records, is_sheet, ends_in_line_end, bytes } = self;
        let (mut records, mut row, mut is_told) = (records.peekable(), 0, false);
        let mut next = move || {
            let Some(record) = records.next() else { return Ok(None) };
            row += 1;
            let (line, cells) = record.with_context(|| format!("row {row} cannot be read"))?;
            bytes.store(0, Ordering::Relaxed);
            let has_text = |column: usize| cells.get(column).is_some_and(|cell| !cell.trim().is_empty());
            let unnamed =
                (0..cells.len()).find(|column| has_text(*column) && header.get(*column).is_none_or(String::is_empty));
            // Spreadsheets leave out empty cells at the end of a row. Any other row that is short is damaged.
            let is_short = !is_sheet && cells.len() < header.len();
            let is_ragged = is_short && cells.len() < required || !is_sheet && (width..cells.len()).any(has_text);
            let is_cut = is_short && !ends_in_line_end && records.peek().is_none();
            if let Some(column) = unnamed.filter(|_| !is_ragged && !is_told) {
                tracing::warn!("left out, since it has no heading: column {}", column + 1);
                is_told = true;
            }
            let parsed = if is_ragged {
                Err(ragged(&cells, width))
            } else if is_cut {
                Err(cut(&cells, width))
            } else {
                parse(&cells)
            };
            Ok(Some((Position { row, line }, parsed)))
        };
        std::iter::from_fn(move || next().transpose())
    }
}

/// The records of a CSV file, with the lines on which they begin.
fn csv_records(source: &Source) -> anyhow::Result<Box<dyn Iterator<Item = anyhow::Result<Record>> + Send>> {
    let head = source.head().context("the file cannot be read")?;
    let (separator, skipped) = separator(&head);
    let ends_in_crlf = first_line(&head[skipped..]).ends_with(b"\r\n");
    let mut text = source.text().context("the file cannot be read")?;
    text.read_exact(&mut vec![0; skipped]).context("the file cannot be read")?;
    // Every line ends, so that lines can be counted by their ends.
    let end: &[u8] = if ends_in_crlf { b"" } else { b"\n" };
    let builder = &mut csv::ReaderBuilder::new();
    // A row with too many or too few columns is an error of that row, not of the file.
    let mut reader = builder.delimiter(separator).flexible(true).has_headers(false).from_reader(text.chain(end));
    let lines_before = u64::from(skipped > 0);
    let mut next = move || -> anyhow::Result<Option<Record>> {
        let mut record = csv::StringRecord::new();
        if !reader.read_record(&mut record)? {
            return Ok(None);
        }
        // The reader counts blank lines to the record that follows them. It is behind the line feed that ended the record,
        // except behind a carriage return: that ends the record already.
        let within = record.as_slice().bytes().filter(|byte| *byte == b'\n').count() as u64;
        let line = reader.position().line().saturating_sub(within + u64::from(!ends_in_crlf));
        Ok(Some((line + lines_before, record)))
    };
    Ok(Box::new(std::iter::from_fn(move || next().transpose())))
}

/// The first line of a text, with its end.
fn first_line(text: &[u8]) -> &[u8] {
    text.split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default()
}

fn ragged(record: &csv::StringRecord, columns: usize) -> Vec<RowError> {
    RowError::of_row(format!(
        "The row has {} columns, and the row of names has {columns}; is a separator or a quote missing?",
        record.len()
    ))
}

fn cut(record: &csv::StringRecord, columns: usize) -> Vec<RowError> {
    RowError::of_row(format!(
        "The row has {} columns and no line end, and the row of names has {columns}; was the file cut off?",
        record.len()
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
    let (separator, _) = separator(&source.head().context("the file cannot be read")?);
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

/// How dates are read: in the order that was given, or else that of the file. `is_date` has the columns of dates.
pub(super) fn dates(source: &Source, is_date: &[bool], given: Option<Order>) -> anyhow::Result<Dates> {
    let mut orders = Orders::default();
    if given.is_none() && is_date.contains(&true) {
        for record in Table::open(source)?.records {
            let (line, cells) = record.context("the file cannot be read")?;
            source.row.store(0, Ordering::Relaxed);
            for (cell, _) in cells.iter().zip(is_date).filter(|(_, is_date)| **is_date) {
                orders.see(line, cell)?;
            }
        }
    }
    let order = given.map_or_else(|| orders.order(), Ok)?;
    Ok(Dates::new(order, source.workbook.clone()))
}

/// The affiliates of a table.
pub(super) fn rows(
    source: &Source,
    mapping: &Mapping,
    escape: Escape,
    order: Option<Order>,
) -> anyhow::Result<impl Iterator<Item = anyhow::Result<Parsed<Affiliate>>> + use<>> {
    let header = Table::open(source)?.header;
    let (columns, required) = (mapping.columns(header.iter().map(String::as_str))?, mapping.required);
    let is_date: Vec<bool> = columns.iter().map(|target| target.is_date()).collect();
    let is_whole = columns.iter().filter(|target| **target != Target::Nothing).count() == AffiliateInput::FIELDS.len();
    let reading = Reading {
        escape,
        dates: dates(source, &is_date, order)?,
        is_exact: is_whole && source.workbook.is_none() && header.iter().all(|name| mapping::is_exact(name)),
    };
    let is_required = |target: &Target| REQUIRED.iter().any(|name| target.is(name));
    let cells = columns.iter().rposition(is_required).map_or(0, |last| last + 1);
    // Another reader has moved the file's position.
    Ok(Table::open(source)?.rows(cells, move |record| affiliate(&columns, record, required, &reading)))
}

/// The affiliate of a row. An empty cell is a field that is not given.
fn affiliate(
    columns: &[Target],
    record: &csv::StringRecord,
    required: &[&str],
    reading: &Reading,
) -> Result<Affiliate, Vec<RowError>> {
    let mut draft = Draft::default();
    for (target, cell) in columns.iter().zip(record) {
        let Target::Field(field) = target else { continue };
        match reading.text(cell, target.is_date()) {
            Ok(text) if text.is_empty() => {}
            Ok(text) => draft.set(field, Some(text)),
            Err(reason) => draft.refuse(RowError::new(field.name, cell, reason)),
        }
    }
    draft.finish(required)
}

/// How Excel names the separator of a file, in a line before the names of the columns.
const SEPARATOR_LINE: &[u8] = b"sep=";

/// The separator of the columns, and the bytes of a line that names it. Otherwise it is the usual character that is most frequent
/// in the first line outside quotes.
fn separator(head: &[u8]) -> (u8, usize) {
    let first = first_line(head);
    let named = first.strip_prefix(b"\"").unwrap_or(first);
    if let Some((start, [separator, rest @ ..])) = named.split_at_checked(SEPARATOR_LINE.len())
        && start.eq_ignore_ascii_case(SEPARATOR_LINE)
        && matches!(rest, [b'"' | b'\r' | b'\n', ..] | [])
    {
        return (*separator, first.len());
    }
    let mut quoted = false;
    let unquoted = head.iter().filter(|byte| {
        quoted ^= **byte == b'"';
        !quoted
    });
    let text = unquoted.copied().skip_while(|byte| byte.is_ascii_whitespace() && *byte != b'\t');
    let line: Vec<u8> = text.take_while(|byte| !matches!(byte, b'\n' | b'\r')).collect();
    // `max_by_key` returns the last of equals. Names contain commas more often than tabs and semicolons.
    let columns = |separator: &u8| line.split(|byte| byte == separator).count();
    ([b'|', b',', b';', b'\t'].into_iter().max_by_key(columns).filter(|found| columns(found) > 1).unwrap_or(b','), 0)
}

#[cfg(test)]
mod tests {
    use super::separator;

    #[test]
    fn the_most_frequent_separator_is_chosen() {
        assert_eq!(separator(b"a,b,c\n"), (b',', 0));
        assert_eq!(separator(b"a;\"x,y,z\";c\r\n1,2;3,4;5\n"), (b';', 0));
        assert_eq!(separator(b"a\tb\n"), (b'\t', 0));
        assert_eq!(separator(b"a|b"), (b'|', 0));
        assert_eq!(separator(b"alone\n"), (b',', 0));
        assert_eq!(separator(b"sep=|\r\na,b|c"), (b'|', 7));
        assert_eq!(separator(b"\"SEP=;\"\na,b|c"), (b';', 8));
        assert_eq!(separator(b"sep=a,b\n"), (b',', 0));
    }
}
