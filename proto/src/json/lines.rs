//! Single-line JSON for NDJSON and server-sent events.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Serializer, ser::Formatter};

/// Characters that JSON allows in strings, but many programs treat as line breaks, such as Python's `splitlines`.
const ENDS: [char; 3] = ['\u{85}', '\u{2028}', '\u{2029}'];

/// Writes a value as JSON on a single line.
pub fn write(writer: impl Write, value: &impl Serialize) -> serde_json::Result<()> {
    value.serialize(&mut Serializer::with_formatter(writer, OneLine))
}

/// Escapes [`ENDS`] in addition to JSON's own escapes.
struct OneLine;

impl Formatter for OneLine {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        // Most strings are ASCII.
        if fragment.is_ascii() {
            return writer.write_all(fragment.as_bytes());
        }
        let mut rest = fragment;
        while let Some((at, end)) = rest.char_indices().find(|(_, char)| ENDS.contains(char)) {
            write!(writer, "{}\\u{:04x}", &rest[..at], u32::from(end))?;
            rest = &rest[at + end.len_utf8()..];
        }
        writer.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::write;

    #[test]
    fn json_lines_escape_unicode_line_breaks() {
        let text = "é\u{85}\u{2028}b\u{2029}\n\u{b}\u{1c}\u{2027}\u{86}";
        let mut line = Vec::new();
        write(&mut line, &json!({ text: [text, "plain", 5] })).unwrap();
        let line = String::from_utf8(line).unwrap();
        let escaped = r#""é\u0085\u2028b\u2029\n\u000b\u001c‧†""#.replace('†', "\u{86}");
        assert_eq!(line, format!(r#"{{{escaped}:[{escaped},"plain",5]}}"#));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&line).unwrap(), json!({ text: [text, "plain", 5] }));
    }
}
