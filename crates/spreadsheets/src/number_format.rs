//! Parses number formats, which determine how a cell displays a number.

/// How a cell displays a number.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum NumberFormat {
    /// The number itself.
    General {
        /// Number of sections. The second applies to negative numbers, and the third to zero.
        sections: usize,
    },
    Date,
    Time,
    /// Digits and other characters, such as `00000`.
    Digits {
        /// Format of positive numbers.
        tokens: Vec<Token>,
        /// Number of sections, as in [`Self::General`].
        sections: usize,
    },
    /// Any other format, such as a percentage.
    Other(String),
}

/// A part of a format.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    /// A digit, even if it is a leading zero.
    Zero,
    /// A digit, unless it is a leading zero.
    Digit,
    Point,
    Literal(char),
}

/// Returns whether a format changes how text is displayed.
///
/// The last section applies to text if the format has four sections, or if that section contains `@`.
pub(crate) fn changes_texts(code: &str) -> bool {
    let (mut sections, mut section) = (Vec::new(), String::new());
    let mut characters = code.chars();
    while let Some(next) = characters.next() {
        match next {
            // A literal.
            '"' => section.extend(characters.by_ref().take_while(|next| *next != '"').map(|_| 'x')),
            '\\' => section.extend(characters.next().map(|_| 'x')),
            '_' | '*' => drop(characters.next()),
            // Colors and currencies.
            '[' => drop(characters.by_ref().find(|next| *next == ']')),
            ';' => sections.push(std::mem::take(&mut section)),
            next => section.push(next),
        }
    }
    sections.push(section);
    let is_of_texts = sections.len() == 4 || sections.last().is_some_and(|last| last.contains('@'));
    is_of_texts && sections.last().is_some_and(|last| last.trim() != "@")
}

impl NumberFormat {
    pub(crate) const GENERAL: Self = Self::General { sections: 1 };

    /// Returns the built-in format with this number.
    pub(crate) fn built_in(number: u32) -> Self {
        match number {
            14..=17 | 22 | 27..=31 | 34..=36 | 50..=58 => Self::Date,
            18..=21 | 32 | 33 | 45..=47 => Self::Time,
            9 => Self::of("0%"),
            10 => Self::of("0.00%"),
            11 | 48 => Self::of("0.00E+00"),
            12 | 13 => Self::of("# ?/?"),
            164.. => Self::Other(format!("{number}, which the workbook does not define")),
            1 | 3 | 37 | 38 | 41 | 42 => Self::of("0"),
            2 | 4 | 39 | 40 | 43 | 44 => Self::of("0.00"),
            _ => Self::GENERAL,
        }
    }

    /// Parses a format code.
    pub(crate) fn of(code: &str) -> Self {
        if code.is_empty() {
            return Self::GENERAL;
        }
        let (mut tokens, mut letters) = (Vec::new(), String::new());
        let mut characters = code.chars();
        let (mut is_other, mut depends) = (false, false);
        while let Some(next) = characters.next() {
            match next {
                '"' => tokens.extend(characters.by_ref().take_while(|next| *next != '"').map(Token::Literal)),
                '\\' => tokens.extend(characters.next().map(Token::Literal)),
                // A space as wide as a character.
                '_' => drop(characters.next()),
                // A character that fills the cell.
                '*' => depends |= characters.next().is_some_and(|fill| fill != ' '),
                '[' => {
                    let inner: String = characters.by_ref().take_while(|next| *next != ']').collect();
                    match inner.to_ascii_lowercase().as_bytes() {
                        [b'h' | b'm' | b's', ..] if inner.len() < 3 => letters.push('h'),
                        [b'$', ..] => {
                            let currency = inner[1..].split('-').next().unwrap_or_default();
                            tokens.extend(currency.chars().map(Token::Literal));
                        }
                        // A condition.
                        [b'<' | b'>' | b'=', ..] => depends = true,
                        _ => {}
                    }
                }
                // Formats for negative numbers, zero and text follow.
                ';' => break,
                '0' => tokens.push(Token::Zero),
                '#' | '?' => tokens.push(Token::Digit),
                '.' => tokens.push(Token::Point),
                ',' => {
                    // A comma after the last digit divides by a thousand.
                    let rest = characters.as_str().trim_start_matches(',');
                    is_other |= !rest.starts_with(['0', '#', '?']);
                    characters = rest.chars();
                }
                'E' | 'e' => {
                    is_other = true;
                    letters.push('e');
                }
                '%' | '/' => is_other = true,
                next if next.is_ascii_alphabetic() => {
                    letters.push(next.to_ascii_lowercase());
                    tokens.push(Token::Literal(next));
                }
                next => tokens.push(Token::Literal(next)),
            }
        }
        let sections = code.split(';').count();
        // Ignores surrounding spaces and colors.
        let is_general = tokens == [Token::Literal('@')] || letters == "general" && tokens.len() == "gnral".len();
        if is_general && !depends {
            return Self::General { sections };
        }
        let has_digits = tokens.iter().any(|token| matches!(token, Token::Zero | Token::Digit));
        // Seconds can have decimal digits.
        if letters.contains(['d', 'y']) || !has_digits && letters.contains('m') && !letters.contains(['h', 's']) {
            return Self::Date;
        }
        if letters.contains(['h', 's']) {
            return Self::Time;
        }
        if is_other || depends || !has_digits || !letters.is_empty() {
            Self::Other(code.to_owned())
        } else {
            Self::Digits { tokens, sections }
        }
    }

