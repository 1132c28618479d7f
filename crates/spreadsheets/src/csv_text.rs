//! Parses CSV: detects the separator, tracks line numbers, and detects truncated files.

use std::io::{BufRead as _, Read as _, Seek as _};

use crate::{
    decoded::{Decoded, encoding_of, is_utf8},
    error::FileError,
    options::Options,
    row::{Cell, CellKind, RawRow, visible},
    source::{Each, HEAD, Input},
};

/// Maximum length of a row, in bytes. An unclosed quote turns the rest of the file into one row.
pub(crate) const LONGEST_ROW: u64 = 16 << 20;
/// Maximum number of cells in a row, the same as in a sheet.
pub(crate) const WIDEST_ROW: usize = 1 << 14;
/// Number of rows to search for the headings. Titles and blank rows can precede the headings.
pub(crate) const FIRST_ROWS: usize = 20;
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
/// Prefix of Excel's separator line, which precedes the headings.
const SEPARATOR_LINE: &[u8] = b"sep=";

/// A CSV file.
pub(crate) struct CsvText {
    source: Input,
    pub(crate) encoding: &'static encoding_rs::Encoding,
    separator: u8,
    /// Whether the first line specifies the separator.
    has_separator_line: bool,
    /// Whether the last row ends in a line break. Otherwise, the file may be truncated.
    pub(crate) ends_in_line_end: bool,
}

impl CsvText {
    pub(crate) fn open(
        mut source: Input,
        head: &[u8],
        options: &Options,
        known: &dyn Fn(&[String]) -> usize,
    ) -> Result<Self, FileError> {
        let encoding = encoding_of(head, options.encoding);
        let given = encoding_of(&[], options.encoding);
        // In single-byte encodings, every byte is valid.
        if given.is_single_byte() && (encoding != given || is_utf8(&mut source)?) {
            let found = if encoding == given { "UTF-8" } else { encoding.name() };
            return Err(FileError::Encoding(format!("the file is {found}, not {}: omit the encoding", given.name())));
        }
        source.rewind()?;
        let mut text = Vec::new();
        // Ignores an error here. Reading the rows reports it with its line.
        let _ = Decoded::new(&mut source, encoding).take(HEAD).read_to_end(&mut text);
        let (separator, has_separator_line) = separator(&text, known);
        Ok(Self { source, encoding, separator, has_separator_line, ends_in_line_end: true })
    }

    /// Passes each row to `each`, with its line number.
    pub(crate) fn rows(&mut self, each: Each<'_>) -> Result<(), FileError> {
        self.source.rewind()?;
        let mut text = Decoded::new(&mut self.source, self.encoding);
        let mut rows = Rows::new(self.separator);
        loop {
            let piece = text.fill_buf()?;
            let length = piece.len();
            if length == 0 {
                break;
            }
            for byte in piece {
                if let Some(row) = rows.read(*byte)?
                    && !(self.has_separator_line && row.line == 1)
                    && each(row)?.is_break()
                {
                    return Ok(());
                }
            }
            text.consume(length);
        }
        self.ends_in_line_end = rows.place == Place::Start && rows.column == 0;
        match rows.end()? {
            Some(row) => each(row).map(drop),
            None => Ok(()),
        }
    }
}

/// Position of a byte in a cell.
#[derive(Clone, Copy, Default, PartialEq)]
enum Place {
    #[default]
    Start,
    Unquoted,
    Quoted,
    /// After a quote within quotes. It ends the quoted text unless another quote follows.
    Quote,
    /// After a quoted text and any following spaces.
    Space,
}

/// Splits text into rows. Unlike most CSV parsers, rejects misplaced quotes, which would merge rows into a cell or split a cell.
#[derive(Default)]
struct Rows {
    separator: u8,
    place: Place,
    /// Whether the last row ended in a carriage return. A line feed can complete this line ending.
    is_after_cr: bool,
    line: u64,
    /// Line on which the row begins.
    first_line: u64,
    /// Line on which the last quoted cell begins.
    opened: u64,
    /// Length of the row, in bytes.
    length: u64,
    column: usize,
    cell: Vec<u8>,
    cells: Vec<Cell>,
}

impl Rows {
    fn new(separator: u8) -> Self {
        Self { separator, line: 1, first_line: 1, ..Self::default() }
    }

