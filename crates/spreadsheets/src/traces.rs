//! Detects traces of other programs in cells: formula errors, lost digits, wrong encodings and totals.

use encoding_rs::{Encoding, MACINTOSH};

use crate::{
    error::{FileError, short},
    headings::{letters, start},
    row::{RawRow, visible},
};

/// Formula errors in several languages. Most others end in `!` or `?`.
const ERRORS: [&str; 11] =
    ["#N/A", "#NV", "#N/D", "#N/V", "#N/B", "#I/T", "#Н/Д", "#YOK", "#HIÁNYZIK", "#NENÍ_K_DISPOZICI", "#GETTING_DATA"];
/// Prefixes of numbered `LibreOffice` errors.
const NUMBERED_ERRORS: [&str; 6] = ["Err", "Error", "Fehler", "Fout", "Erro", "Errore"];
/// Values that programs write for a missing identifier.
const MISSING: [&str; 6] = ["NaN", "nan", "NULL", "null", "None", "<NA>"];
/// Symbols that never occur between two letters. In other encodings, the same bytes are letters.
const NOT_IN_WORDS: &str = "€‚„†‡ˆ‰‹“”˜›¡¢£¤¥•¦§¶¿¸ﬂ";
/// Symbols in [`NOT_IN_WORDS`] that never follow a letter either.
const NOT_IN_OR_AFTER_WORDS: &str = "‚„ˆ˜¡¢¤•‰¸";
/// Capital letters of Windows-1252 that are different letters in Mac Roman and MS-DOS encodings.
const OTHER_CAPITALS: &str = "ŠŒŽŸÆ";
/// Punctuation that can follow a capital letter.
const PUNCTUATION: &str = "“”‘’–—…«»\u{a0}";
/// First or last word of a row with totals, in several languages.
const TOTALS: &str = "total totals totales totaux totalt totais totaal totale subtotal subtotals subtotaal grandtotal totalgeneral \
                      sum summe summa suma soma somme gesamt gesamtsumme gesamtergebnis ergebnis zwischensumme teilergebnis anzahl \
                      count average moyenne durchschnitt mittelwert celkem razem łącznie toplam összesen yhteensä \
                      итого итог всего 合計 小計 合计 小计 总计 합계";
/// Words that can follow a word such as `Total` without forming a company name.
const WITH_TOTALS: &str = "affiliates records rows urls entries items general général geral generale общий eur";

/// Returns whether a row contains totals: text with a word such as `Total`, and only numbers in the other cells.
pub(crate) fn is_total(row: &RawRow) -> bool {
    let mut cells = row.cells.iter().filter(|cell| cell.text.contains(char::is_alphabetic));
    let text = start(cells.next().map_or("", |cell| visible(&cell.text)));
    if text.is_empty() || cells.next().is_some() {
        return false;
    }
    let words: Vec<&str> = text.split_whitespace().filter(|word| word.contains(char::is_alphabetic)).collect();
    // IDs such as SUM100 and TOTAL-7 contain digits.
    let is_plain = |word: &str| !word.contains(|next: char| next.is_ascii_digit());
    let is_in = |list: &str, word: &str| {
        let letters = letters(word);
        is_plain(word) && list.split(' ').any(|known| known == letters)
    };
    let is_first = words.first().is_some_and(|word| is_in(TOTALS, word));
    // As in `Germany Total`.
    let is_last = words.last().is_some_and(|word| is_in(TOTALS, word));
    // As in `Total affiliates`, but not in the name Total Fitness.
    is_last || is_first && words.iter().all(|word| is_in(TOTALS, word) || is_in(WITH_TOTALS, word))
}

/// Returns whether text is a spreadsheet error, or the filler for a number in a narrow column.
pub(crate) fn is_error(text: &str) -> bool {
    let is_filled = text.len() > 2 && text.bytes().all(|byte| byte == b'#');
    let is_number = |code: &str| !code.is_empty() && has_only_digits(code);
    let of_calc =
        text.split_once(':').is_some_and(|(name, code)| NUMBERED_ERRORS.contains(&name.trim_end()) && is_number(code));
    let is_sign = |next: char| !next.is_lowercase() && !next.is_whitespace();
    let is_named = text.len() > 2 && text.starts_with('#') && text.ends_with(['!', '?']) && text.chars().all(is_sign);
    is_filled || of_calc || is_named || ERRORS.contains(&text)
}

/// Returns whether text is a number with an exponent, such as 4.91512E+11 or 12e5.
pub(crate) fn is_scientific(text: &str) -> bool {
    let Some((number, exponent)) = text.split_once(['E', 'e']) else { return false };
    let unsigned = |text| <str>::strip_prefix(text, ['+', '-']).unwrap_or(text);
    let number = unsigned(number);
    let (whole, decimals) = number.split_once(['.', ',']).unwrap_or((number, ""));
    let exponent = unsigned(exponent);
    !exponent.is_empty()
        && [exponent, whole, decimals].into_iter().all(has_only_digits)
        && whole.len() + decimals.len() > 0
}

/// Returns the text of a formula such as `="00501"`, which programs write to preserve leading zeros.
pub(crate) fn without_formula(text: &str) -> &str {
    let quoted = text.strip_prefix("=\"").and_then(|text| text.strip_suffix('"'));
    quoted.filter(|text| !text.contains('"')).map_or(text, visible)
}

