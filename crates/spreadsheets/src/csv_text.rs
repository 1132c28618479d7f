//! CSV: separators, rows with their lines, and whether a file is whole.

use std::io::{self, BufRead as _, Read, Seek as _};

use crate::{
    decoded::{Decoded, encoding_of, is_utf8},
    error::FileError,
    options::Options,
    row::{Cell, CellKind, RawRow, visible},
    source::{Each, HEAD, Input},
};

/// Maximum length of a row, in bytes. A quote that is never closed makes the rest of the file one row.
pub(crate) const LONGEST_ROW: u64 = 16 << 20;
/// Maximum number of cells in a row, as in a sheet.
pub(crate) const WIDEST_ROW: usize = 1 << 14;
/// Rows in which the headings are searched. Titles and blank rows can precede them.
pub(crate) const FIRST_ROWS: usize = 20;
/// The beginning of Excel's line with the separator. It precedes the headings.
const SEPARATOR_LINE: &[u8] = b"sep=";

/// A CSV file.
pub(crate) struct CsvText {
    source: Input,
    encoding: &'static encoding_rs::Encoding,
    ends_in_cr: bool,
    separator: u8,
    /// Whether the first line names the separator.
    has_separator_line: bool,
    /// Whether the last row has a line end. Otherwise, the file may have been cut off.
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
        // Every byte has a meaning in the other encodings.
        if options.encoding.is_some() && encoding.is_single_byte() && is_utf8(&mut source)? {
            return Err(FileError::Encoding(format!(
                "the bytes are UTF-8, not {}: leave the encoding out",
                encoding.name()
            )));
        }
        source.rewind()?;
        let mut text = Vec::new();
        // The rows report an error, with its line.
        let _ = Decoded::new(&mut source, encoding, false).take(HEAD).read_to_end(&mut text);
        let ends_in_cr = has_only_cr(&text);
        if ends_in_cr {
            text.iter_mut().filter(|byte| **byte == b'\r').for_each(|byte| *byte = b'\n');
        }
        let (separator, has_separator_line) = separator(&text, known);
        Ok(Self { source, encoding, ends_in_cr, separator, has_separator_line, ends_in_line_end: true })
    }

    /// Passes on each row with its line.
    pub(crate) fn rows(&mut self, each: Each<'_>) -> Result<(), FileError> {
        self.source.rewind()?;
        let text = Decoded::new(&mut self.source, self.encoding, self.ends_in_cr);
        let mut lines = Lines::new(text, self.separator);
        if self.has_separator_line {
            lines.text.read_until(b'\n', &mut Vec::new())?;
            lines.line = 1;
        }
        let lines_before = lines.line;
        // A row with too many or too few cells is an error of the row, not of the file.
        let builder = &mut csv::ReaderBuilder::new();
        let mut reader = builder.delimiter(self.separator).flexible(true).has_headers(false).from_reader(lines);
        let mut record = csv::StringRecord::new();
        while reader.read_record(&mut record)? {
            // The reader counts blank lines as a part of the record that follows them. It has read the line feed that ends the record.
            let within = record.as_slice().bytes().filter(|byte| *byte == b'\n').count() as u64;
            let line = lines_before + reader.position().line().saturating_sub(within + 1);
            let cells = record.iter().enumerate().filter(|(_, text)| !text.is_empty());
            let cells = cells.map(|(column, text)| Cell { column, text: text.to_owned(), kind: CellKind::Text });
            if each(RawRow { line, width: Some(record.len()), cells: cells.collect() })?.is_break() {
                return Ok(());
            }
        }
        self.ends_in_line_end = reader.get_ref().ends_in_line_end;
        Ok(())
    }
}

/// The position of a byte in a cell.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Start,
    Unquoted,
    Quoted,
    /// After a quote within quotes: it ends the quoted text, unless another quote follows.
    Quote,
    /// After a quoted text, and spaces behind it.
    Space,
}

/// Lines of a text whose quotes are right. Otherwise the reader of CSV would take the rest of the file as a cell.
struct Lines<R> {
    text: R,
    separator: u8,
    buffer: Vec<u8>,
    position: usize,
    place: Place,
    line: u64,
    /// The line on which the last quoted cell begins.
    opened: u64,
    row_length: u64,
    row_width: usize,
    ends_in_line_end: bool,
}

impl<R: io::BufRead> Lines<R> {
    fn new(text: R, separator: u8) -> Self {
        Self {
            text,
            separator,
            buffer: Vec::new(),
            position: 0,
            place: Place::Start,
            line: 0,
            opened: 0,
            row_length: 0,
            row_width: 0,
            ends_in_line_end: true,
        }
    }

