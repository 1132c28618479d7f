//! Tables: columns below a row of headings, in CSV or in a workbook.

use std::{marker::PhantomData, mem::take, ops::ControlFlow};

use compliance_api::{csv_cell::Escape, description::Field, v1::Format};

use crate::{
    dates::{Dates, Epoch, Orders},
    error::{FileError, short},
    file::File,
    headings::{Headings, is_unnamed, letters},
    options::{Empty, Options},
    record::{TableRecord, Target, Values},
    row::{Cell, CellKind, RawRow, Row, RowError, cell_name, column_name, visible},
    sheet::Merges,
    source::Source,
};

/// Rows in which the headings are searched. Titles and blank rows can precede them.
const FIRST_ROWS: usize = 20;
/// What a spreadsheet shows instead of a value that it cannot compute.
const ERRORS: [&str; 13] = [
    "#N/A",
    "#REF!",
    "#VALUE!",
    "#DIV/0!",
    "#NAME?",
    "#NUM!",
    "#NULL!",
    "#SPILL!",
    "#CALC!",
    "#ERROR!",
    "#FIELD!",
    "#GETTING_DATA",
    "#BLOCKED!",
];
/// Maximum number of notes about repeated headings.
const MOST_NOTES: usize = 20;
/// How a row below the records begins.
const TOTALS: [&str; 10] =
    ["total", "totals", "grandtotal", "subtotal", "sum", "summe", "gesamt", "gesamtsumme", "totale", "totalgeneral"];

/// A table whose headings are known.
pub struct Table<R> {
    file: File,
    plan: Plan,
    merges: Merges,
    notes: Vec<String>,
    rows: u64,
    record: PhantomData<fn() -> R>,
}

/// How the rows of a table become records.
struct Plan {
    /// The headings. Empty ones at the end are removed.
    header: Vec<String>,
    /// The line of the headings.
    header_line: u64,
    /// The number of cells in the row of headings, in CSV.
    width: Option<usize>,
    columns: Vec<Target>,
    /// The line of totals below the records.
    totals_line: Option<u64>,
    last_line: u64,
    ends_in_line_end: bool,
    dates: Dates,
    epoch: Option<Epoch>,
    escape: Escape,
    empty: Empty,
    required: &'static [&'static str],
    /// Whether spaces around a text belong to it.
    is_exact: bool,
}

impl<R: TableRecord> Table<R> {
    /// Reads a file once, and finds its headings and how its cells are read.
    pub fn open(source: impl Source + 'static, options: Options) -> Result<Self, FileError> {
        let mut file = File::open(source, &options)?;
        let headings = Headings::new::<R>(&options.columns)?;
        let mut scan = Scan::default();
        file.rows(&mut |row| scan.read::<R>(&row, &headings, &options))?;
        let Some(Header { names, line, width, columns }) = scan.header else {
            return Err(scan.without_headings::<R>(&headings, &options));
        };
        let Scan { orders, rows, last_line, is_total, mut notes, .. } = scan;
        let order = options.dates.map_or_else(|| orders.order(), Ok)?;
        let read_only: Vec<&str> =
            names.iter().filter(|name| headings.is_read_only::<R>(name)).map(String::as_str).collect();
        if !read_only.is_empty() {
            notes.push(format!("ignored, because the service assigns them: {}", read_only.join(", ")));
        }
        let (mut merges, mut ends_in_line_end) = (Merges::default(), true);
        let epoch = file.epoch();
        match &mut file {
            File::Csv(text) => ends_in_line_end = text.ends_in_line_end,
            File::Workbook(workbook) => {
                merges = take(&mut workbook.merges);
                if !workbook.others.is_empty() {
                    let others = workbook.others.join(", ");
                    notes.push(format!("only the sheet {:?} is read; ignored: {others}", workbook.sheet));
                }
                if workbook.hidden_rows > 0 {
                    notes.push(format!("{} hidden rows of the sheet are read like the others", workbook.hidden_rows));
                }
            }
        }
        let is_exact = epoch.is_none() && R::is_export(&names);
        let plan = Plan {
            is_exact,
            header: names,
            header_line: line,
            width,
            columns,
            totals_line: Some(last_line).filter(|_| is_total && !is_exact),
            last_line,
            ends_in_line_end,
            dates: Dates(order),
            epoch,
            escape: options.escape,
            empty: options.empty,
            required: options.required,
        };
        let notes = notes.iter().map(|note| short(note).to_owned()).collect();
        Ok(Self { file, plan, merges, notes, rows, record: PhantomData })
    }