/// Fails for a code that a program wrote as a number, such as `1001.0`, `1001,00` or `1,001`.
pub(crate) fn check_code(text: &str, is_separator: impl Fn(char) -> bool) -> Result<(), String> {
    let whole = text.trim_end_matches('0').strip_suffix(['.', ',']).filter(|whole| !whole.is_empty());
    if whole.is_some_and(has_only_digits) || has_thousands(text, is_separator) {
        return Err(format!(
            "The number {text} contains decimals or a separator, which some programs add; remove them. If it is a code, send it as JSON."
        ));
    }
    Ok(())
}

/// Returns whether text is a number with thousands separators, such as 1,001 or 1'234'567.50.
fn has_thousands(text: &str, is_separator: impl Fn(char) -> bool) -> bool {
    let separator = text.chars().find(|next| !next.is_ascii_digit()).filter(|next| is_separator(*next));
    let Some(separator) = separator else { return false };
    let decimal = if separator == ',' { '.' } else { ',' };
    let (whole, decimals) = text.split_once(decimal).unwrap_or((text, ""));
    let groups: Vec<&str> = whole.split(separator).collect();
    let [first, middle @ .., last] = &groups[..] else { return false };
    // Indian numbers have groups of two digits, as in 12,34,567.
    let is_middle = |group: &&str| group.len() == 3 || separator == ',' && group.len() == 2;
    // Numbers do not begin with a zero, but codes do.
    (1..=3).contains(&first.len())
        && !first.starts_with('0')
        && middle.iter().all(is_middle)
        && last.len() == 3
        && groups.iter().chain([&decimals]).all(|digits| has_only_digits(digits))
}

fn has_only_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns an identifier. Fails if it is a formula or a placeholder for a missing value, or contains control characters.
pub(crate) fn check_identifier(text: String) -> Result<String, String> {
    if text.starts_with('=') {
        return Err("The ID is a formula; enter its result.".to_owned());
    }
    if MISSING.contains(&text.as_str()) {
        return Err(format!("The ID is {text}, which programs write for a missing value; enter the ID."));
    }
    if !text.is_empty() && !text.contains(char::is_alphanumeric) {
        return Err(format!(
            "The ID {text} contains no letter or digit; enter the ID, clear the cell, or remove the row."
        ));
    }
    if text.contains(char::is_control) {
        return Err("The ID contains a control character, such as a line break; retype the ID.".to_owned());
    }
    Ok(text)
}

/// Fails if text in a single-byte encoding seems to use a different one. Wrong letters in other rows could go unnoticed.
pub(crate) fn check_encoding(line: u64, text: &str, encoding: &'static Encoding) -> Result<(), FileError> {
    let shown = short(text);
    if has_parts_of_letters(text, encoding) {
        return Err(FileError::Encoding(format!(
            "line {line} contains {shown:?}, which looks like UTF-8: save the whole file as CSV in UTF-8"
        )));
    }
    let is_mac = encoding == MACINTOSH;
    let Some(sign) = sign_in_word(text, is_mac) else { return Ok(()) };
    let others = if is_mac { "MS-DOS or Windows" } else { "MS-DOS or a Mac" };
    Err(FileError::Encoding(format!(
        "line {line} contains {shown:?}, with {sign} within a word: the file may come from {others}. Save it as CSV in UTF-8"
    )))
}

/// Returns whether text contains UTF-8 letters decoded as a single-byte encoding, such as `Ã¼`.
fn has_parts_of_letters(text: &str, encoding: &'static Encoding) -> bool {
    let is_part = |next: char| {
        let byte = encoding.encode(next.encode_utf8(&mut [0; 4])).0.first().copied();
        byte.is_some_and(|byte| (0x80..0xc0).contains(&byte)) && !PUNCTUATION.contains(next)
    };
    let starts = if encoding == MACINTOSH { ['√', '¬'] } else { ['Ã', 'Â'] };
    text.contains("â€") || text.split(starts).skip(1).any(|rest| rest.starts_with(is_part))
}

/// Returns a character that is wrong in its word, as in MS-DOS text decoded as Windows-1252.
fn sign_in_word(text: &str, is_mac: bool) -> Option<char> {
    // The number of letters before a character.
    let (mut before, mut length, mut characters) = (' ', 0, text.chars().peekable());
    while let Some(next) = characters.next() {
        let after = characters.peek().copied().unwrap_or(' ');
        let signs = if after.is_alphabetic() { NOT_IN_WORDS } else { NOT_IN_OR_AFTER_WORDS };
        let is_wrong = match next {
            _ if next.is_ascii() => false,
            _ if signs.contains(next) => before.is_alphabetic(),
            // In MS-DOS encodings, `Ö` and `Ü`.
            '™' => after.is_alphabetic() && !before.is_lowercase(),
            'š' => after.is_uppercase() && !before.is_lowercase(),
            // As in `JosÈ` for José. One letter can precede a capital, as in `Ó hÓgáin`.
            _ if is_mac && next.is_uppercase() || OTHER_CAPITALS.contains(next) => {
                length > 1 && before.is_lowercase() || before.is_uppercase() && after.is_lowercase()
            }
            _ => false,
        };
        if is_wrong {
            return Some(next);
        }
        length = if next.is_alphabetic() && !"ªº".contains(next) { length + 1 } else { 0 };
        before = next;
    }
    None
}
