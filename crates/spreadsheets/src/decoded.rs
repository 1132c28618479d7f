//! Decodes a file's text from any supported encoding to UTF-8.

use std::io::{self, BufRead, Read, Seek as _};

use encoding_rs::{Decoder, DecoderResult, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

use crate::{
    error::FileError,
    options::Encoding,
    source::{Input, Source},
};

/// Number of bytes decoded at a time.
const PIECE: usize = 16 << 10;
/// Number of bytes before and after an invalid byte to search for its cell.
const AROUND: usize = 60;

/// Returns a file's encoding: from its byte order mark, as specified, or from UTF-16's zero bytes.
pub(crate) fn encoding_of(head: &[u8], given: Option<Encoding>) -> &'static encoding_rs::Encoding {
    if let Some((marked, _)) = encoding_rs::Encoding::for_bom(head) {
        return marked;
    }
    match (given, head) {
        (Some(Encoding::Windows1252), _) => WINDOWS_1252,
        (Some(Encoding::Macintosh), _) => encoding_rs::MACINTOSH,
        (_, [one, 0, two, 0, ..]) if one.min(two) > &0 => UTF_16LE,
        (_, [0, one, 0, two, ..]) if one.min(two) > &0 => UTF_16BE,
        _ => UTF_8,
    }
}

/// Returns whether a file is valid UTF-8 and contains non-ASCII characters.
pub(crate) fn is_utf8(source: &mut Input) -> io::Result<bool> {
    source.rewind()?;
    let (mut text, mut has_others) = (Decoded::new(source, UTF_8), false);
    loop {
        let length = match text.fill_buf() {
            Ok([]) => return Ok(has_others),
            Ok(piece) => {
                has_others |= !piece.is_ascii();
                piece.len()
            }
            Err(_) => return Ok(false),
        };
        text.consume(length);
    }
}

/// Returns a file's text from the start, without a byte order mark.
pub fn text(mut source: impl Source, encoding: Option<Encoding>) -> io::Result<impl BufRead + Send> {
    let mut head = Vec::new();
    source.by_ref().take(4).read_to_end(&mut head)?;
    source.rewind()?;
    Ok(Decoded::new(source, encoding_of(&head, encoding)))
}

/// Decodes a file. Fails on bytes that are invalid in the encoding.
pub(crate) struct Decoded<R> {
    source: R,
    encoding: &'static encoding_rs::Encoding,
    decoder: Decoder,
    input: Vec<u8>,
    /// Index of the first undecoded byte in `input`. Errors show the bytes before it.
    next: usize,
    output: Vec<u8>,
    /// End of the decoded text in `output`.
    end: usize,
    /// Index of the first unread byte in `output`.
    position: usize,
    line: u64,
    is_end: bool,
    error: Option<FileError>,
}

impl<R: Read> Decoded<R> {
    pub(crate) fn new(source: R, encoding: &'static encoding_rs::Encoding) -> Self {
        Self {
            source,
            encoding,
            decoder: encoding.new_decoder_with_bom_removal(),
            input: Vec::new(),
            next: 0,
            // One byte decodes to at most three bytes.
            output: vec![0; 3 * PIECE],
            end: 0,
            position: 0,
            line: 1,
            is_end: false,
            error: None,
        }
    }

