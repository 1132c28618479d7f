//! Rows in PostgreSQL's text form of COPY.

use std::fmt::{Display, Write as _};

use super::clock::write_moment;

/// Rows of one table, written column after column.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub(super) text: String,
    pub(super) count: u64,
}

impl Rows {
    /// A text, or null.
    pub(super) fn text(&mut self, value: Option<&str>) -> &mut Self {
        let Some(value) = value else { return self.null() };
        for letter in value.chars() {
            match letter {
                '\\' => self.text.push_str("\\\\"),
                '\t' => self.text.push_str("\\t"),
                '\n' => self.text.push_str("\\n"),
                '\r' => self.text.push_str("\\r"),
                other => self.text.push(other),
            }
        }
        self.text.push('\t');
        self
    }

    /// A number.
    pub(super) fn number(&mut self, value: impl Display) -> &mut Self {
        // Writing to a string does not fail.
        let _ = write!(self.text, "{value}\t");
        self
    }

    /// A number, or null.
    pub(super) fn maybe(&mut self, value: Option<impl Display>) -> &mut Self {
        match value {
            Some(value) => self.number(value),
            None => self.null(),
        }
    }

    /// A yes or no, or null.
    pub(super) fn flag(&mut self, value: Option<bool>) -> &mut Self {
        self.text(value.map(|value| if value { "t" } else { "f" }))
    }

    /// Bytes.
    pub(super) fn bytes(&mut self, value: &[u8]) -> &mut Self {
        self.text.push_str("\\\\x");
        for byte in value {
            let _ = write!(self.text, "{byte:02x}");
        }
        self.text.push('\t');
        self
    }

    /// A moment, or null.
    pub(super) fn moment(&mut self, value: Option<i64>) -> &mut Self {
        let Some(value) = value else { return self.null() };
        write_moment(&mut self.text, value);
        self.text.push('\t');
        self
    }

    /// A list of words without quotes or backslashes.
    pub(super) fn words(&mut self, values: &[&str]) -> &mut Self {
        let quoted: Vec<String> = values.iter().map(|value| format!("\"{value}\"")).collect();
        self.number(format_args!("{{{}}}", quoted.join(",")))
    }

    /// Null.
    pub(super) fn null(&mut self) -> &mut Self {
        self.text.push_str("\\N\t");
        self
    }

    /// The row is complete.
    pub(super) fn end(&mut self) {
        self.text.pop();
        self.text.push('\n');
        self.count += 1;
    }

    /// The bytes written so far, once there are many.
    pub(super) fn take_if_full(&mut self) -> Option<Vec<u8>> {
        const FULL: usize = 256 << 10;
        (self.text.len() >= FULL).then(|| std::mem::take(&mut self.text).into_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::Rows;

    #[test]
    fn what_would_end_a_column_is_escaped() {
        let mut rows = Rows::default();
        rows.text(Some("a\tb\\c\nd")).maybe(None::<i64>).number(7).words(&["x y", "z"]).flag(Some(true)).end();
        assert_eq!(rows.text, "a\\tb\\\\c\\nd\t\\N\t7\t{\"x y\",\"z\"}\tt\n");
        assert_eq!(rows.count, 1);
    }
}
