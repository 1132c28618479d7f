//! Searches for records that contain all words of a query, regardless of case, accents and word order.
//!
//! No index covers substring matches, so a search reads the company's records in result order until it has enough. Exact matches come
//! first. To find them, a search for affiliates reads all of the company's affiliates. Parameters are subqueries, which hide their values
//! from the planner, so the planner always chooses this order.
//! The statement queue is fair to companies, and the call's deadline ends slow searches.

use std::{collections::HashMap, sync::LazyLock};

use sqlx::{Postgres, postgres::PgArguments, query::Query};
use unicode_normalization::UnicodeNormalization as _;

/// Default number of records in a response.
const DEFAULT_SEARCHED: i64 = 20;

/// Binds the first parameters of a search statement: company, word patterns, number of records, and the text as an ID.
///
/// `kind` is the record name that can precede an ID.
pub(crate) fn query<'q>(
    statement: &'static str,
    kind: &str,
    company_id: i64,
    text: &str,
    limit: Option<i64>,
) -> Query<'q, Postgres, PgArguments> {
    let limit = limit.unwrap_or(DEFAULT_SEARCHED);
    sqlx::query(statement).bind(company_id).bind(patterns(text)).bind(limit).bind(record_id(kind, text))
}

/// Returns a pattern for each word. Ignores separators after words, as in `Carter, Linda`.
pub(crate) fn patterns(text: &str) -> Vec<String> {
    let bare = |word: &'_ str| match word.trim_end_matches([',', ';']) {
        "" => pattern(word),
        bare => pattern(bare),
    };
    text.split_whitespace().map(bare).collect()
}

/// Returns a pattern for texts that consist of exactly these words.
pub(crate) fn whole_pattern(text: &str) -> String {
    let words: Vec<String> = text.split_whitespace().map(pattern).collect();
    format!(r"^\s*{}\s*$", words.join(r"\s+"))
}

