//! Reads a sheet's rows as its cells display them.

use std::{collections::BTreeMap, ops::ControlFlow};

use quick_xml::events::BytesStart;

use crate::{
    book::Book,
    csv_text::{LONGEST_ROW, WIDEST_ROW},
    error::{FileError, damaged},
    number_format::{NumberFormat, with_15_digits},
    row::{Cell, CellKind, RawRow, cell_name, column_name},
    source::Each,
    xml::{Node, attribute, flag},
};

/// Why a formula cell cannot be read.
const WITHOUT_RESULT: &str =
    "contains a formula without a stored result; open the workbook in a spreadsheet program and save it";
/// Smallest number with more integer digits than spreadsheets store.
const FIRST_INEXACT: f64 = 1e15;
/// Number from which lost digits are an error, including decimals. Smaller numbers are rounded to 15 digits, as in spreadsheets.
const FIRST_LONG: f64 = 1e9;
/// Maximum number of merged ranges.
const MOST_RANGES: usize = 100_000;
/// Maximum number of cells with array formula results.
const MOST_RESULTS: u64 = 1_000_000;
/// Maximum total size of the cells' text, as a multiple of the unpacked size. Cells can share strings.
const SHARED: u64 = 4;

/// Reads a sheet's XML part.
pub(crate) struct Sheet<'s> {
    book: &'s Book,
    row: u64,
    /// Column after the last cell.
    column: usize,
    cells: Vec<Cell>,
    /// Total size of the row's text, in bytes. Every cell can refer to the same long string.
    row_length: u64,
    /// Number of bytes left for the remaining cells' text.
    left: u64,
    cell: RawCell,
    /// Columns with array formula results, each with its last such row.
    arrays: BTreeMap<usize, u64>,
    /// Number of cells with array formula results.
    results: u64,
    /// Whether text is part of a cell's value.
    is_value: bool,
    /// Whether text is shown beside or instead of the value.
    is_beside: bool,
    ranges: Vec<Range>,
    hidden_rows: u64,
    is_read: bool,
}

/// A cell as stored.
#[derive(Default)]
struct RawCell {
    kind: String,
    style: Option<usize>,
    value: String,
    values: usize,
    has_inline: bool,
    has_formula: bool,
}

impl<'s> Sheet<'s> {
    /// Creates a reader. `unpacked` is the maximum size of the unpacked parts, in bytes.
    pub(crate) fn new(book: &'s Book, unpacked: u64) -> Self {
        Self {
            book,
            left: unpacked * SHARED,
            arrays: BTreeMap::new(),
            results: 0,
            row: 0,
            column: 0,
            cells: Vec::new(),
            row_length: 0,
            cell: RawCell::default(),
            is_value: false,
            is_beside: false,
            ranges: Vec::new(),
            hidden_rows: 0,
            is_read: false,
        }
    }

