//! The encoding of a file. The import never guesses it: the caller names every encoding except UTF-8 and UTF-16.

use std::io::{self, BufRead, Read as _};

use clap::ValueEnum;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Encoding {
    /// UTF-8 or UTF-16.
    #[value(name = "utf-8")]
    Utf8,
    /// Windows-1252, as Excel on western Windows saves CSV.
    #[value(name = "windows-1252")]
    Windows1252,
    /// Mac Roman, as Excel on a Mac saves CSV.
    Macintosh,
}

/// Bytes that are read at a time. Most lines are shorter.
const PIECE: u64 = 64 << 10;
/// Bytes before and after an invalid byte in which its cell is found.
const AROUND: usize = 60;

/// Detects UTF-16 by its byte order mark or its zero bytes.
pub(super) fn utf16(head: &[u8]) -> Option<&'static encoding_rs::Encoding> {
    match head {
        [0xff, 0xfe, ..] => Some(encoding_rs::UTF_16LE),
        [0xfe, 0xff, ..] => Some(encoding_rs::UTF_16BE),
        [one, 0, two, 0, ..] if one.min(two) > &0 => Some(encoding_rs::UTF_16LE),
        [0, one, 0, two, ..] if one.min(two) > &0 => Some(encoding_rs::UTF_16BE),
        _ => None,
    }
}

/// Returns the first text that is not UTF-8. It shows the text in both encodings that it may have. `None` if the text is
/// UTF-8.
pub(super) fn not_utf8(mut text: impl BufRead) -> io::Result<Option<String>> {
    let (mut piece, mut line) = (Vec::new(), 1);
    loop {
        let read = text.by_ref().take(PIECE).read_until(b'\n', &mut piece)?;
        match std::str::from_utf8(&piece) {
            Ok(_) if read == 0 => return Ok(None),
            Ok(_) => {
                line += u64::from(piece.ends_with(b"\n"));
                piece.clear();
            }
            // A character that continues in the next piece.
            Err(error) if error.error_len().is_none() && read > 0 => {}
            Err(error) => {
                let cell = cell_at(&piece, error.valid_up_to());
                let decode = |encoding: &'static encoding_rs::Encoding| encoding.decode(cell).0;
                let [windows, mac] = [encoding_rs::WINDOWS_1252, encoding_rs::MACINTOSH].map(decode);
                return Ok(Some(format!(
                    "line {line} has {windows:?} if it is Windows-1252 and {mac:?} if it is Mac Roman. Import it with \
                     --encoding windows-1252 or --encoding macintosh, whichever is right, or save it as CSV in UTF-8"
                )));
            }
        }
    }
}

/// Returns the bytes of the cell at a position.
fn cell_at(line: &[u8], at: usize) -> &[u8] {
    let is_end = |byte: &u8| b",;\t|\"\r\n".contains(byte);
    let (before, after) = (&line[at.saturating_sub(AROUND)..at], &line[at..line.len().min(at + AROUND)]);
    let first = before.iter().rposition(is_end).map_or(before.len(), |position| before.len() - position - 1);
    let last = after.iter().position(is_end).unwrap_or(after.len());
    &line[at - first..at + last]
}

#[cfg(test)]
mod tests {
    use super::super::source::Source;

    /// Opens a file with these bytes. Returns why it is refused.
    fn refused(bytes: &[u8]) -> Option<String> {
        let path = std::env::temp_dir().join(format!("compliance-source-{:016x}", rand::random::<u64>()));
        std::fs::write(&path, bytes).unwrap();
        let opened = Source::open(&path, None);
        std::fs::remove_file(path).unwrap();
        opened.err().map(|error| error.to_string())
    }

    #[test]
    fn invalid_utf8_is_found_anywhere() {
        assert_eq!(refused("name\nJürgen\n".as_bytes()), None);
        for (bytes, found) in [
            (&b"id,name\n1,J\xfcrgen\n"[..], r#"line 2 has "Jürgen" if it is Windows-1252"#),
            (b"id;name\r1;A\r2;J\x9frgen", r#"line 3 has "JŸrgen" if it is Windows-1252 and "Jürgen" if"#),
            (b"id;name\r\n1;A\r\n\xfc", r#"line 3 has "ü" if"#),
            (b"name\ncut \xc3", r#"line 2 has "cut Ã" if"#),
            (b"\xef\xbb\xbfname\n\xfc", r#"line 2 has "ü" if"#),
        ] {
            let error = refused(bytes).unwrap();
            assert!(error.contains(found), "{error}");
        }
        // A character across the border of two pieces.
        let mut long = vec![b'x'; (64 << 10) - 1];
        long.extend("ü\n".repeat(50_000).into_bytes());
        assert_eq!(refused(&long), None);
        long.push(0xfc);
        assert!(refused(&long).unwrap().contains("line 50001 has"));
    }
}