/// Parses text as an ID: `494`, `#494`, or `URL 494` for the kind `URL`.
pub(crate) fn record_id(kind: &str, text: &str) -> Option<i64> {
    let text = text.trim();
    let number = match text.get(..kind.len()) {
        Some(word) if word.eq_ignore_ascii_case(kind) => {
            text[kind.len()..].trim_start_matches(|next: char| next.is_whitespace() || next == ':')
        }
        _ => text,
    };
    let digits = number.strip_prefix('#').map_or(number, str::trim_start);
    digits.parse().ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The range of combining accents, which follow a letter as separate characters.
const MARKS: (char, char) = ('\u{300}', '\u{36f}');

fn is_mark(character: char) -> bool {
    (MARKS.0..=MARKS.1).contains(&character)
}

/// Letters with a stroke and ligatures, which Unicode does not decompose.
const PLAIN: [(char, &str); 10] = [
    ('ø', "o"),
    ('Ø', "o"),
    ('ł', "l"),
    ('Ł', "l"),
    ('đ', "d"),
    ('Đ', "d"),
    ('æ', "ae"),
    ('Æ', "ae"),
    ('œ', "oe"),
    ('Œ', "oe"),
];

/// Folds a letter to lower case without accents, or to several letters, such as `ss` for `ß`. Other characters stay unchanged.
fn folded(character: char) -> Vec<char> {
    if !character.is_alphanumeric() {
        return vec![character];
    }
    if let Some((_, plain)) = PLAIN.iter().find(|(letter, _)| *letter == character) {
        return plain.chars().collect();
    }
    // Converting to upper case first turns `ß` into `ss`, and `ı` into `i`.
    let plain = [character].into_iter().nfd().filter(|part| !is_mark(*part));
    let plain = plain.flat_map(char::to_lowercase).flat_map(char::to_uppercase).flat_map(char::to_lowercase);
    let plain: Vec<char> = plain.collect();
    // Only Latin ligatures, such as `ﬃ`, consist of three letters. Korean syllables are letters of their own.
    let most = if plain.iter().all(char::is_ascii) { 3 } else { 2 };
    let is_plain = (1..=most).contains(&plain.len()) && plain.iter().all(|letter| letter.is_alphanumeric());
    if is_plain { plain } else { vec![character] }
}

/// All characters that fold to the same letters.
static ALIKE: LazyLock<HashMap<Vec<char>, String>> = LazyLock::new(|| {
    let mut alike = HashMap::<_, String>::new();
    for character in '\0'..='\u{1ffff}' {
        if character.is_alphanumeric() {
            alike.entry(folded(character)).or_default().push(character);
        }
    }
    // Letters without variants need no entry.
    alike.retain(|plain, letters| !letters.chars().eq(plain.iter().copied()));
    alike
});

/// Variants of apostrophes and hyphens. The plain hyphen comes first in its set, where it does not denote a range.
const SIGNS: [&str; 2] = ["'’‘ʼ´`", "-‐‑–"];

/// Returns a regular expression that matches a word regardless of case and accents.
///
/// The expression lists all forms of each letter, because the database locale may define different ones.
fn pattern(word: &str) -> String {
    let mut plain: Vec<char> = word.nfc().filter(|character| !is_mark(*character)).flat_map(folded).collect();
    if plain.is_empty() {
        // The word consists only of accents. An empty pattern would match everything.
        plain.extend(word.chars());
    }
    let mut pattern = String::with_capacity(plain.len() * 64);
    let mut rest = plain.as_slice();
    while let [first, after @ ..] = rest {
        // A single character can match two letters, such as `ß`, or three, such as `ﬃ`.
        if let [second, third, after @ ..] = after
            && let (Some(pair), Some(next)) = (ALIKE.get(&rest[..2]), ALIKE.get(&rest[1..3]))
        {
            let [first, second, third] = [first, second, third].map(|letter| one(*letter));
            let all = ALIKE.get(&rest[..3]).map(|letters| format!("|[{letters}]")).unwrap_or_default();
            pattern.extend(["(?:", &first, "(?:", &second, &third, "|[", next, "])|[", pair, "]", &third, &all, ")"]);
            rest = after;
        } else if let [second, after @ ..] = after
            && let Some(letters) = ALIKE.get(&rest[..2])
        {
            pattern.extend(["(?:", &one(*first), &one(*second), "|[", letters, "])"]);
            rest = after;
        } else {
            pattern.push_str(&one(*first));
            rest = after;
        }
    }
    pattern
}

/// Returns a regular expression for a folded character.
fn one(character: char) -> String {
    let (first, last) = MARKS;
    if let Some(letters) = ALIKE.get(&[character][..]) {
        return format!("[{letters}][{first}-{last}]*");
    }
    if let Some(signs) = SIGNS.iter().find(|signs| signs.contains(character)) {
        return format!("[{signs}]");
    }
    if character.is_ascii() && !character.is_alphanumeric() {
        // A backslash escapes special characters.
        return format!("\\{character}");
    }
    // Even a character without variants can be stored in decomposed form.
    let parts: String = [character].into_iter().nfd().collect();
    if parts.chars().eq([character]) { parts } else { format!("(?:{character}|{parts})") }
}

#[cfg(test)]
mod tests {
    use super::{folded, pattern, record_id};

    #[test]
    fn folding_removes_case_and_accents() {
        for (text, expected) in [
            ("Çé", "ce"),
            ("ŁØđ", "lod"),
            ("ßẞÆ", "ssssae"),
            ("Σς", "σσ"),
            ("İıK", "iik"),
            ("ﬁﬃ", "fiffi"),
            ("Œœ", "oeoe"),
            ("Й", "и"),
            ("が你영", "が你영"),
            ("½-_", "½-_"),
        ] {
            assert_eq!(text.chars().flat_map(folded).collect::<String>(), expected, "{text}");
        }
    }

    #[test]
    fn patterns_match_all_letter_variants() {
        let garcon = pattern("garcon");
        assert_eq!(pattern("GARÇON"), garcon);
        assert_eq!(pattern("garc\u{327}on"), garcon);
        assert!(garcon.contains('ç') && garcon.contains('Ñ') && garcon.contains("[\u{300}-\u{36f}]*"), "{garcon}");
        assert!(pattern("strasse").contains("|[ßẞ])"), "{}", pattern("strasse"));
        for (query, text) in [("office", "ﬁﬀ"), ("griffin", "ﬃ"), ("soeur", "œ")] {
            assert!(
                text.chars().filter(|letter| !letter.is_ascii()).all(|letter| pattern(query).contains(letter)),
                "{query}"
            );
        }
        assert_eq!(pattern("你が가"), "你(?:が|か\u{3099})(?:\u{1100}\u{1161}|[가])");
        assert_eq!(pattern(r"%_.*\[("), r"\%\_\.\*\\\[\(");
        assert_eq!(pattern("’-"), "['’‘ʼ´`][-‐‑–]");
        assert_eq!(pattern("\u{301}"), "\u{301}");
    }

    #[test]
    fn record_ids_may_start_with_type_or_number_sign() {
        for (text, expected) in [
            ("494", Some(494)),
            ("#494", Some(494)),
            (" URL 494 ", Some(494)),
            ("url #494", Some(494)),
            ("URL: 494", Some(494)),
            ("# 494", Some(494)),
            ("url", None),
            ("case 494", None),
            ("49a", None),
            ("99999999999999999999", None),
            ("", None),
        ] {
            assert_eq!(record_id("URL", text), expected, "{text}");
        }
    }
}
