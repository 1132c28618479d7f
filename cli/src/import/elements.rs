//! The elements of a JSON array, or of the array `data` of an envelope, read one at a time.

use std::io::{self, BufRead, ErrorKind};

use super::source::{LONGEST_ROW, too_long};

/// The key of an envelope's records.
const LIST: &[u8] = b"data";

pub(super) struct Elements {
    text: Box<dyn BufRead + Send>,
    /// The current line.
    pub(super) line: u64,
    is_open: bool,
}

/// The position in a JSON text: the number of open objects and arrays, and the last string.
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
            // A longer key is not `data`.
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

impl Elements {
    pub(super) fn new(text: Box<dyn BufRead + Send>) -> Self {
        Self { text, line: 1, is_open: false }
    }

    /// Reads the next element; `None` after the last.
    pub(super) fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        if !self.is_open {
            self.open()?;
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
            if element.len() > LONGEST_ROW {
                return Err(too_long());
            }
            scan.read(byte);
            if scan.depth > 0 || scan.is_string {
                continue;
            }
            // An object ends with its brace. Any other element is not a record, and ends before a separator.
            let is_end =
                matches!(byte, b'}' | b']' | b'"') || matches!(self.text.fill_buf()?.first(), Some(b',' | b']'));
            if is_end {
                return Ok(Some(element));
            }
        }
    }

    /// Reads until the first element.
    fn open(&mut self) -> io::Result<()> {
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
            return Err(io::Error::new(ErrorKind::UnexpectedEof, "the file ends before its list of records does"));
        };
        self.text.consume(1);
        self.line += u64::from(byte == b'\n');
        Ok(byte)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::Elements;

    fn elements(text: &'static str) -> Result<Vec<String>, String> {
        let mut elements = Elements::new(Box::new(Cursor::new(text)));
        let mut read = Vec::new();
        while let Some(element) = elements.next().map_err(|error| error.to_string())? {
            read.push(String::from_utf8(element).unwrap());
        }
        Ok(read)
    }

    #[test]
    fn the_records_of_an_array_and_of_an_envelope() {
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
