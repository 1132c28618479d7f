//! Texts in cells of CSV. A spreadsheet takes a cell that begins with one of certain characters for a formula and computes
//! it, whatever it calls or sends.

use std::borrow::Cow;

use serde_json::Value;

/// What a formula begins with. Spreadsheets skip a tab or the end of a line before it.
const FORMULA: [char; 7] = ['=', '+', '-', '@', '\t', '\r', '\n'];

/// Whether a text is a formula behind any number of apostrophes.
fn is_formula(text: &str) -> bool {
    text.trim_start_matches('\'').starts_with(FORMULA)
}

/// The cell of a text: an apostrophe before a formula, which a spreadsheet then shows as text. It is also put before what
/// looks like the cell of a formula, so that [`text`] finds the original of every cell.
pub fn cell(text: &str) -> Cow<'_, str> {
    if is_formula(text) { Cow::Owned(format!("'{text}")) } else { Cow::Borrowed(text) }
}

/// The text of a cell: without the apostrophe before a formula. Other texts may begin with one.
pub fn text(cell: &str) -> &str {
    match cell.strip_prefix('\'') {
        Some(text) if is_formula(text) => text,
        _ => cell,
    }
}

/// How texts become cells. Nothing in a file says which it is: who reads it must know how it was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Escape {
    /// For spreadsheets: an apostrophe before a formula.
    #[default]
    Formulas,
    /// For programs: cells are the texts.
    None,
}

impl Escape {
    /// The cell of a text.
    pub fn cell(self, text: &str) -> Cow<'_, str> {
        if self == Self::None { Cow::Borrowed(text) } else { cell(text) }
    }

    /// The text of a cell.
    pub fn text(self, cell: &str) -> &str {
        if self == Self::None { cell } else { text(cell) }
    }

    /// The cell of a field of a record: empty if it is absent, and JSON if it is a list or an object.
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

    /// Every text of up to five of these characters, which mean something to a spreadsheet, to CSV or to this rule.
    #[test]
    fn every_text_is_read_back() {
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
    fn formulas_become_texts_and_are_read_back() {
        for formula in ["=1+1", "+49 30 1", "-5", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "=", "'=1", "''+1"] {
            assert_eq!(cell(formula), format!("'{formula}"));
            assert_eq!(text(&cell(formula)), formula);
        }
        for plain in ["", "a", "'", "''", "'t Hooft", "1-1", " =1", "a=b", "\u{ff1d}1", "{\"a\":1}", "[]"] {
            assert_eq!((cell(plain).as_ref(), text(plain)), (plain, plain));
        }
        // Formulas of other files are read as they are.
        assert_eq!((text("=1"), text("+49 30 1")), ("=1", "+49 30 1"));
    }
}
