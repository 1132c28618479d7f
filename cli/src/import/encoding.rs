//! The encoding of a file. The import never guesses it: the caller names every encoding except UTF-8 and UTF-16.

use std::{
    fs::File,
    io::{self, Read, Seek as _, SeekFrom},
};

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

/// Bytes before and after an invalid byte in which its cell is found.
const AROUND: u64 = 60;

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

/// Returns the first text that is not UTF-8. It shows the text in both encodings that it may have. `None` if the file is
/// UTF-8.
pub(super) fn not_utf8(file: &File) -> io::Result<Option<String>> {
    let Some((line, offset)) = first_bad_byte(file)? else { return Ok(None) };
    let cell = cell_at(file, offset)?;
    let [windows, mac] = [encoding_rs::WINDOWS_1252, encoding_rs::MACINTOSH].map(|encoding| encoding.decode(&cell).0);
    Ok(Some(format!(
        "line {line} has {windows:?} if it is Windows-1252 and {mac:?} if it is Mac Roman. Import it with --encoding \
         windows-1252 or --encoding macintosh, whichever is right, or save it as CSV in UTF-8"
    )))
}

/// Returns the line and position of the first invalid byte.
fn first_bad_byte(mut file: &File) -> io::Result<Option<(u64, u64)>> {
    file.rewind()?;
    let (mut buffer, mut unread, mut offset, mut line, mut before) = (vec![0; 64 << 10], 0, 0, 1, 0);
    let mut count = |bytes: &[u8]| {
        for byte in bytes {
            // A carriage return and a line feed end one line together.
            line += u64::from(*byte == b'\n' || before == b'\r');
            before = *byte;
        }
        line
    };
    loop {
        let read = file.read(&mut buffer[unread..])?;
        let bytes = &buffer[..unread + read];
        match std::str::from_utf8(bytes) {
            Ok(_) if read == 0 => return Ok(None),
            Ok(_) => {
                count(bytes);
                (offset, unread) = (offset + bytes.len() as u64, 0);
            }
            // A character that continues in the next piece.
            Err(error) if error.error_len().is_none() && read > 0 => {
                let valid = error.valid_up_to();
                count(&bytes[..valid]);
                (offset, unread) = (offset + valid as u64, bytes.len() - valid);
                buffer.copy_within(valid..valid + unread, 0);
            }
            Err(error) => {
                let valid = error.valid_up_to();
                // After a carriage return, the invalid byte is on the next line.
                return Ok(Some((count(&bytes[..=valid]), offset + valid as u64)));
            }
        }
    }
}

/// Returns the bytes of the cell at a position.
fn cell_at(mut file: &File, offset: u64) -> io::Result<Vec<u8>> {
    let start = offset.saturating_sub(AROUND);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(offset - start + AROUND).read_to_end(&mut bytes)?;
    file.rewind()?;
    let at = usize::try_from(offset - start).unwrap_or_default();
    let is_end = |byte: &u8| b",;\t|\"\r\n".contains(byte);
    let first = bytes[..at].iter().rposition(is_end).map_or(0, |position| position + 1);
    let last = bytes[at..].iter().position(is_end).map_or(bytes.len(), |position| at + position);
    Ok(bytes[first..last].to_vec())
}

#[cfg(test)]
mod tests {
    use std::{fs::File, io::Write as _};

    use super::{cell_at, first_bad_byte};

    fn bad_line(bytes: &[u8]) -> Option<(u64, Vec<u8>)> {
        let path = std::env::temp_dir().join(format!("compliance-source-{:016x}", rand::random::<u64>()));
        File::create(&path).unwrap().write_all(bytes).unwrap();
        let file = File::open(&path).unwrap();
        let found = first_bad_byte(&file).unwrap().map(|(line, offset)| (line, cell_at(&file, offset).unwrap()));
        std::fs::remove_file(path).unwrap();
        found
    }

    #[test]
    fn invalid_utf8_is_found_anywhere() {
        assert_eq!(bad_line("name\nJürgen\n".as_bytes()), None);
        assert_eq!(bad_line(b"id,name\n1,J\xfcrgen\n"), Some((2, b"J\xfcrgen".to_vec())));
        assert_eq!(bad_line(b"id;name\r1;A\r2;J\x9frgen"), Some((3, b"J\x9frgen".to_vec())));
        assert_eq!(bad_line(b"id;name\r\n1;A\r\n\xfc"), Some((3, b"\xfc".to_vec())));
        assert_eq!(bad_line(b"name\ncut \xc3"), Some((2, b"cut \xc3".to_vec())));
        // A character across the border of two pieces.
        let mut long = vec![b'x'; (64 << 10) - 1];
        long.extend("ü\n".repeat(50_000).into_bytes());
        assert_eq!(bad_line(&long), None);
        long.push(0xfc);
        assert_eq!(bad_line(&long).unwrap().0, 50_001);
    }
}