    /// Decodes until there is output, an error, or no more input.
    fn decode(&mut self) -> io::Result<()> {
        (self.position, self.end) = (0, 0);
        while self.end == 0 && !self.is_end {
            if let Some(error) = self.error.take() {
                return Err(io::Error::other(error));
            }
            if self.next == self.input.len() {
                self.input.drain(..self.input.len().saturating_sub(AROUND));
                self.next = self.input.len();
                (&mut self.source).take(PIECE as u64).read_to_end(&mut self.input)?;
            }
            let is_last = self.next == self.input.len();
            let bytes = &self.input[self.next..];
            let (result, read, written) =
                self.decoder.decode_to_utf8_without_replacement(bytes, &mut self.output, is_last);
            self.end = written;
            self.next += read;
            if let Some(at) = self.output[..self.end].iter().position(|byte| *byte == 0) {
                self.error = Some(FileError::Damaged(format!(
                    "line {} contains a NUL character: the file is damaged or not CSV",
                    self.line + line_ends(&self.output[..at])
                )));
                self.end = at;
            } else if let DecoderResult::Malformed(length, after) = result {
                let at = self.next.saturating_sub(usize::from(length) + usize::from(after));
                let line = self.line + line_ends(&self.output[..self.end]);
                self.error = Some(self.malformed(line, at));
            } else if let Some(error) = self.lacking(self.next - read) {
                self.error = Some(error);
            }
            self.is_end = is_last && self.error.is_none();
        }
        self.line += line_ends(&self.output[..self.end]);
        Ok(())
    }

    /// Returns the error for the first byte after `from` that Windows-1252 does not define.
    fn lacking(&self, from: usize) -> Option<FileError> {
        if self.encoding != WINDOWS_1252 {
            return None;
        }
        let bytes = &self.input[from..self.next];
        let at = bytes.iter().position(|byte| matches!(byte, 0x81 | 0x8d | 0x8f | 0x90 | 0x9d))?;
        Some(FileError::Encoding(format!(
            "line {} contains the byte {:#04x}, which Windows-1252 does not define: the file uses a different encoding, such as an MS-DOS code \
             page. Save it as CSV in UTF-8",
            self.line + line_ends(&bytes[..at]),
            bytes[at]
        )))
    }

    /// Returns the error for an invalid byte. The error shows the cell in both likely encodings.
    fn malformed(&self, line: u64, at: usize) -> FileError {
        if self.encoding != UTF_8 {
            return FileError::Encoding(format!(
                "line {line} is not valid {}: save the file as CSV in UTF-8",
                self.encoding.name()
            ));
        }
        let cell = cell_at(&self.input, at);
        if cell.iter().any(u8::is_ascii_control) {
            return FileError::Damaged(format!("line {line} is not text: the file is damaged or not CSV"));
        }
        let [windows, mac] = [WINDOWS_1252, encoding_rs::MACINTOSH].map(|encoding| encoding.decode(cell).0);
        if windows.contains(char::is_control) {
            return FileError::Encoding(format!(
                "the file is neither UTF-8 nor Windows-1252: line {line} contains {mac:?} in Mac Roman. If this is wrong, the file may come \
                 from MS-DOS: save it as CSV in UTF-8. Otherwise, choose macintosh"
            ));
        }
        FileError::Encoding(format!(
            "the file is not UTF-8: line {line} contains {windows:?} in Windows-1252, or {mac:?} in Mac Roman. Choose the right encoding, \
             windows-1252 or macintosh, or save the file as CSV in UTF-8"
        ))
    }
}

/// Returns the number of line feeds or, in old Mac files, carriage returns.
fn line_ends(text: &[u8]) -> u64 {
    let count = |end: u8| text.split(|byte| *byte == end).count() as u64 - 1;
    if count(b'\n') > 0 { count(b'\n') } else { count(b'\r') }
}

/// Returns the bytes of the cell at a position.
fn cell_at(line: &[u8], at: usize) -> &[u8] {
    let is_end = |byte: &u8| b",;\t|\"\r\n".contains(byte);
    let (before, after) = (&line[at.saturating_sub(AROUND)..at], &line[at..line.len().min(at + AROUND)]);
    let first = before.iter().rposition(is_end).map_or(before.len(), |position| before.len() - position - 1);
    let last = after.iter().position(is_end).unwrap_or(after.len());
    &line[at - first..at + last]
}

impl<R: Read> Read for Decoded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut available = self.fill_buf()?;
        let read = available.read(buffer)?;
        self.consume(read);
        Ok(read)
    }
}

impl<R: Read> BufRead for Decoded<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.position == self.end {
            self.decode()?;
        }
        Ok(&self.output[self.position..self.end])
    }

    fn consume(&mut self, read: usize) {
        self.position += read;
    }
}