    /// What the table has and its records do not, each named once.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The number of rows, including invalid ones.
    pub fn row_count(&self) -> u64 {
        self.rows
    }

    /// Passes on each row in the order of the file, until `each` breaks.
    pub fn read(&mut self, mut each: impl FnMut(Row<R>) -> ControlFlow<()>) -> Result<(), FileError> {
        let Self { file, plan, merges, .. } = self;
        merges.restart();
        let mut number = 0;
        file.rows(&mut |raw| {
            if raw.line <= plan.header_line || raw.is_blank() || plan.is_left_out(&raw) {
                return Ok(ControlFlow::Continue(()));
            }
            number += 1;
            merges.reach(raw.line)?;
            let record = plan.values(&raw, merges).and_then(|values| {
                let record = R::of_values(values, plan.required);
                record.map_err(|errors| errors.into_iter().map(|error| plan.placed(error, raw.line)).collect())
            });
            Ok(each(Row { row: number, line: raw.line, record }))
        })
    }
}

/// The row of headings.
struct Header {
    names: Vec<String>,
    line: u64,
    width: Option<usize>,
    columns: Vec<Target>,
}

/// What the first reading of a file finds.
#[derive(Default)]
struct Scan {
    header: Option<Header>,
    /// The rows above the headings, with their lines.
    above: Vec<(Vec<String>, u64)>,
    orders: Orders,
    rows: u64,
    last_line: u64,
    /// Whether the last row has totals.
    is_total: bool,
    has_unnamed: bool,
    notes: Vec<String>,
}

