//! Reads tables: columns below a row of headings, in a CSV file or a workbook.

use std::{
    collections::{BTreeSet, HashMap},
    marker::PhantomData,
    mem::take,
    ops::ControlFlow,
};

use compliance_api::{csv_cell::Escape, description::Field, v1::Format};
use encoding_rs::Encoding;
use unicode_normalization::UnicodeNormalization as _;

use crate::{
    csv_text::FIRST_ROWS,
    dates::{Dates, Epoch, Orders},
    error::{FileError, short},
    file::File,
    headings::{Headings, is_unnamed, is_written_as, key, start},
    options::{Empty, Options},
    record::{TableRecord, Target, Values},
    row::{Cell, CellKind, RawRow, Row, RowError, cell_name, column_name, identity, is_invisible, visible},
    sheet::Merges,
    source::Source,
    traces::{check_code, check_encoding, check_identifier, is_error, is_scientific, is_total, without_formula},
};

/// Maximum number of notes about repeated headings, and of columns without a heading that notes list.
const MOST_NOTES: usize = 20;
const IDENTIFIER: &str = "client_affiliate_id";

/// A table with known headings.
pub struct Table<R> {
    file: File,
    plan: Plan,
    merges: Merges,
    notes: Vec<String>,
    rows: u64,
    record: PhantomData<fn() -> R>,
}

/// How a table's rows become records.
struct Plan {
    header: Header,
    last_line: u64,
    ends_in_line_end: bool,
    /// Whether line breaks seem to split rows.
    is_broken: bool,
    dates: Dates,
    epoch: Option<Epoch>,
    escape: Escape,
    empty: Empty,
    required: &'static [&'static str],
    /// Whether surrounding spaces are part of the text.
    is_exact: bool,
}

impl<R: TableRecord> Table<R> {
    /// Reads a file once to find its headings and how to read its cells.
    pub fn open(source: impl Source + 'static, options: Options) -> Result<Self, FileError> {
        let headings = Headings::new::<R>(&options.columns)?;
        let mut file = File::open(source, &options, &|names| headings.known::<R>(names, &[]).0)?;
        let fields = R::fields();
        if options.dates.is_some() && !fields.iter().any(|name| R::target(name).flatten().is_some_and(is_date)) {
            return Err(FileError::Unused("dates", "records without dates"));
        }
        let encoding = match &file {
            File::Csv(text) => Some(text.encoding).filter(|encoding| encoding.is_single_byte()),
            File::Workbook(_) => None,
        };
        let mut scan = Scan { encoding, ..Scan::default() };
        file.rows(&mut |row| scan.read::<R>(&row, &headings, &options))?;
        let Some(header) = scan.header else {
            let error = scan.without_headings::<R>(&headings, &options);
            return Err(match file {
                File::Workbook(workbook) if !workbook.others.is_empty() => FileError::Sheet(format!(
                    "{error}; only the sheet {:?} was read, and the workbook also contains {}",
                    workbook.sheet,
                    workbook.others.join(", ")
                )),
                _ => error,
            });
        };
        let Scan { orders, rows, last_line, is_broken, unnamed, mut notes, .. } = scan;
        if !unnamed.is_empty() {
            let columns = unnamed.iter().map(|column| format!("{} ({})", column + 1, column_name(*column)));
            let columns = columns.collect::<Vec<_>>().join(", ");
            notes.push(format!("ignored columns without a heading: {columns}"));
        }
        let names = &header.names;
        let order = options.dates.map_or_else(|| orders.order(), Ok)?;
        let read_only: Vec<&str> =
            names.iter().filter(|name| headings.is_read_only::<R>(name)).map(String::as_str).collect();
        if !read_only.is_empty() {
            notes.push(format!("ignored fields that the service assigns: {}", read_only.join(", ")));
        }
        let (mut merges, mut ends_in_line_end) = (Merges::default(), true);
        let epoch = file.epoch();
        match &mut file {
            File::Csv(text) => {
                ends_in_line_end = text.ends_in_line_end;
            }
            File::Workbook(workbook) => {
                merges = take(&mut workbook.merges);
                let columns = header.columns.iter().enumerate().filter(|(_, field)| field.is_some());
                merges.keep(&columns.map(|(column, _)| column).collect::<Vec<_>>());
                if !workbook.others.is_empty() {
                    let others = workbook.others.join(", ");
                    notes.push(format!("only the sheet {:?} is read; ignored: {others}", workbook.sheet));
                }
                if workbook.hidden_rows > 0 {
                    notes.push(format!("hidden rows, read like visible rows: {}", workbook.hidden_rows));
                }
            }
        }
        let is_exact = epoch.is_none() && R::is_export(names);
        let plan = Plan {
            is_exact,
            header,
            last_line,
            ends_in_line_end,
            is_broken,
            dates: Dates(order),
            epoch,
            escape: options.escape,
            empty: options.empty,
            required: options.required,
        };
        let notes = notes.iter().map(|note| short(note).to_owned()).collect();
        Ok(Self { file, plan, merges, notes, rows, record: PhantomData })
    }

