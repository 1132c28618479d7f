//! Builds regular expressions for text rules. They are exact in ECMAScript, Python and Rust.
//!
//! Unless stated otherwise, the patterns also accept the empty string, which is equivalent to null.

use compliance_api::country;

/// Unicode whitespace. `\s` differs between dialects.
const BLANK: &str = r"\x09-\x0d\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000";
/// A scheme and at least one character, after characters that WHATWG strips. The service checks the rest by WHATWG's rules.
const URL: &str = r"[\x01-\x20]*[Hh][Tt][Tt][Pp][Ss]?://[^\x00]+";
/// The part of a day after the year, `-MM-DD`, valid in any year. `S` is the separator.
const ANY_YEAR: &str = "(?:(?:0[13578]|1[02])S(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)S(?:0[1-9]|[12][0-9]|30)|02S(?:0[1-9]|1[0-9]|2[0-8]))";
/// Years with a 29 February.
const LEAP_YEAR: &str = "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)";

/// Matches any text without U+0000.
pub(crate) const TEXT: &str = r"^[^\x00]*$";

/// Matches nonblank text without U+0000. Rejects the empty string.
pub(crate) fn not_blank() -> String {
    format!(r"^[^\x00]*[^\x00{BLANK}][^\x00]*$")
}

/// Matches a complete http or https URL.
pub(crate) fn url() -> String {
    format!("^(?:{URL})?$")
}

/// Matches a complete http or https URL. Rejects the empty string.
pub(crate) fn required_url() -> String {
    format!("^{URL}$")
}

/// Matches an e-mail address (RFC 5321) without a domain literal. The service also accepts letters from other scripts.
pub(crate) fn email() -> String {
    const ATOM: &str = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]";
    const QUOTED: &str = r#""(?:[\t \x21\x23-\x5b\x5d-\x7e]|\\[\x21-\x7e])+""#;
    let label = format!("[A-Za-z0-9](?:{ATOM}{{0,61}}[A-Za-z0-9])?");
    format!(r"^(?=[^\x00]{{1,64}}@[^@]*$)(?:{ATOM}+(?:\.{ATOM}+)*|{QUOTED})@{label}(?:\.{label})*$")
}

/// Matches a day in the years 1 to 9999, together with the format `date`.
pub(crate) const DAY: &str = "^(?!0000)";

/// Matches an `If-Match` header: a list of entity tags, or `*`.
pub(crate) fn if_match() -> String {
    const TAG: &str = r#"(?:W/)?"[\x21\x23-\x7e\x80-\xff]*""#;
    format!(r"^(?:\*|[\t ,]*{TAG}(?:[\t ]*,[\t ,]*{TAG})*[\t ,]*)$")
}

/// Matches a calendar day in the years 1 to 9999, `YYYY-MM-DD` or `MM/DD/YYYY`.
pub(crate) fn start_date() -> String {
    let (dash, slash) = (ANY_YEAR.replace('S', "-"), ANY_YEAR.replace('S', "/"));
    format!("^(?:(?!0000)[0-9]{{4}}-{dash}|{LEAP_YEAR}-02-29|{slash}/(?!0000)[0-9]{{4}}|02/29/{LEAP_YEAR})?$")
}

/// Matches a timestamp in the years 1 to 9999. Rejects the empty string.
pub(crate) fn timestamp() -> String {
    let (dash, time) = (ANY_YEAR.replace('S', "-"), "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]");
    let day = format!("(?:(?!0000)[0-9]{{4}}-{dash}|(?!0000){LEAP_YEAR}-02-29)");
    let (fraction, zone) = (r"(?:\.[0-9]+)?", "(?:[Zz]|[+-](?:[01][0-9]|2[0-3])(?::?[0-5][0-9])?)");
    format!("^{day}(?: {time}{fraction}{zone}?|[Tt]{time}{fraction}{zone})$")
}

/// Matches an ISO 3166-1 alpha-2 code, ignoring case.
pub(crate) fn country_code() -> String {
    let either_case = |letter: char| format!("{letter}{}", letter.to_ascii_lowercase());
    let mut groups: Vec<(char, String)> = Vec::new();
    for code in country::codes() {
        let mut letters = code.chars();
        let (Some(first), Some(second)) = (letters.next(), letters.next()) else { continue };
        match groups.last_mut().filter(|(last, _)| *last == first) {
            Some((_, seconds)) => *seconds += &either_case(second),
            None => groups.push((first, either_case(second))),
        }
    }
    let groups = groups.into_iter().map(|(first, seconds)| format!("[{}][{seconds}]", either_case(first)));
    format!("^(?:{})?$", groups.collect::<Vec<_>>().join("|"))
}

/// Matches text with exactly this number of characters.
pub(crate) fn exactly(characters: usize) -> String {
    format!(r"^(?:[^\x00]{{{characters}}})?$")
}

/// Matches a timestamp in responses: `YYYY-MM-DD HH:MM:SS`.
pub(crate) const TIMESTAMP: &str = "^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}$";