impl Scan {
    fn read<R: TableRecord>(
        &mut self,
        row: &RawRow,
        headings: &Headings,
        options: &Options,
    ) -> Result<ControlFlow<()>, FileError> {
        if row.is_blank() {
            return Ok(ControlFlow::Continue(()));
        }
        let Some(header) = &self.header else {
            self.read_first::<R>(row, headings, options)?;
            let is_end = self.header.is_none() && self.above.len() == FIRST_ROWS;
            return Ok(if is_end { ControlFlow::Break(()) } else { ControlFlow::Continue(()) });
        };
        if is_repeated(&header.names, row) {
            self.note(format!("ignored, because it repeats the headings: row {}", row.line));
            return Ok(ControlFlow::Continue(()));
        }
        if has_other_headings(&header.names, row) {
            return Err(FileError::Columns(format!(
                "row {} has headings in another order than row {}: put the tables into files of their own",
                row.line, header.line
            )));
        }
        self.rows += 1;
        (self.last_line, self.is_total) = (row.line, is_total(row));
        if self.rows > options.limits.rows {
            return Err(FileError::Limit(format!(
                "the file has more than {} rows below the headings",
                options.limits.rows
            )));
        }
        for cell in row.cells.iter().filter(|cell| !cell.is_blank()) {
            let target = header.columns.get(cell.column).copied().flatten();
            if options.dates.is_none() && target.is_some_and(is_date) && matches!(cell.kind, CellKind::Text) {
                self.orders.see(row.line, visible(&cell.text))?;
            }
            let has_heading = header.names.get(cell.column).is_some_and(|name| !name.is_empty());
            if !has_heading && !self.has_unnamed && header.width.is_none_or(|width| cell.column < width) {
                self.has_unnamed = true;
                let name = column_name(cell.column);
                self.notes.push(format!("ignored, because it has no heading: column {} ({name})", cell.column + 1));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Reads a row that may have the headings.
    fn read_first<R: TableRecord>(
        &mut self,
        row: &RawRow,
        headings: &Headings,
        options: &Options,
    ) -> Result<(), FileError> {
        let last = row.cells.iter().rfind(|cell| !cell.is_blank()).map_or(0, |cell| cell.column + 1);
        let names: Vec<String> = (0..last).map(|column| row.text(column).to_owned()).collect();
        let limit = options.limits.columns;
        if names.iter().filter(|name| !is_unnamed(name)).count() > limit {
            return Err(FileError::Limit(format!("the file has more than {limit} columns with a heading")));
        }
        if !headings.known::<R>(&names, options.required).1 {
            self.above.push((names, row.line));
            return Ok(());
        }
        for cell in &row.cells {
            if let CellKind::Unreadable(reason) = &cell.kind {
                let name = cell_name(cell.column, row.line);
                return Err(FileError::Columns(format!("the heading in the cell {name} {reason}")));
            }
        }
        if let (Some((_, first)), Some((_, last))) = (self.above.first(), self.above.last()) {
            self.notes.push(format!("ignored, because they are above the headings: rows {first} to {last}"));
        }
        let columns = headings.columns::<R>(&names, options.required)?;
        self.header = Some(Header { names, line: row.line, width: row.width, columns });
        Ok(())
    }

    /// Adds a note, unless there are many.
    fn note(&mut self, note: String) {
        if self.notes.len() < MOST_NOTES {
            self.notes.push(note);
        }
    }

    /// Returns the error of a file without headings. It is about the row that is most like headings.
    fn without_headings<R: TableRecord>(&self, headings: &Headings, options: &Options) -> FileError {
        let known = |names: &[String]| headings.known::<R>(names, &[]).0;
        let Some((best, _)) = self.above.iter().rev().max_by_key(|(names, _)| known(names)) else {
            return FileError::Damaged("the file is empty; its first row must name the columns".to_owned());
        };
        let error = headings.columns::<R>(best, options.required).err();
        error.unwrap_or_else(|| FileError::Columns("no row names the columns".to_owned()))
    }
}

/// Whether a row repeats the headings, as in files that were joined.
fn is_repeated(header: &[String], row: &RawRow) -> bool {
    header.iter().enumerate().all(|(column, name)| letters(row.text(column)) == letters(name))
}

/// Whether a row has only headings, but not in the order of the table, as in files that were joined.
fn has_other_headings(header: &[String], row: &RawRow) -> bool {
    let mut cells = row.cells.iter().filter(|cell| !cell.is_blank()).map(|cell| letters(&cell.text));
    let is_heading = |text: String| !text.is_empty() && header.iter().any(|name| letters(name) == text);
    cells.next().is_some_and(is_heading) && cells.next().is_some_and(is_heading) && cells.all(is_heading)
}

/// Whether a row has totals of the rows above: a word, and numbers behind it.
fn is_total(row: &RawRow) -> bool {
    let mut cells = row.cells.iter().filter(|cell| !cell.is_blank());
    let text = cells.next().map_or("", |cell| visible(&cell.text));
    let (word, number) = text.split_at(text.find(|next: char| next.is_ascii_digit()).unwrap_or(text.len()));
    // IDs such as SUM100 and TOTAL-7 have their number beside the word.
    let is_apart = number.is_empty() || word.ends_with(|next: char| next.is_whitespace() || ":=".contains(next));
    let is_number = |text: &str| !text.contains(char::is_alphabetic);
    is_apart && is_number(number) && TOTALS.contains(&letters(word).as_str()) && cells.all(|cell| is_number(&cell.text))
}

/// Whether a field is a calendar day.
fn is_day(field: &Field) -> bool {
    field.format == Format::StartDate
}

/// Whether a field is a calendar day or a time.
fn is_date(field: &Field) -> bool {
    is_day(field) || field.form == "datetime"
}

/// Whether a text is a number that lost digits, such as 4.91512E+11.
fn is_scientific(text: &str) -> bool {
    let Some((number, exponent)) = text.split_once(['E', 'e']) else { return false };
    let number = number.trim_start_matches(['+', '-']);
    let (whole, decimals) = number.split_once(['.', ',']).unwrap_or((number, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let exponent = exponent.strip_prefix(['+', '-']).filter(|digits| digits.len() > 1 && is_number(digits));
    whole.len() == 1 && is_number(whole) && is_number(decimals) && exponent.is_some()
}

impl Plan {
    /// Whether a row is not a record.
    fn is_left_out(&self, row: &RawRow) -> bool {
        is_repeated(&self.header, row)
    }

    /// Returns the fields of a row.
    fn values(&self, row: &RawRow, merges: &Merges) -> Result<Values, Vec<RowError>> {
        // It may also be a record, so it is not left out without a word.
        if Some(row.line) == self.totals_line {
            return Err(RowError::of_row("The row seems to have totals of the rows above; remove it from the file."));
        }
        if let Some(width) = row.width {
            self.check_width(row, width)?;
        }
        let (mut values, mut errors) = (Values::new(), Vec::new());
        for (column, field) in self.columns.iter().enumerate() {
            let Some(field) = *field else { continue };
            let cell = row.cell(column);
            let text = match merges.hides(column, row.line) {
                Some(range) => {
                    Err(format!("The cell is merged with others ({range}); split them and repeat the value."))
                }
                None => cell.map_or(Ok(String::new()), |cell| self.text(cell, field)),
            };
            match text {
                Ok(text) if !text.is_empty() => values.push((field, Some(text))),
                Ok(_) if self.empty == Empty::Clears => values.push((field, None)),
                Ok(_) => {}
                Err(reason) => {
                    let error = RowError::new(field.name, cell.map_or("", |cell| &cell.text), reason);
                    errors.push(self.placed(error, row.line));
                }
            }
        }
        if errors.is_empty() { Ok(values) } else { Err(errors) }
    }

    /// Fails for a line of text that is damaged.
    fn check_width(&self, row: &RawRow, width: usize) -> Result<(), Vec<RowError>> {
        // Every row has the cells up to the last required field. Spreadsheets leave out empty cells at the end of a row.
        let is_required = |field: &Target| field.is_some_and(|field| field.required || field.entry);
        let required = self.columns.iter().rposition(is_required).map_or(0, |last| last + 1);
        let expected = self.width.unwrap_or(self.columns.len());
        let is_short = width < self.columns.len();
        let question = if is_short && width < required
            || row.cells.iter().any(|cell| cell.column >= expected && !cell.is_blank())
        {
            "is a separator or a quote missing?"
        } else if is_short && row.line == self.last_line && !self.ends_in_line_end {
            "is the file cut off? Its last line has no end."
        } else {
            return Ok(());
        };
        Err(RowError::of_row(format!(
            "The row has {width} columns, and the row of headings has {expected}; {question}"
        )))
    }

    /// Returns the text of a cell, or the reason why it has none.
    fn text(&self, cell: &Cell, field: &Field) -> Result<String, String> {
        let date_of = |number: f64| self.epoch.and_then(|epoch| epoch.date(number));
        let written = match cell.kind {
            CellKind::Unreadable(ref reason) => return Err(format!("The cell {reason}.")),
            CellKind::Date if !is_date(field) => {
                return Err("The cell is a date, and the field is not; enter the value as text.".to_owned());
            }
            CellKind::Number(number) if is_date(field) && (1900.0..2200.0).contains(&number) => {
                return Err(format!(
                    "The cell has the number {number}, which is a year or a date without its format; enter the whole date."
                ));
            }
            // The cell has lost its format.
            CellKind::Number(number) if is_date(field) => date_of(number).unwrap_or_else(|| cell.text.clone()),
            _ => cell.text.clone(),
        };
        let shown = visible(&written);
        let text = if self.is_exact { self.escape.text(&written) } else { visible(self.escape.text(shown)) };
        if !self.is_exact {
            if ERRORS.contains(&shown) {
                return Err(format!("The cell has the error {shown} of a formula; correct it in the spreadsheet."));
            }
            if is_scientific(text) {
                return Err(format!(
                    "The number {text} has lost digits; format the column as text, and enter all digits."
                ));
            }
            if text.contains(|next| matches!(next, '\u{80}'..='\u{9f}' | '\u{fffd}')) {
                return Err("The text has lost a character in another encoding; enter it again.".to_owned());
            }
        }
        match field {
            _ if text.is_empty() => Ok(String::new()),
            field if is_day(field) => self.dates.day(text),
            field if is_date(field) => self.dates.instant(text),
            _ => Ok(text.to_owned()),
        }
    }

    /// Returns an error with the cell of its field.
    fn placed(&self, mut error: RowError, line: u64) -> RowError {
        let is_named =
            |field: &Target| field.is_some_and(|field| error.field.split('.').any(|part| part == field.name));
        if let Some(column) = self.columns.iter().position(is_named) {
            error.cell = match self.epoch {
                Some(_) => cell_name(column, line),
                None => self.header[column].clone(),
            };
        }
        error
    }
}
