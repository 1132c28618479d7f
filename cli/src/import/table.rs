//! Tables: columns below a header row, in CSV or in a workbook.

use anyhow::{Context as _, bail};
use compliance_api::{csv_cell::Escape, description::Field, v1::Format};

use super::{
    csv_text,
    dates::{Dates, Order, Orders},
    row::{Parsed, Position, Records, RowError},
    source::Source,
};

/// What a spreadsheet shows instead of a value that it cannot compute.
const ERRORS: [&str; 7] = ["#N/A", "#REF!", "#VALUE!", "#DIV/0!", "#NAME?", "#NUM!", "#NULL!"];

/// The field of a column; `None` if the column is ignored.
pub(super) type Column = Option<&'static Field>;

/// Whether a field is a calendar day.
fn is_day(field: &Field) -> bool {
    field.format == Format::StartDate
}

/// Whether a field is a time.
fn is_instant(field: &Field) -> bool {
    field.form == "datetime"
}

/// How the cells of a table become texts.
#[derive(Debug)]
struct Reading {
    escape: Escape,
    dates: Dates,
    /// Whether spaces around a text belong to it. A whole export of the service has exact texts.
    is_exact: bool,
}

impl Reading {
    /// Returns the text of a cell, or the reason why it has none.
    fn text(&self, cell: &str, field: &Field) -> Result<String, String> {
        let trimmed = cell.trim();
        if !self.is_exact && ERRORS.contains(&trimmed) {
            return Err(format!("The cell has the error {trimmed} of a formula; correct it in the spreadsheet."));
        }
        let text = self.escape.text(cell);
        let text = if self.is_exact { text } else { text.trim() };
        match field {
            field if is_day(field) && !text.is_empty() => self.dates.day(text),
            field if is_instant(field) && !text.is_empty() => self.dates.instant(text),
            _ => Ok(text.to_owned()),
        }
    }

    /// Returns the fields of a row with their texts. An empty cell is an absent field.
    fn texts(
        &self,
        columns: &[Column],
        cells: &csv::StringRecord,
    ) -> Result<Vec<(&'static Field, String)>, Vec<RowError>> {
        let (mut texts, mut errors) = (Vec::new(), Vec::new());
        for (column, cell) in columns.iter().zip(cells) {
            let Some(field) = *column else { continue };
            match self.text(cell, field) {
                Ok(text) if text.is_empty() => {}
                Ok(text) => texts.push((field, text)),
                Err(reason) => errors.push(RowError::new(field.name, cell, reason)),
            }
        }
        if errors.is_empty() { Ok(texts) } else { Err(errors) }
    }
}

/// Returns the cells of the first row, which names the columns, and the rows below it that are not blank.
fn open(source: &Source) -> anyhow::Result<(csv::StringRecord, Records)> {
    let is_blank = |cells: &csv::StringRecord| cells.iter().all(|cell| cell.trim().is_empty());
    let records: Records = match source.workbook.clone() {
        Some(workbook) => {
            let number = workbook.rows.len();
            Box::new((0..number).map(move |index| {
                let (line, cells) = &workbook.rows[index];
                Ok((*line, csv::StringRecord::from(&cells[..])))
            }))
        }
        None => csv_text::records(source)?,
    };
    let mut records = records.filter(move |record| !matches!(record, Ok((_, cells)) if is_blank(cells)));
    let Some(first) = records.next() else { bail!("the file is empty; its first row must name the columns") };
    let (_, first) = first.context("cannot read the header row")?;
    Ok((first, Box::new(records)))
}

/// Returns the names of the columns. Empty names at the end are removed.
pub(super) fn header(source: &Source) -> anyhow::Result<Vec<String>> {
    let (first, _) = open(source)?;
    let mut header: Vec<String> = first.iter().map(|name| name.trim().to_owned()).collect();
    header.truncate(header.iter().rposition(|name| !name.is_empty()).map_or(0, |last| last + 1));
    Ok(header)
}

/// Finds how dates are read: in the given order, or else in the order of the file.
fn dates(source: &Source, columns: &[Column], given: Option<Order>) -> anyhow::Result<Dates> {
    let is_date = |column: &Column| column.is_some_and(|field| is_day(field) || is_instant(field));
    let mut orders = Orders::default();
    if given.is_none() && columns.iter().any(is_date) {
        for record in open(source)?.1 {
            let (line, cells) = record.context("the file cannot be read")?;
            for (cell, _) in cells.iter().zip(columns).filter(|(_, column)| is_date(column)) {
                orders.see(line, cell)?;
            }
        }
    }
    let order = given.map_or_else(|| orders.order(), Ok)?;
    Ok(Dates::new(order, source.workbook.clone()))
}

/// How the rows of a table are read.
#[derive(Clone, Copy)]
pub(super) struct Options {
    pub(super) escape: Escape,
    /// The order of day and month, if it is given.
    pub(super) dates: Option<Order>,
}

/// Reads the rows of a table: `parse` turns the texts of a row into a record. `is_export` says that the file has all columns of an
/// export of the service.
pub(super) fn rows<R, F>(
    source: &Source,
    columns: Vec<Column>,
    is_export: bool,
    options: Options,
    parse: F,
) -> anyhow::Result<impl Iterator<Item = anyhow::Result<Parsed<R>>> + use<R, F>>
where
    F: Fn(Vec<(&'static Field, String)>) -> Result<R, Vec<RowError>>,
{
    let dates = dates(source, &columns, options.dates)?;
    let is_sheet = source.workbook.is_some();
    let reading = Reading { escape: options.escape, dates, is_exact: is_export && !is_sheet };
    // Every row has the cells up to the last required field. Spreadsheets leave out empty cells at the end of a row.
    let is_required = |column: &Column| column.is_some_and(|field| field.required);
    let required = columns.iter().rposition(is_required).map_or(0, |last| last + 1);
    let ends_in_line_end = source.ends_in_line_end;
    // Each reader moves the position of the file, so this one begins last.
    let (names, records) = open(source)?;
    let width = names.len();
    let (mut records, mut row, mut has_warned) = (records.peekable(), 0, false);
    let mut next = move || {
        let Some(record) = records.next() else { return Ok(None) };
        row += 1;
        let (line, cells) = record.with_context(|| format!("row {row} cannot be read"))?;
        let has_text = |column: usize| cells.get(column).is_some_and(|cell| !cell.trim().is_empty());
        let has_name = |column: usize| names.get(column).is_some_and(|name| !name.trim().is_empty());
        let unnamed = (0..cells.len()).find(|column| has_text(*column) && !has_name(*column));
        // A line of text with too few cells is damaged.
        let is_short = !is_sheet && cells.len() < columns.len();
        let is_damaged = is_short && cells.len() < required || !is_sheet && (width..cells.len()).any(has_text);
        let is_cut = is_short && !ends_in_line_end && records.peek().is_none();
        if let Some(column) = unnamed.filter(|_| !is_damaged && !has_warned) {
            tracing::warn!("ignored, because it has no heading: column {}", column + 1);
            has_warned = true;
        }
        let number = cells.len();
        let parsed = if is_damaged {
            Err(RowError::of_row(format!(
                "The row has {number} columns, and the header row has {width}; is a separator or a quote missing?"
            )))
        } else if is_cut {
            Err(RowError::of_row(format!(
                "The row has {number} columns and no line end, and the header row has {width}; was the file cut off?"
            )))
        } else {
            reading.texts(&columns, &cells).and_then(&parse)
        };
        Ok(Some((Position { row, line }, parsed)))
    };
    Ok(std::iter::from_fn(move || next().transpose()))
}