    /// Returns what the cell displays, without digit separators. Fails if the displayed text does not determine the number.
    pub(crate) fn show(&self, number: f64) -> Result<String, String> {
        // Turns -0 into 0.
        let number = with_15_digits(number) + 0.0;
        let plain = number.to_string();
        let tokens = match self {
            Self::General { sections } | Self::Digits { sections, .. }
                if number < 0.0 && *sections > 1 || number == 0.0 && *sections > 2 =>
            {
                return Err(format!("contains {plain}, which its format may show differently"));
            }
            Self::General { .. } => return Ok(plain),
            Self::Digits { tokens, .. } => tokens,
            Self::Date => return Err(format!("contains {plain}, which is not a date that spreadsheets can show")),
            Self::Time => return Err("shows a time without a date".to_owned()),
            Self::Other(code) => return Err(format!("shows {plain} in the format {code}")),
        };
        let (whole, decimals) = plain.split_once('.').unwrap_or((&plain, ""));
        let point = tokens.iter().position(|token| *token == Token::Point).unwrap_or(tokens.len());
        let shown_decimals = tokens[point..].iter().filter(|token| matches!(token, Token::Zero | Token::Digit)).count();
        let least = tokens[point..].iter().filter(|token| **token == Token::Zero).count();
        if !(least..=shown_decimals).contains(&decimals.len()) {
            return Err(format!("shows {plain} with {shown_decimals} decimals"));
        }
        let (sign, whole) = whole.strip_prefix('-').map_or(("", whole), |whole| ("-", whole));
        let is_digit = |token: &Token| matches!(token, Token::Zero | Token::Digit);
        let first = tokens[..point].iter().position(is_digit).unwrap_or(point);
        let (mut digits, mut shown) = (whole.chars().rev(), Vec::new());
        for (index, token) in tokens[..point].iter().enumerate().rev() {
            match token {
                Token::Literal(literal) => shown.push(*literal),
                Token::Point => {}
                Token::Zero => shown.push(digits.next().unwrap_or('0')),
                Token::Digit => shown.extend(digits.next().filter(|_| plain != "0")),
            }
            if index == first {
                shown.extend(digits.by_ref());
            }
        }
        let whole: String = shown.into_iter().rev().collect();
        let decimals = if decimals.is_empty() { String::new() } else { format!(".{decimals}") };
        let after = tokens[point..].iter().filter_map(|token| match token {
            Token::Literal(literal) => Some(*literal),
            _ => None,
        });
        Ok(format!("{sign}{whole}{decimals}{}", after.collect::<String>()))
    }
}

/// Rounds a number to the 15 digits that spreadsheets compute with. Files contain more digits.
pub(crate) fn with_15_digits(number: f64) -> f64 {
    format!("{number:.14e}").parse().unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::{NumberFormat, changes_texts};

    #[test]
    fn numbers_follow_their_format() {
        for (code, number, shown) in [
            ("General", 1001.0, "1001"),
            ("general", 0.1 + 0.2, "0.3"),
            ("@", 7.0, "7"),
            ("[Blue]@_)", 7.0, "7"),
            ("0", 12.0, "12"),
            ("00000", 501.0, "00501"),
            ("00000", 123_456.0, "123456"),
            ("#,##0", 1_234_567.0, "1234567"),
            ("000\\-00\\-0000", 12_345_678.0, "012-34-5678"),
            ("00000-0000", 80_000_012.0, "08000-0012"),
            ("\"A-\"000", 7.0, "A-007"),
            ("[$-407]00000", 501.0, "00501"),
            ("_(* #,##0_);_(* (#,##0);_(* \"-\"_);_(@_)", 12.0, "12"),
            ("0.0", 1.5, "1.5"),
            ("0", -3.0, "-3"),
        ] {
            assert_eq!(NumberFormat::of(code).show(number).as_deref(), Ok(shown), "{code}");
        }
        for (code, number) in [
            ("0", 12.6),
            ("0%", 0.5),
            ("0,", 12_000.0),
            ("0.00E+00", 5.0),
            ("# ?/?", 0.5),
            ("[<=9]0;00", 7.0),
            ("0.00", 1.1),
            ("#,##0.00", 1001.0),
            ("General;(General)", -5.0),
            ("[<10]General;\"many\"", 50.0),
            ("*0#####", 17.0),
        ] {
            assert!(NumberFormat::of(code).show(number).is_err(), "{code}");
        }
        assert_eq!(NumberFormat::of("General;(General)").show(5.0).as_deref(), Ok("5"));
        assert_eq!(NumberFormat::of("General").show(-0.0).as_deref(), Ok("0"));
    }

    #[test]
    fn text_changing_formats_are_recognized() {
        for code in ["\"A-\"@", "0;-0;0;\"A-\"@", ";;;", "@@", "0;0;0;\"hidden\""] {
            assert!(changes_texts(code), "{code}");
        }
        for code in
            ["", "General", "00000", "@", "_(@_)", "[Red]@", "_(* #,##0_);_(* (#,##0);_(* \"-\"_);_(@_)", "0;-0;\";@\""]
        {
            assert!(!changes_texts(code), "{code}");
        }
    }

    #[test]
    fn date_and_time_formats_are_recognized() {
        for code in
            ["yyyy-mm-dd", "d/m/yy", "[$-407]d. mmmm yyyy;@", "mmm\\-yy", "m/d/yyyy h:mm", "dd.mm.yyyy\" Uhr\"", "mmmm"]
        {
            assert_eq!(NumberFormat::of(code), NumberFormat::Date, "{code}");
        }
        for code in ["h:mm", "[h]:mm:ss", "mm:ss.0", "h:mm AM/PM"] {
            assert_eq!(NumberFormat::of(code), NumberFormat::Time, "{code}");
        }
        assert_eq!(NumberFormat::built_in(14), NumberFormat::Date);
        assert_eq!(NumberFormat::of("0\" kg\"").show(7.0).as_deref(), Ok("7 kg"));
    }
}
