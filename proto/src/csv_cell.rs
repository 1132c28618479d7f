//! Escapes text in CSV cells.
//!
//! Spreadsheets evaluate a cell that begins with certain characters as a formula. A formula can run programs or send data.

use std::borrow::Cow;

use serde_json::Value;

/// Characters that begin a formula. Spreadsheets skip a tab or line break before a formula.
const FORMULA: [char; 7] = ['=', '+', '-', '@', '\t', '\r', '\n'];

/// Returns whether a string is a formula, ignoring leading apostrophes.
fn is_formula(text: &str) -> bool {
    text.trim_start_matches('\'').starts_with(FORMULA)
}

/// Escapes text for a cell. A leading apostrophe makes spreadsheets show a formula as text.
///
/// Text that looks like an escaped formula also gets an apostrophe, so [`text`] restores it exactly.
pub fn cell(text: &str) -> Cow<'_, str> {
    if is_formula(text) { Cow::Owned(format!("'{text}")) } else { Cow::Borrowed(text) }
}

/// Restores a cell's text by removing the apostrophe before a formula.
pub fn text(cell: &str) -> &str {
    match cell.strip_prefix('\'') {
        Some(text) if is_formula(text) => text,
        _ => cell,
    }
}

/// How to escape strings in cells. Files do not record this choice, so readers must know it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Escape {
    /// For spreadsheets: formulas get a leading apostrophe.
    #[default]
    Formulas,
    /// For programs: cells contain the text unchanged.
    None,
}

impl Escape {
    /// Converts text to a cell.
    pub fn cell(self, text: &str) -> Cow<'_, str> {
        if self == Self::None { Cow::Borrowed(text) } else { cell(text) }
    }

    /// Converts a cell to text.
    pub fn text(self, cell: &str) -> &str {
        if self == Self::None { cell } else { text(cell) }
    }

    /// Converts a JSON value to a cell: empty if absent, and JSON for lists and objects.
    pub fn of_json(self, value: Option<&Value>) -> Cow<'_, str> {
        match value {
            None | Some(Value::Null) => Cow::Borrowed(""),
            Some(Value::String(text)) => self.cell(text),
            Some(other) => Cow::Owned(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Escape, cell, text};

    /// Tries all strings of up to five characters that are special to spreadsheets, CSV or this module.
    #[test]
    fn escaped_cells_round_trip() {
        let characters = ["'", "=", "@", "\"", ",", "\r", "\n", "\t", " ", "\u{feff}", "a"];
        let mut texts = vec![String::new()];
        let mut last = 0..1;
        for _ in 0..5 {
            let longer: Vec<String> =
                texts[last.clone()].iter().flat_map(|text| characters.map(|next| format!("{text}{next}"))).collect();
            last = texts.len()..texts.len() + longer.len();
            texts.extend(longer);
        }
        assert!(texts.len() > 170_000);
        for original in &texts {
            let escaped = cell(original);
            assert_eq!(text(&escaped), original, "{escaped:?}");
            assert!(!escaped.starts_with(super::FORMULA), "{escaped:?}");
            assert_eq!(Escape::None.text(&Escape::None.cell(original)), original);
        }
    }

    #[test]
    fn formulas_are_escaped_and_restored() {
        for formula in ["=1+1", "+49 30 1", "-5", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "=", "'=1", "''+1"] {
            assert_eq!(cell(formula), format!("'{formula}"));
            assert_eq!(text(&cell(formula)), formula);
        }
        for plain in ["", "a", "'", "''", "'t Hooft", "1-1", " =1", "a=b", "\u{ff1d}1", "{\"a\":1}", "[]"] {
            assert_eq!((cell(plain).as_ref(), text(plain)), (plain, plain));
        }
        // Unescaped formulas stay unchanged.
        assert_eq!((text("=1"), text("+49 30 1")), ("=1", "+49 30 1"));
    }
}