    fn next_line(&mut self) -> Result<(), FileError> {
        self.buffer.clear();
        self.position = 0;
        let longest = LONGEST_ROW - self.row_length + 1;
        let read = self.text.by_ref().take(longest).read_until(b'\n', &mut self.buffer)? as u64;
        self.line += 1;
        if read == 0 {
            if self.place == Place::Quoted {
                return Err(FileError::Damaged(format!(
                    "the file ends within the quoted cell that begins on line {}: it was cut off, or a quote is missing",
                    self.opened
                )));
            }
            return Ok(());
        }
        if read == longest {
            return Err(FileError::Limit(format!(
                "the row on line {} is longer than {} MiB: is a quote opened and never closed?",
                self.line,
                LONGEST_ROW >> 20
            )));
        }
        self.row_length += read;
        // The reader of CSV counts lines by their ends.
        self.ends_in_line_end = self.buffer.ends_with(b"\n");
        if !self.ends_in_line_end {
            self.buffer.push(b'\n');
        }
        // Files that were joined have byte order marks. One before a quote would make the quote a part of the cell.
        if self.place == Place::Start && self.buffer.starts_with("\u{feff}\"".as_bytes()) {
            self.buffer.drain(.."\u{feff}".len());
        }
        self.check_quotes()?;
        if self.place == Place::Start {
            self.row_length = 0;
            // One kind of line end, so that lines are counted in one way.
            if self.buffer.ends_with(b"\r\n") {
                self.buffer.truncate(self.buffer.len() - 2);
                self.buffer.push(b'\n');
            }
        }
        Ok(())
    }

    fn check_quotes(&mut self) -> Result<(), FileError> {
        let mut start = 0;
        for index in 0..self.buffer.len() {
            // A carriage return alone also ends a line, and every line is counted.
            if self.place != Place::Quoted && self.buffer[index] == b'\r' && self.buffer.get(index + 1) != Some(&b'\n')
            {
                self.buffer[index] = b'\n';
                self.line += 1;
            }
            let byte = &self.buffer[index];
            // The reader of CSV takes such quotes as text, so that each line of the cell would become a row.
            if self.place == Place::Unquoted
                && *byte == b'"'
                && str::from_utf8(&self.buffer[start..index]).is_ok_and(|before| visible(before).is_empty())
            {
                return Err(FileError::Damaged(format!(
                    "line {} has a space or an invisible character before the first quote of a cell: remove it",
                    self.line
                )));
            }
            self.place = match (self.place, byte) {
                (Place::Quoted, b'"') => Place::Quote,
                (Place::Quoted, _) | (Place::Quote, b'"') => Place::Quoted,
                (Place::Start, b'"') => {
                    self.opened = self.line;
                    Place::Quoted
                }
                (_, b'\r' | b'\n') => {
                    start = index + 1;
                    self.row_width = 0;
                    Place::Start
                }
                (_, byte) if *byte == self.separator => {
                    start = index + 1;
                    self.row_width += 1;
                    Place::Start
                }
                (Place::Quote | Place::Space, b' ') => Place::Space,
                (Place::Quote | Place::Space, _) => {
                    return Err(FileError::Damaged(format!(
                        "line {} has a text after the last quote of a cell: write a quote within a quoted cell twice",
                        self.line
                    )));
                }
                _ => Place::Unquoted,
            };
            if self.row_width >= WIDEST_ROW {
                return Err(FileError::Limit(format!(
                    "the row on line {} has more than {WIDEST_ROW} cells",
                    self.line
                )));
            }
        }
        Ok(())
    }
}

impl<R: io::BufRead> Read for Lines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.position == self.buffer.len() {
            self.next_line().map_err(io::Error::other)?;
        }
        let read = (&self.buffer[self.position..]).read(buffer)?;
        self.position += read;
        Ok(read)
    }
}

/// Whether the lines of a text end in a carriage return alone.
fn has_only_cr(head: &[u8]) -> bool {
    // Parts with even positions are outside quotes.
    let has = |end: u8| head.split(|byte| *byte == b'"').step_by(2).any(|part| part.contains(&end));
    has(b'\r') && !has(b'\n')
}

/// Returns the separator, and whether the first line names it. Otherwise, the separator is the usual character that makes the most
/// headings in a row, and then the most cells.
fn separator(head: &[u8], known: &dyn Fn(&[String]) -> usize) -> (u8, bool) {
    let first = head.split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default();
    let named = first.strip_prefix(b"\"").unwrap_or(first);
    if let Some((start, [separator, rest @ ..])) = named.split_at_checked(SEPARATOR_LINE.len())
        && start.eq_ignore_ascii_case(SEPARATOR_LINE)
        && matches!(rest, [b'"' | b'\r' | b'\n', ..] | [])
    {
        return (*separator, true);
    }
    let row = |separator: u8| {
        let builder = &mut csv::ReaderBuilder::new();
        let reader = builder.delimiter(separator).flexible(true).has_headers(false).from_reader(head);
        let rows = reader.into_deserialize::<Vec<String>>().map_while(Result::ok).take(FIRST_ROWS);
        rows.map(|row| (known(&row), row.len())).max().filter(|(_, cells)| *cells > 1)
    };
    // `max_by_key` returns the last of equals. Names contain commas more often than tabs and semicolons.
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
    fn separator_of_most_headings_wins() {
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