    /// Reads a node, and passes the row that it completes, if any, to `each`.
    pub(crate) fn read(&mut self, node: Node<'_>, each: &mut Each<'_>) -> Result<ControlFlow<()>, FileError> {
        match node {
            Node::Start("row", element) => self.begin_row(element)?,
            Node::Start("c", element) => self.begin_cell(element)?,
            Node::Start("f", element) => self.begin_formula(element)?,
            Node::Start("rPh" | "Fallback", _) => self.is_beside = true,
            Node::End("rPh" | "Fallback") => self.is_beside = false,
            Node::Start("v", _) => (self.is_value, self.cell.values) = (true, self.cell.values + 1),
            Node::Start("is", _) => self.cell.has_inline = true,
            Node::Start("t", _) => self.is_value = !self.is_beside,
            Node::Text(text) if self.is_value => self.cell.value.push_str(text),
            Node::End("v" | "t") => self.is_value = false,
            Node::End("c") => self.end_cell()?,
            Node::End("row") => {
                self.end_arrays()?;
                if !self.cells.is_empty() {
                    return each(RawRow { line: self.row, width: None, cells: std::mem::take(&mut self.cells) });
                }
            }
            Node::Start("mergeCell", element) => self.merge(element)?,
            Node::End("worksheet") => self.is_read = true,
            _ => {}
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Returns the merged cells and the number of hidden rows, if the whole sheet was read.
    pub(crate) fn finish(self) -> Option<(Merges, u64)> {
        let mut ranges = self.ranges;
        ranges.sort_by_key(|range| range.rows.0);
        self.is_read.then_some((Merges { ranges, ..Merges::default() }, self.hidden_rows))
    }

    fn begin_row(&mut self, element: &BytesStart<'_>) -> Result<(), FileError> {
        let number = match attribute(element, "r") {
            Some(number) => number.parse().map_err(|_| damaged(format_args!("row number {number:?} is invalid")))?,
            None => self.row + 1,
        };
        if number <= self.row || number > 1 << 20 {
            return Err(damaged(format_args!("row {number} follows row {}", self.row)));
        }
        self.arrays.retain(|_, last| *last >= number);
        self.hidden_rows += u64::from(flag(element, "hidden"));
        (self.row, self.column, self.row_length) = (number, 0, 0);
        Ok(())
    }

    /// Begins a formula. Every cell of an array formula except the first contains only a result, or nothing.
    fn begin_formula(&mut self, element: &BytesStart<'_>) -> Result<(), FileError> {
        self.cell.has_formula = true;
        let kind = attribute(element, "t").unwrap_or_default();
        let range = attribute(element, "ref").filter(|_| kind == "array" || kind == "dataTable");
        let Some(range) = range.and_then(|name| Range::of(&name)) else { return Ok(()) };
        self.results += range.size();
        if self.results > MOST_RESULTS {
            return Err(too_many_results());
        }
        // An uncomputed formula may spill into any rows below it.
        let end = if self.book.is_uncomputed { u64::MAX } else { range.rows.1 };
        for column in range.columns.0..=range.columns.1 {
            let last = self.arrays.entry(column).or_default();
            *last = end.max(*last);
        }
        Ok(())
    }

    /// Adds the missing cells of array formulas in this row.
    fn end_arrays(&mut self) -> Result<(), FileError> {
        // A row without cells is blank.
        if self.cells.is_empty() {
            return Ok(());
        }
        self.results += self.arrays.len() as u64;
        if self.results > MOST_RESULTS {
            return Err(too_many_results());
        }
        let written = self.cells.len();
        for column in self.arrays.keys() {
            if self.cells[..written].binary_search_by_key(column, |cell| cell.column).is_err() {
                let kind = CellKind::Unreadable(WITHOUT_RESULT.to_owned());
                self.cells.push(Cell { column: *column, text: String::new(), kind });
            }
        }
        self.cells.sort_by_key(|cell| cell.column);
        Ok(())
    }

    fn begin_cell(&mut self, element: &BytesStart<'_>) -> Result<(), FileError> {
        if let Some(name) = attribute(element, "r") {
            let position = position(&name).filter(|(column, row)| *row == self.row && *column >= self.column);
            let Some((column, _)) = position else {
                return Err(damaged(format_args!("row {} contains the cell {name:?} in the wrong place", self.row)));
            };
            self.column = column;
        }
        if self.column >= WIDEST_ROW {
            return Err(damaged(format_args!("row {} contains more than {WIDEST_ROW} cells", self.row)));
        }
        let cell = &mut self.cell;
        (cell.values, cell.has_inline, self.is_value) = (0, false, false);
        cell.value.clear();
        cell.has_formula = self.arrays.contains_key(&self.column);
        cell.style = attribute(element, "s").map_or(Some(0), |style| style.parse().ok());
        cell.kind = attribute(element, "t").unwrap_or_default();
        Ok(())
    }

    fn end_cell(&mut self) -> Result<(), FileError> {
        let column = self.column;
        self.column += 1;
        let value = std::mem::take(&mut self.cell.value);
        let is_text = self.cell.kind == "str" && self.cell.values > 0;
        let is_inline = self.cell.kind == "inlineStr";
        let is_misplaced = if is_inline { self.cell.values > 0 } else { self.cell.has_inline || self.cell.values > 1 };
        let unreadable = |reason: String| (value.clone(), CellKind::Unreadable(reason));
        // Apache POI writes `0.0` for a formula that it has not calculated.
        let has_no_result = self.book.is_uncomputed || !is_text && (value.is_empty() || value == "0.0");
        let (text, kind) = if self.cell.has_formula && has_no_result {
            unreadable(WITHOUT_RESULT.to_owned())
        } else if is_misplaced {
            unreadable(
                "stores its value in an unexpected place; open the workbook in a spreadsheet program and save it"
                    .to_owned(),
            )
        } else {
            match self.cell.kind.as_str() {
                "e" if value.is_empty() => {
                    unreadable("contains a formula error; correct it in the spreadsheet".to_owned())
                }
                // An empty formula result.
                _ if value.is_empty() && self.cell.has_formula => (value, CellKind::Text),
                _ if value.is_empty() => return Ok(()),
                "s" => {
                    let text = value.trim().parse().ok().and_then(|index| self.book.texts.get(index));
                    let Some(text) = text else {
                        let name = cell_name(column, self.row);
                        return Err(damaged(format_args!("the cell {name} refers to a missing shared string")));
                    };
                    (unescaped(text), CellKind::Text)
                }
                "b" => match value.trim() {
                    "1" | "true" | "TRUE" => ("TRUE".to_owned(), CellKind::Text),
                    "0" | "false" | "FALSE" => ("FALSE".to_owned(), CellKind::Text),
                    _ => unreadable("is stored as a Boolean, but is neither true nor false".to_owned()),
                },
                "e" => unreadable(format!("contains the formula error {value}; correct it in the spreadsheet")),
                "d" => (value, CellKind::Date),
                "" | "n" => match value.trim().parse::<f64>() {
                    Ok(number) => self.number(number),
                    Err(_) => unreadable("is stored as a number, but is not one".to_owned()),
                },
                "str" | "inlineStr" => (unescaped(&value), CellKind::Text),
                kind => unreadable(format!("has the unknown kind {kind:?}")),
            }
        };
        let is_changed = matches!(kind, CellKind::Text) && !text.is_empty();
        let kind = if is_changed && self.cell.style.is_some_and(|style| self.book.changes_texts(style)) {
            CellKind::Unreadable("has a format that changes its text; enter the whole text".to_owned())
        } else {
            kind
        };
        self.row_length += text.len() as u64;
        if self.row_length > LONGEST_ROW {
            let limit = LONGEST_ROW >> 20;
            return Err(FileError::Limit(format!("the text of row {} exceeds {limit} MiB", self.row)));
        }
        self.left = self.left.checked_sub(text.len() as u64).ok_or_else(|| {
            FileError::Limit("the sheet's cells repeat too much shared text: split the file".to_owned())
        })?;
        if !text.is_empty() || self.cell.has_formula || matches!(kind, CellKind::Unreadable(_)) {
            self.cells.push(Cell { column, text, kind });
        }
        Ok(())
    }

    /// Returns how a cell displays a number.
    fn number(&self, number: f64) -> (String, CellKind) {
        let format = match self.cell.style {
            Some(0) => Some(self.book.format(0).unwrap_or(&NumberFormat::GENERAL)),
            style => style.and_then(|style| self.book.format(style)),
        };
        let Some(format) = format else {
            return (number.to_string(), CellKind::Unreadable("refers to a missing style".to_owned()));
        };
        if *format == NumberFormat::Date
            && let Some(date) = self.book.epoch.date(number)
        {
            return (date, CellKind::Date);
        }
        // Formula results have extra, meaningless digits.
        let lost = (number - with_15_digits(number)).abs() > number.abs() * 2.0 * f64::EPSILON;
        if !number.is_finite() || number.abs() >= FIRST_INEXACT || number.abs() >= FIRST_LONG && lost {
            let reason = "contains a number with more than 15 digits; spreadsheets keep only 15, so enter it as text";
            return (number.to_string(), CellKind::Unreadable(reason.to_owned()));
        }
        match format.show(number) {
            Ok(text) => (text, CellKind::Number),
            Err(reason) => (number.to_string(), CellKind::Unreadable(format!("{reason}; enter the value as text"))),
        }
    }

    fn merge(&mut self, element: &BytesStart<'_>) -> Result<(), FileError> {
        let name = attribute(element, "ref").unwrap_or_default();
        let range = Range::of(&name);
        self.ranges.push(range.ok_or_else(|| damaged(format_args!("the merged range {name:?} is not valid")))?);
        if self.ranges.len() > MOST_RANGES {
            return Err(FileError::Limit(format!("the sheet contains more than {MOST_RANGES} merged ranges")));
        }
        Ok(())
    }
}

fn too_many_results() -> FileError {
    FileError::Limit(format!("the sheet contains more than {MOST_RESULTS} cells with array formulas"))
}

/// Returns the column and row of a cell name such as `C7`, or `None` beyond the last column.
fn position(name: &str) -> Option<(usize, u64)> {
    let digits = name.find(|next: char| next.is_ascii_digit())?;
    let (letters, row) = name.split_at(digits);
    if !(1..=3).contains(&letters.len()) || !letters.bytes().all(|letter| letter.is_ascii_alphabetic()) {
        return None;
    }
    let column =
        letters.bytes().fold(0, |column, letter| column * 26 + usize::from(letter.to_ascii_uppercase() - b'A') + 1);
    let row = row.parse().ok()?;
    (column <= WIDEST_ROW).then_some((column - 1, row))
}

/// Decodes characters that XML cannot contain: `_x000D_` is a carriage return, and `_x005F_` an underscore.
fn unescaped(text: &str) -> String {
    if !text.contains("_x") {
        return text.to_owned();
    }
    let (mut units, mut rest) = (Vec::new(), text);
    while let Some(next) = rest.chars().next() {
        let code =
            rest.strip_prefix("_x").and_then(|rest| rest.get(..4)).filter(|_| rest.as_bytes().get(6) == Some(&b'_'));
        let code = code.filter(|code| code.bytes().all(|digit| digit.is_ascii_hexdigit()));
        if let Some(unit) = code.and_then(|code| u16::from_str_radix(code, 16).ok()) {
            units.push(unit);
            rest = &rest[7..];
        } else {
            units.extend_from_slice(next.encode_utf16(&mut [0; 2]));
            rest = &rest[next.len_utf8()..];
        }
    }
    String::from_utf16_lossy(&units)
}

/// A range of cells. Only the first cell contains a value or a formula.
#[derive(Clone, Copy, Debug)]
struct Range {
    rows: (u64, u64),
    columns: (usize, usize),
}

impl Range {
    /// Parses the name of a range, such as `C2:C4` or `C2`.
    fn of(name: &str) -> Option<Self> {
        let (first, last) = name.split_once(':').unwrap_or((name, name));
        let (first, last) = (position(first)?, position(last)?);
        let range = Self { rows: (first.1, last.1), columns: (first.0, last.0) };
        (first.0 <= last.0 && first.1 <= last.1).then_some(range)
    }

    /// Returns the number of cells.
    fn size(&self) -> u64 {
        (self.rows.1 - self.rows.0 + 1) * (self.columns.1 - self.columns.0 + 1) as u64
    }
}

/// Merged ranges of a sheet. Rows must be queried in order.
#[derive(Debug, Default)]
pub(crate) struct Merges {
    /// Ranges in the order of their first rows.
    ranges: Vec<Range>,
    /// Index of the next range that no row has reached.
    next: usize,
    /// Ranges that contain the current row.
    open: Vec<Range>,
    /// Maximum number of open ranges, unless ranges overlap.
    most: usize,
}

impl Merges {
    /// Drops ranges without any of these sorted columns. Each row is then in only a few ranges.
    pub(crate) fn keep(&mut self, columns: &[usize]) {
        let first_in =
            |range: &Range| columns.get(columns.partition_point(|column| *column < range.columns.0)).copied();
        self.ranges.retain(|range| first_in(range).is_some_and(|column| column <= range.columns.1));
        self.most = columns.len();
    }

    pub(crate) fn restart(&mut self) {
        self.next = 0;
        self.open.clear();
    }

    /// Moves to a row. Fails if ranges overlap, because each row might then be compared with all ranges.
    pub(crate) fn reach(&mut self, row: u64) -> Result<(), FileError> {
        self.open.retain(|range| range.rows.1 >= row);
        while let Some(range) = self.ranges.get(self.next).filter(|range| range.rows.0 <= row) {
            self.open.extend(Some(*range).filter(|range| range.rows.1 >= row));
            self.next += 1;
        }
        if self.open.len() > self.most { Err(damaged("merged ranges overlap")) } else { Ok(()) }
    }

    /// Returns the name of the range that hides a cell in the current row, if any.
    pub(crate) fn hides(&self, column: usize, row: u64) -> Option<String> {
        let mut open = self.open.iter();
        let Range { rows, columns } = open.find(|range| (range.columns.0..=range.columns.1).contains(&column))?;
        let is_first = (column, row) == (columns.0, rows.0);
        (!is_first).then(|| format!("{}{}:{}{}", column_name(columns.0), rows.0, column_name(columns.1), rows.1))
    }
}

#[cfg(test)]
mod tests {
    use super::{position, unescaped};

    #[test]
    fn invalid_cell_names_are_rejected() {
        assert_eq!(position("A1"), Some((0, 1)));
        assert_eq!(position("xfd1048576"), Some((16_383, 1_048_576)));
        for name in ["XFE1", "ZZZZZZ3", "A", "1", "", "A-1", "\u{c4}1"] {
            assert_eq!(position(name), None, "{name}");
        }
    }

    #[test]
    fn escaped_characters_are_decoded() {
        for (text, decoded) in [
            ("a_x000D_b", "a\rb"),
            ("_x005F_x000D_", "_x000D_"),
            ("_xD83D__xDE00_", "\u{1f600}"),
            ("_x00ZZ_ _x000d", "_x00ZZ_ _x000d"),
            ("_x\u{e4}\u{e4}_", "_x\u{e4}\u{e4}_"),
        ] {
            assert_eq!(unescaped(text), decoded);
        }
    }
}