    /// Reads a byte. Returns the row that it completes, unless all cells are empty.
    fn read(&mut self, byte: u8) -> Result<Option<RawRow>, FileError> {
        self.length += 1;
        if self.length > LONGEST_ROW {
            return Err(FileError::Limit(format!(
                "the row on line {} exceeds {} MiB: check for an unclosed quote",
                self.line,
                LONGEST_ROW >> 20
            )));
        }
        let is_after_cr = std::mem::take(&mut self.is_after_cr);
        self.place = match (self.place, byte) {
            (Place::Quoted, b'"') => Place::Quote,
            (Place::Quoted, _) | (Place::Quote, b'"') => {
                self.line += u64::from(byte == b'\n');
                self.cell.push(byte);
                Place::Quoted
            }
            (Place::Start, b'"') => self.open(),
            (Place::Unquoted, b'"') if self.column == 0 && self.cell == BYTE_ORDER_MARK => self.open(),
            (Place::Unquoted, b'"') if str::from_utf8(&self.cell).is_ok_and(|before| visible(before).is_empty()) => {
                return Err(FileError::Damaged(format!(
                    "line {} contains a space or an invisible character before a cell's opening quote: remove it",
                    self.line
                )));
            }
            (_, b'\n') if is_after_cr => Place::Start,
            (_, b'\r' | b'\n') => {
                self.is_after_cr = byte == b'\r';
                self.line += 1;
                return self.end();
            }
            (_, byte) if byte == self.separator => self.end_cell()?,
            (Place::Quote | Place::Space, b' ') => Place::Space,
            (Place::Quote | Place::Space, _) => {
                return Err(FileError::Damaged(format!(
                    "line {} contains text after a cell's closing quote: double each quote within a quoted cell",
                    self.line
                )));
            }
            _ => {
                self.cell.push(byte);
                Place::Unquoted
            }
        };
        Ok(None)
    }

    fn open(&mut self) -> Place {
        self.opened = self.line;
        // Concatenated files repeat the byte order mark.
        self.cell.clear();
        Place::Quoted
    }

    fn end_cell(&mut self) -> Result<Place, FileError> {
        if self.column == WIDEST_ROW {
            return Err(FileError::Limit(format!(
                "the row on line {} contains more than {WIDEST_ROW} cells",
                self.first_line
            )));
        }
        if !self.cell.is_empty() {
            let text = String::from_utf8_lossy(&self.cell).into_owned();
            self.cells.push(Cell { column: self.column, text, kind: CellKind::Text });
            self.cell.clear();
        }
        self.column += 1;
        Ok(Place::Start)
    }

    /// Ends the row and returns it, unless all cells are empty.
    fn end(&mut self) -> Result<Option<RawRow>, FileError> {
        if self.place == Place::Quoted {
            return Err(FileError::Damaged(format!(
                "the file ends within the quoted cell that begins on line {}: the file is truncated, or a quote is missing",
                self.opened
            )));
        }
        self.place = self.end_cell()?;
        let row = RawRow { line: self.first_line, width: Some(self.column), cells: std::mem::take(&mut self.cells) };
        (self.first_line, self.column, self.length) = (self.line, 0, 0);
        Ok(Some(row).filter(|row| !row.cells.is_empty()))
    }
}

/// Returns the separator, and whether the first line specifies it.
///
/// Otherwise, the separator is the common character that yields the most headings in a row or, on a tie, the most cells.
fn separator(head: &[u8], known: &dyn Fn(&[String]) -> usize) -> (u8, bool) {
    let first = head.split(|byte| b"\r\n".contains(byte)).next().unwrap_or_default();
    let named = first.strip_prefix(b"\"").unwrap_or(first);
    if let Some((start, [separator, rest @ ..])) = named.split_at_checked(SEPARATOR_LINE.len())
        && start.eq_ignore_ascii_case(SEPARATOR_LINE)
        && matches!(rest, [b'"'] | [])
    {
        return (*separator, true);
    }
    let row = |separator: u8| {
        let mut rows = Rows::new(separator);
        let read = head.iter().filter_map(|byte| rows.read(*byte).ok().flatten());
        let mut read: Vec<RawRow> = read.take(FIRST_ROWS).collect();
        read.extend(rows.end().ok().flatten());
        let counts = read.iter().map(|row| {
            let cells: Vec<String> = (0..row.width.unwrap_or(0)).map(|column| row.text(column).to_owned()).collect();
            (known(&cells), cells.len())
        });
        counts.max().filter(|(_, cells)| *cells > 1)
    };
    // On a tie, `max_by_key` returns the last element. Names contain commas more often than tabs and semicolons.
    let found =
        [b'|', b',', b';', b'\t'].map(|separator| (row(separator), separator)).into_iter().max_by_key(|(row, _)| *row);
    (found.filter(|(row, _)| row.is_some()).map_or(b',', |(_, separator)| separator), false)
}

#[cfg(test)]
mod tests {
    fn separator(head: &[u8]) -> (u8, bool) {
        super::separator(head, &|row| row.iter().filter(|cell| matches!(&***cell, "a" | "b" | "c")).count())
    }

    #[test]
    fn separator_yielding_most_headings_wins() {
        assert_eq!(separator(b"a,b,c\n"), (b',', false));
        assert_eq!(separator(b"Title, of, all\n\na;b\n"), (b';', false));
        assert_eq!(separator(b"Title\na\tb\nx,y,z\t\n"), (b'\t', false));
        assert_eq!(separator(b"a;\"x,y,z\";c\r\n1,2;3,4;5\n"), (b';', false));
        assert_eq!(separator(b"a\tb\n"), (b'\t', false));
        assert_eq!(separator(b"a|b"), (b'|', false));
        assert_eq!(separator(b"alone\n"), (b',', false));
        assert_eq!(separator(b"sep=|\r\na,b|c"), (b'|', true));
        assert_eq!(separator(b"\"SEP=;\"\na,b|c"), (b';', true));
        assert_eq!(separator(b"sep=a,b\n"), (b',', false));
    }
}