    /// Returns notes on the parts of the table that the records omit. Each note is listed once.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns the number of rows, including invalid ones.
    pub fn row_count(&self) -> u64 {
        self.rows
    }

    /// Passes each row to `each` in file order, until `each` breaks.
    pub fn read(&mut self, mut each: impl FnMut(Row<R>) -> ControlFlow<()>) -> Result<(), FileError> {
        let Self { file, plan, merges, .. } = self;
        merges.restart();
        let mut number = 0;
        file.rows(&mut |raw| {
            if raw.line <= plan.header.line || raw.is_blank() || plan.header.is_repeated(&raw) {
                return Ok(ControlFlow::Continue(()));
            }
            number += 1;
            merges.reach(raw.line)?;
            let mut identity = None;
            let record = plan.values(&raw, merges).and_then(|(values, mut errors)| {
                let id = values.iter().find(|(field, _)| field.name == IDENTIFIER).cloned();
                let record = R::of_values(values, plan.required);
                let record = record.map_err(|of_rules| {
                    // A required value that cannot be read is not missing.
                    let unreadable: Vec<String> = errors.iter().map(|error| error.field.clone()).collect();
                    let of_rules = of_rules.into_iter().filter(|error| !unreadable.contains(&error.field));
                    errors.extend(of_rules.map(|error| plan.placed(error, raw.line)));
                });
                let record = record.ok().filter(|_| errors.is_empty());
                if record.is_none() {
                    identity = R::of_values(id.into_iter().collect(), plan.required).ok();
                }
                record.ok_or(errors)
            });
            Ok(each(Row { row: number, line: raw.line, record, identity }))
        })
    }
}

/// A heading row.
struct Header {
    /// Headings, without trailing empty ones.
    names: Vec<String>,
    keys: Vec<String>,
    /// Whether each column has a heading.
    is_named: Vec<bool>,
    line: u64,
    /// Number of cells in the row. `None` in workbooks.
    width: Option<usize>,
    columns: Vec<Target>,
    /// Number of known headings.
    known: usize,
    /// Keys of all possible headings, with their fields.
    possible: HashMap<String, Option<&'static str>>,
}

impl Header {
    /// Returns whether a row repeats the headings, as in concatenated files.
    fn is_repeated(&self, row: &RawRow) -> bool {
        row.cells.iter().all(|cell| cell.column < self.keys.len() || cell.is_blank())
            && (0..self.keys.len()).all(|column| self.repeats(row, column))
    }

    /// Returns whether a cell repeats its column's heading.
    fn repeats(&self, row: &RawRow, column: usize) -> bool {
        let text = start(row.text(column));
        if text.is_ascii() && text.contains(|next: char| next.is_ascii_alphanumeric()) {
            return is_written_as(text, &self.keys[column]);
        }
        key(text) == self.keys[column]
    }

    /// Returns whether a row contains different headings from the table, as in concatenated files.
    ///
    /// Such a row contains headings in its first cells and in most of its cells.
    fn has_others(&self, row: &RawRow) -> bool {
        let cells = || row.cells.iter().filter(|cell| !cell.is_blank());
        let is_heading = |cell: &&Cell| self.possible.contains_key(&key(start(&cell.text)));
        // No record has a required field's name as the value of that field.
        let is_own = |(column, field): (usize, &Target)| {
            let (Some(field), text) = (field.filter(|field| field.required), row.text(column)) else { return false };
            // An affiliate can be called `Name`. Headings of ID fields contain no digits.
            let can_be_value = if field.name.ends_with("_id") {
                text.contains(|next: char| next.is_ascii_digit())
            } else {
                !text.contains('_')
            };
            !can_be_value && self.possible.get(&key(start(text))) == Some(&Some(field.name))
        };
        let repeated =
            (0..self.keys.len()).filter(|column| self.columns[*column].is_some() && self.repeats(row, *column));
        if repeated.take(2).count() > 1 || self.columns.iter().enumerate().any(is_own) {
            return true;
        }
        cells().take(2).all(|cell| is_heading(&cell))
            && cells().count() > 1
            && cells().filter(is_heading).count() * 2 > cells().count()
    }

