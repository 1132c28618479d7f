//! Tables: columns below a header row, in CSV or in a workbook.

use anyhow::{Context as _, bail};
use compliance_api::csv_cell::Escape;

use super::{
    csv_text,
    dates::{Dates, Order, Orders},
    row::{Parsed, Position, Records, RowError},
    source::Source,
};

/// What a spreadsheet shows instead of a value that it cannot compute.
const ERRORS: [&str; 7] = ["#N/A", "#REF!", "#VALUE!", "#DIV/0!", "#NAME?", "#NUM!", "#NULL!"];

/// How a field reads dates.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DateForm {
    Day,
    Instant,
}

/// The field of a column.
pub(super) trait Column: Copy + PartialEq {
    fn name(self) -> &'static str;
    /// `None` if the field is not a date.
    fn date_form(self) -> Option<DateForm>;
    /// Whether every row has the cell. Spreadsheets leave out empty cells at the end of a row.
    fn is_required(self) -> bool;
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
    fn text(&self, cell: &str, form: Option<DateForm>) -> Result<String, String> {
        let trimmed = cell.trim();
        if !self.is_exact && ERRORS.contains(&trimmed) {
            return Err(format!("The cell has the error {trimmed} of a formula; correct it in the spreadsheet."));
        }
        let text = self.escape.text(cell);
        let text = if self.is_exact { text } else { text.trim() };
        match form {
            _ if text.is_empty() => Ok(String::new()),
            None => Ok(text.to_owned()),
            Some(DateForm::Day) => self.dates.day(text).map(Into::into),
            Some(DateForm::Instant) => self.dates.instant(text),
        }
    }
}

/// The column names of a file, and its rows.
pub(super) struct Table {
    /// The names of the columns. Empty names at the end are removed.
    pub(super) header: Vec<String>,
    /// The number of columns, with and without names.
    width: usize,
    /// The rows that are not blank.
    records: Records,
    is_sheet: bool,
    ends_in_line_end: bool,
}

impl Table {
    pub(super) fn open(source: &Source) -> anyhow::Result<Self> {
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
        let mut header: Vec<String> = first.iter().map(|name| name.trim().to_owned()).collect();
        header.truncate(header.iter().rposition(|name| !name.is_empty()).map_or(0, |last| last + 1));
        Ok(Self {
            header,
            width: first.len(),
            records: Box::new(records),
            is_sheet: source.workbook.is_some(),
            ends_in_line_end: source.ends_in_line_end,
        })
    }

    /// Parses the rows. Every row has at least `required` cells.
    fn rows<R>(
        self,
        required: usize,
        parse: impl Fn(&csv::StringRecord) -> Result<R, Vec<RowError>>,
    ) -> impl Iterator<Item = anyhow::Result<Parsed<R>>> {
        let Self { header, width, records, is_sheet, ends_in_line_end } = self;
        let (mut records, mut row, mut has_warned) = (records.peekable(), 0, false);
        let mut next = move || {
            let Some(record) = records.next() else { return Ok(None) };
            row += 1;
            let (line, cells) = record.with_context(|| format!("row {row} cannot be read"))?;
            let has_text = |column: usize| cells.get(column).is_some_and(|cell| !cell.trim().is_empty());
            let unnamed =
                (0..cells.len()).find(|column| has_text(*column) && header.get(*column).is_none_or(String::is_empty));
            // Spreadsheets leave out empty cells at the end of a row. Otherwise a line with too few cells is damaged.
            let is_short = !is_sheet && cells.len() < header.len();
            let is_damaged = is_short && cells.len() < required || !is_sheet && (width..cells.len()).any(has_text);
            let is_cut = is_short && !ends_in_line_end && records.peek().is_none();
            if let Some(column) = unnamed.filter(|_| !is_damaged && !has_warned) {
                tracing::warn!("ignored, because it has no heading: column {}", column + 1);
                has_warned = true;
            }
            let (number, position) = (cells.len(), Position { row, line });
            let parsed = if is_damaged {
                Err(RowError::of_row(format!(
                    "The row has {number} columns, and the header row has {width}; is a separator or a quote missing?"
                )))
            } else if is_cut {
                Err(RowError::of_row(format!(
                    "The row has {number} columns and no line end, and the header row has {width}; was the file cut off?"
                )))
            } else {
                parse(&cells)
            };
            Ok(Some((position, parsed)))
        };
        std::iter::from_fn(move || next().transpose())
    }
}

/// Finds how dates are read: in the given order, or else in the order of the file.
fn dates<C: Column>(source: &Source, columns: &[Option<C>], given: Option<Order>) -> anyhow::Result<Dates> {
    let is_date = |column: &Option<C>| column.is_some_and(|column| column.date_form().is_some());
    let mut orders = Orders::default();
    if given.is_none() && columns.iter().any(is_date) {
        for record in Table::open(source)?.records {
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
pub(super) fn rows<C, R, F>(
    source: &Source,
    columns: Vec<Option<C>>,
    is_export: bool,
    options: Options,
    parse: F,
) -> anyhow::Result<impl Iterator<Item = anyhow::Result<Parsed<R>>> + use<C, R, F>>
where
    C: Column,
    F: Fn(Vec<(C, String)>) -> Result<R, Vec<RowError>>,
{
    let dates = dates(source, &columns, options.dates)?;
    let reading = Reading { escape: options.escape, dates, is_exact: is_export && source.workbook.is_none() };
    let is_required = |column: &Option<C>| column.is_some_and(Column::is_required);
    let required = columns.iter().rposition(is_required).map_or(0, |last| last + 1);
    // Each reader moves the position of the file, so this one begins last.
    Ok(Table::open(source)?.rows(required, move |cells| {
        let (mut texts, mut errors) = (Vec::new(), Vec::new());
        for (column, cell) in columns.iter().zip(cells) {
            let Some(column) = *column else { continue };
            match reading.text(cell, column.date_form()) {
                // An empty cell is an absent field.
                Ok(text) if text.is_empty() => {}
                Ok(text) => texts.push((column, text)),
                Err(reason) => errors.push(RowError::new(column.name(), cell, reason)),
            }
        }
        if errors.is_empty() { parse(texts) } else { Err(errors) }
    }))
}
