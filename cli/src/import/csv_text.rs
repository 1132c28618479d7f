//! CSV: separators, rows with their lines, and whether a file is whole.

use std::io::{BufRead as _, Read as _};

use anyhow::{Context as _, bail};

use super::{
    row::{Record, Records},
    source::{LONGEST_ROW, Source, too_long},
};

/// Reads the records of a CSV file with their lines.
pub(super) fn records(source: &Source) -> anyhow::Result<Records> {
    let head = source.head().context("the file cannot be read")?;
    let (separator, skipped) = separator(&head);
    let ends_in_crlf = first_line(&head[skipped..]).ends_with(b"\r\n");
    let mut text = source.text().context("the file cannot be read")?;
    text.read_exact(&mut vec![0; skipped]).context("the file cannot be read")?;
    // Lines are counted by their ends, so the last line needs one.
    let end: &[u8] = if ends_in_crlf { b"" } else { b"\n" };
    let builder = &mut csv::ReaderBuilder::new();
    // A row with too many or too few columns is an error of the row, not of the file.
    let mut reader = builder.delimiter(separator).flexible(true).has_headers(false).from_reader(text.chain(end));
    let lines_before = u64::from(skipped > 0);
    let mut next = move || -> anyhow::Result<Option<Record>> {
        let mut record = csv::StringRecord::new();
        if !reader.read_record(&mut record)? {
            return Ok(None);
        }
        // The reader counts blank lines as a part of the record that follows them. It has read the line feed that ends the record,
        // except after a carriage return, which ends the record alone.
        let within = record.as_slice().bytes().filter(|byte| *byte == b'\n').count() as u64;
        let line = reader.position().line().saturating_sub(within + u64::from(!ends_in_crlf));
        Ok(Some((line + lines_before, record)))
    };
    Ok(Box::new(std::iter::from_fn(move || next().transpose())))
}

/// Returns the first line of a text, with its end.
fn first_line(text: &[u8]) -> &[u8] {
    text.split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default()
}

/// The position of a byte in a cell.
#[derive(Clone, Copy)]
enum Place {
    Start,
    Unquoted,
    Quoted,
    /// After a quote within quotes: it ends the quoted text, unless another quote follows.
    Quote,
}

/// Fails if the file ends within quotes or a row is too long. The reader would take the rest of the file as the cell. Finds
/// whether the last line has an end.
pub(super) fn check(source: &mut Source) -> anyhow::Result<()> {
    let (separator, _) = separator(&source.head().context("the file cannot be read")?);
    let mut text = source.text().context("the file cannot be read")?;
    let (mut place, mut line, mut opened) = (Place::Start, 1, 0);
    let (mut row, mut longest, mut last) = (0, 0, b'\n');
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
            let is_row_end = *byte == b'\n' && matches!(place, Place::Start);
            row = if is_row_end { 0 } else { row + 1 };
            longest = longest.max(row);
            line += u64::from(*byte == b'\n');
            last = *byte;
        }
        text.consume(length);
    }
    source.ends_in_line_end = matches!(last, b'\r' | b'\n');
    if matches!(place, Place::Quoted) {
        bail!(
            "the file ends within the quoted cell that begins on line {opened}: it was cut off, or a quote is missing"
        );
    }
    if longest > LONGEST_ROW {
        return Err(too_long()).context("the file cannot be read");
    }
    Ok(())
}

/// The beginning of Excel's line with the separator. It precedes the names of the columns.
const SEPARATOR_LINE: &[u8] = b"sep=";

/// Returns the separator, and the length of the line that names it. Without that line, the separator is the usual character
/// that is most frequent in the first line outside quotes.
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