    /// Returns whether a row above the headings may be a record.
    fn is_record(&self, cells: &[String], required: &[&str]) -> bool {
        let filled = cells.iter().filter(|cell| !cell.is_empty()).count();
        let has = |name: &&str| {
            let column = self.columns.iter().position(|field| field.is_some_and(|field| field.name == *name));
            // `Exported on:` followed by a date is not a record.
            column.and_then(|column| cells.get(column)).is_some_and(|cell| !cell.is_empty() && !cell.ends_with(':'))
        };
        filled >= self.names.iter().filter(|name| !name.is_empty()).count() || filled > 1 && required.iter().all(has)
    }
}

/// Findings from a file's first read.
#[derive(Default)]
struct Scan {
    header: Option<Header>,
    /// Rows above the headings, with their line numbers.
    above: Vec<(Vec<String>, u64)>,
    orders: Orders,
    rows: u64,
    /// Number of rows, including repeated headings.
    lines: u64,
    /// Number of cells in the last row, if it has fewer than the headings.
    narrow: Option<usize>,
    is_broken: bool,
    last_line: u64,
    /// Columns with cells but without a heading.
    unnamed: BTreeSet<usize>,
    /// The single-byte encoding, if any. Bytes in a different encoding can decode to wrong letters.
    encoding: Option<&'static Encoding>,
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
        if self.rows == 0 && self.read_first::<R>(row, headings, options)? {
            return Ok(ControlFlow::Continue(()));
        }
        let Some(header) = &self.header else { return Ok(ControlFlow::Break(())) };
        self.lines += 1;
        if self.lines > options.limits.rows {
            return Err(FileError::Limit(format!(
                "the file contains more than {} rows below the headings",
                options.limits.rows
            )));
        }
        if header.is_repeated(row) {
            self.note(format!("ignored a row that repeats the headings: {}", row.line));
            return Ok(ControlFlow::Continue(()));
        }
        if header.has_others(row) {
            return Err(FileError::Columns(format!(
                "row {} contains different headings from row {}, or in a different order: put the tables in separate files",
                row.line, header.line
            )));
        }
        self.rows += 1;
        self.last_line = row.line;
        let narrow = row.width.filter(|width| *width < header.names.len());
        if let (Some(width), Some(other), Some(widest)) = (narrow, self.narrow, header.width) {
            // A line break splits a cell into the last cell of one row and the first of the next. A row between two breaks has one cell.
            let both = width + other - 1;
            self.is_broken |= width.min(other) == 1 || (header.names.len()..=widest).contains(&both);
        }
        self.narrow = narrow;
        for cell in row.cells.iter().filter(|cell| !cell.is_blank()) {
            let target = header.columns.get(cell.column).copied().flatten();
            let is_written = matches!(cell.kind, CellKind::Text | CellKind::Number);
            if options.dates.is_none() && target.is_some_and(is_date) && is_written {
                self.orders.see(row.line, without_formula(visible(&cell.text)))?;
            }
            if let (Some(encoding), true) = (self.encoding, target.is_some()) {
                check_encoding(row.line, visible(&cell.text), encoding)?;
            }
            let has_heading = header.is_named.get(cell.column) == Some(&true);
            if !has_heading && self.unnamed.len() < MOST_NOTES && header.width.is_none_or(|width| cell.column < width) {
                self.unnamed.insert(cell.column);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Reads a row that may contain the headings. Returns whether the row is above the records.
    fn read_first<R: TableRecord>(
        &mut self,
        row: &RawRow,
        headings: &Headings,
        options: &Options,
    ) -> Result<bool, FileError> {
        let last = row.cells.iter().rfind(|cell| !cell.is_blank()).map_or(0, |cell| cell.column + 1);
        let names: Vec<String> = (0..last).map(|column| start(row.text(column)).to_owned()).collect();
        let limit = options.limits.columns;
        if self.header.is_none() && names.iter().filter(|name| !is_unnamed(name)).count() > limit {
            return Err(FileError::Limit(format!("the file contains more than {limit} columns with a heading")));
        }
        let (known, is_whole) = headings.known::<R>(&names, options.required);
        // A title can match a heading.
        if !is_whole || self.header.as_ref().is_some_and(|header| header.known >= known) {
            let is_above = self.header.is_none() && self.above.len() < FIRST_ROWS;
            self.above.extend(is_above.then_some((names, row.line)));
            return Ok(is_above);
        }
        self.above.extend(self.header.take().map(|title| (title.names, title.line)));
        for cell in &row.cells {
            if let CellKind::Unreadable(reason) = &cell.kind {
                let name = cell_name(cell.column, row.line);
                return Err(FileError::Columns(format!("the heading in the cell {name} {reason}")));
            }
        }
        let columns = headings.columns::<R>(&names, options.required)?;
        let keys: Vec<String> = names.iter().map(|name| key(name)).collect();
        let mut possible: HashMap<_, _> = keys.iter().map(|key| (key.clone(), None)).collect();
        for field in R::fields().into_iter().filter_map(R::target).flatten() {
            possible.extend([field.name].iter().chain(field.headings).map(|name| (key(name), Some(field.name))));
        }
        // The service's own IDs.
        possible.entry("id".to_owned()).or_default();
        let is_named = names.iter().map(|name| !is_unnamed(name)).collect();
        let header = Header { names, keys, is_named, line: row.line, width: row.width, columns, known, possible };
        if let Some((_, line)) = self.above.iter().find(|(cells, _)| header.is_record(cells, options.required)) {
            return Err(FileError::Columns(format!(
                "row {line} is above the headings in row {}, and may be a record: move it below them, or remove it",
                header.line
            )));
        }
        self.notes.clear();
        if let (Some((_, first)), Some((_, last))) = (self.above.first(), self.above.last()) {
            self.notes.push(format!("ignored rows above the headings: {first} to {last}"));
        }
        self.header = Some(header);
        Ok(true)
    }

    /// Adds a note, up to a limit.
    fn note(&mut self, note: String) {
        if self.notes.len() < MOST_NOTES {
            self.notes.push(note);
        }
    }

    /// Returns the error for a file without headings. Describes the row that most resembles headings.
    fn without_headings<R: TableRecord>(&self, headings: &Headings, options: &Options) -> FileError {
        let known = |names: &[String]| headings.known::<R>(names, &[]).0;
        let Some((best, _)) = self.above.iter().rev().max_by_key(|(names, _)| known(names)) else {
            return FileError::Damaged("the file is empty; its first row must name the columns".to_owned());
        };
        let error = headings.columns::<R>(best, options.required).err();
        error.unwrap_or_else(|| FileError::Columns("no row names the columns".to_owned()))
    }
}

/// Returns whether a field is a calendar day.
fn is_day(field: &Field) -> bool {
    field.format == Format::StartDate
}

/// Returns whether a field is a calendar day or a time.
fn is_date(field: &Field) -> bool {
    is_day(field) || field.form == "datetime"
}

impl Plan {
    /// Returns a row's fields, and the errors of its unreadable cells. Fails if the row itself is wrong.
    fn values(&self, row: &RawRow, merges: &Merges) -> Result<(Values, Vec<RowError>), Vec<RowError>> {
        // The row may be a record, so it is not skipped silently.
        if is_total(row) {
            return Err(RowError::of_row(
                "The row seems to contain totals of the rows above; remove it from the file.",
            ));
        }
        if let Some(width) = row.width {
            self.check_width(row, width)?;
        }
        let (mut values, mut errors) = (Values::new(), Vec::new());
        for (column, field) in self.header.columns.iter().enumerate() {
            let Some(field) = *field else { continue };
            let cell = row.cell(column);
            let text = match merges.hides(column, row.line) {
                Some(range) => {
                    Err(format!("The cell is part of the merged range {range}; unmerge it and repeat the value."))
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
        Ok((values, errors))
    }

    /// Fails if the number of cells shows that a row is damaged.
    fn check_width(&self, row: &RawRow, width: usize) -> Result<(), Vec<RowError>> {
        // Spreadsheets omit empty cells at the end of a row, but not before the last required field. If empty cells clear fields, no cell
        // can be missing. Otherwise, an unquoted line break would clear the fields after it.
        let columns = &self.header.columns;
        let is_required = |field: &Target| field.is_some_and(|field| field.required || field.entry);
        let required = columns.iter().rposition(is_required).map_or(0, |last| last + 1);
        let expected = self.header.width.unwrap_or(columns.len());
        let is_short = width < columns.len();
        let question = if is_short && (width < required || self.is_broken || self.empty == Empty::Clears)
            || row.cells.iter().any(|cell| cell.column >= expected && !cell.is_blank())
        {
            "is a separator or a quote missing?"
        } else if is_short && row.line == self.last_line && !self.ends_in_line_end {
            "is the file truncated? Its last line has no line break."
        } else {
            return Ok(());
        };
        let columns = if width == 1 { "column" } else { "columns" };
        Err(RowError::of_row(format!("The row has {width} {columns}, but the heading row has {expected}; {question}")))
    }

    /// Returns a cell's text, or why the cell cannot be read.
    fn text(&self, cell: &Cell, field: &Field) -> Result<String, String> {
        let written = match cell.kind {
            CellKind::Unreadable(ref reason) => return Err(format!("The cell {reason}.")),
            CellKind::Date if !is_date(field) => {
                return Err("The cell is a date, but the field is not; enter the value as text.".to_owned());
            }
            // Without a date format, the number can be a day or digits such as 20260131.
            CellKind::Number if is_date(field) && cell.text.parse::<f64>().is_ok() => {
                return Err(format!(
                    "The cell contains the number {}, not a date; enter the whole date, such as 2026-01-31.",
                    cell.text
                ));
            }
            _ => cell.text.clone(),
        };
        let shown = visible(&written);
        // Exports prefix formulas with an apostrophe.
        let text = match self.is_exact {
            true if without_formula(&written) == written => self.escape.text(&written),
            true => without_formula(&written),
            false => visible(self.escape.text(without_formula(shown))),
        };
        // A spreadsheet program may have damaged the export when saving it.
        let unescaped = Some(visible(text)).filter(|text| *text != shown);
        if let Some(error) = [Some(shown), unescaped].into_iter().flatten().find(|text| is_error(text)) {
            return Err(format!("The cell contains the formula error {error}; correct it in the spreadsheet."));
        }
        if is_scientific(visible(text)) {
            return Err(format!(
                "The number {text} has lost digits; format the column as text, and enter all digits. If it is a code, send it as JSON."
            ));
        }
        if text.contains(|next| matches!(next, '\0' | '\u{80}'..='\u{9f}' | '\u{fffd}')) {
            return Err("The text has lost a character in an encoding conversion; retype the text.".to_owned());
        }
        let (is_id, is_phone) = (field.name.ends_with("_id"), field.name.starts_with("phone_"));
        let is_code = is_id || is_phone || matches!(field.name, "zip" | "country");
        // Whole exports can contain other forms, but pandas adds `.0` to their numbers.
        if is_code && (!self.is_exact || visible(text).ends_with(".0")) {
            check_code(visible(text), |next| match next {
                ',' | '\'' | '’' => true,
                // Phone numbers can contain points. In workbooks, so can codes, because numbers are read without separators.
                '.' => !is_phone && self.epoch.is_none(),
                // People write phone numbers and ZIP codes with spaces.
                _ => is_id && next.is_whitespace(),
            })?;
        }
        // Somebody may have added rows to an export.
        if self.is_exact && is_id && text.contains(is_unseen) {
            return Err(
                "The ID contains an invisible character or a non-breaking space; remove it, or send the ID as JSON."
                    .to_owned(),
            );
        }
        if !self.is_exact {
            let is_space = |next: char| next.is_whitespace() && next != ' ';
            if field.name == "url"
                && text.contains(|next: char| {
                    // Persian words and emoji contain joiners.
                    is_invisible(next) && !matches!(next, '\u{200c}' | '\u{200d}')
                        || next.is_control()
                        || is_space(next)
                })
            {
                return Err(
                    "The URL contains an invisible character, such as a soft hyphen or a line break; retype the URL."
                        .to_owned(),
                );
            }
            if is_id {
                return check_identifier(identity(text));
            }
            if field.name == "affiliate_name" {
                return Ok(text.nfc().collect());
            }
        }
        match field {
            _ if text.is_empty() => Ok(String::new()),
            field if is_day(field) => self.dates.day(text),
            field if is_date(field) => self.dates.instant(text),
            _ => Ok(text.to_owned()),
        }
    }

    /// Adds the field's cell to an error.
    fn placed(&self, mut error: RowError, line: u64) -> RowError {
        let is_named =
            |field: &Target| field.is_some_and(|field| error.field.split('.').any(|part| part == field.name));
        if let Some(column) = self.header.columns.iter().position(is_named) {
            error.cell = match self.epoch {
                Some(_) => cell_name(column, line),
                None => self.header.names[column].clone(),
            };
        }
        error
    }
}

/// Returns whether two IDs can look equal but differ in this character.
fn is_unseen(next: char) -> bool {
    is_invisible(next) || next.is_whitespace() && !next.is_ascii()
}
