//! Reads the objects of a JSON file one at a time: lines, elements of an array, or elements of an envelope's `data` array.

use std::io::{self, BufRead, ErrorKind, Read as _};

use super::source::{LONGEST_OBJECT, Source, too_long};

/// Key of an envelope's records.
const LIST: &[u8] = b"data";

/// Returns the message for a text that is not valid JSON.
pub(super) fn not_json(what: &str, error: &serde_json::Error) -> String {
    let line = if error.line() > 1 { format!("line {}, ", error.line()) } else { String::new() };
    format!("The {what} is not valid JSON. The error is at {line}column {} of the {what}.", error.column())
}

pub(super) struct Objects {
    text: Box<dyn BufRead + Send>,
    /// Current line number.
    pub(super) line: u64,
    is_list: bool,
    /// Whether the reader is inside the list.
    is_open: bool,
}

/// Position in a JSON text: the nesting depth and the last string.
#[derive(Default)]
struct Scan {
    depth: usize,
    is_string: bool,
    is_escaped: bool,
    string: Vec<u8>,
}

impl Scan {
    fn read(&mut self, byte: u8) {
        if self.is_string {
            self.is_string = self.is_escaped || byte != b'"';
            self.is_escaped = !self.is_escaped && byte == b'\\';
            // Only the `data` key matters, so truncate longer strings.
            if self.is_string && self.string.len() <= LIST.len() {
                self.string.push(byte);
            }
            return;
        }
        match byte {
            b'"' => {
                self.is_string = true;
                self.string.clear();
            }
            b'[' | b'{' => self.depth += 1,
            b']' | b'}' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }
}

impl Objects {
    /// Opens a file with a list, or with one object per line.
    pub(super) fn open(source: &Source, is_list: bool) -> io::Result<Self> {
        Ok(Self::new(source.text()?, is_list))
    }

    fn new(text: Box<dyn BufRead + Send>, is_list: bool) -> Self {
        Self { text, line: u64::from(is_list), is_list, is_open: false }
    }

    /// Reads the next nonblank line.
    fn next_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        while self.text.by_ref().take(LONGEST_OBJECT as u64 + 1).read_until(b'\n', &mut line)? > 0 {
            if line.len() > LONGEST_OBJECT {
                return Err(too_long());
            }
            self.line += 1;
            if !line.trim_ascii().is_empty() {
                return Ok(Some(line));
            }
            line.clear();
        }
        Ok(None)
    }

    fn next_element(&mut self) -> io::Result<Option<Vec<u8>>> {
        if !self.is_open {
            self.begin()?;
        }
        let (mut element, mut scan) = (Vec::new(), Scan::default());
        loop {
            let byte = self.byte()?;
            if element.is_empty() {
                match byte {
                    b']' => return Ok(None),
                    b',' => continue,
                    byte if byte.is_ascii_whitespace() => continue,
                    _ => {}
                }
            }
            element.push(byte);
            if element.len() > LONGEST_OBJECT {
                return Err(too_long());
            }
            scan.read(byte);
            if scan.depth > 0 || scan.is_string {
                continue;
            }
            // An object ends with its brace. Other elements are not records, and end before a separator.
            let is_end =
                matches!(byte, b'}' | b']' | b'"') || matches!(self.text.fill_buf()?.first(), Some(b',' | b']'));
            if is_end {
                return Ok(Some(element));
            }
        }
    }

    /// Skips to the start of the list.
    fn begin(&mut self) -> io::Result<()> {
        let mut scan = Scan::default();
        loop {
            let byte = self.byte()?;
            if byte == b'[' && !scan.is_string && (scan.depth == 0 || scan.depth == 1 && scan.string == LIST) {
                self.is_open = true;
                return Ok(());
            }
            scan.read(byte);
        }
    }

    fn byte(&mut self) -> io::Result<u8> {
        let Some(byte) = self.text.fill_buf()?.first().copied() else {
            return Err(io::Error::new(ErrorKind::UnexpectedEof, "the file ends before its record list is complete"));
        };
        self.text.consume(1);
        self.line += u64::from(byte == b'\n');
        Ok(byte)
    }
}

impl Iterator for Objects {
    type Item = io::Result<Vec<u8>>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = if self.is_list { self.next_element() } else { self.next_line() };
        next.transpose()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::Objects;

    fn elements(text: &'static str) -> Result<Vec<String>, String> {
        let elements = Objects::new(Box::new(Cursor::new(text)), true);
        elements.map(|element| Ok(String::from_utf8(element.map_err(|error| error.to_string())?).unwrap())).collect()
    }

    #[test]
    fn reads_records_from_arrays_and_envelopes() {
        let records = [r#"{"a":"]},\"{","b":[{}]}"#, r#"{"c": 1}"#].map(str::to_owned);
        for text in [
            r#"[{"a":"]},\"{","b":[{}]},{"c": 1}]"#,
            " [ {\"a\":\"]},\\\"{\",\"b\":[{}]}\n ,\r\n {\"c\": 1} ] ",
            r#"{"code":"1026","detail":{"msg":"data","data":[7]},"data":[{"a":"]},\"{","b":[{}]},{"c": 1}],"meta":{}}"#,
        ] {
            assert_eq!(elements(text).unwrap(), records, "{text}");
        }
        assert_eq!(elements("[]").unwrap(), [""; 0]);
        assert_eq!(elements(r#"[1, "x", null]"#).unwrap(), ["1", "\"x\"", "null"]);
        for cut in ["", "[", "[{}", "[{},", "[{\"a\":\"]\"", "{\"code\":1}", "{\"data\":{}}"] {
            assert!(elements(cut).unwrap_err().contains("ends before"), "{cut}");
        }
    }
}
