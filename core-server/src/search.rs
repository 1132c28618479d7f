//! Searches for records that contain a text, in either case.
//!
//! No index finds a text within another text, so a search reads the company's records in the order of its result until it has enough. The
//! text and the number are subqueries. The planner does not see their values, so it always chooses this order. The queue of statements
//! is fair to companies, and the deadline of the call ends a search that takes too long.

use sqlx::{Postgres, postgres::PgArguments, query::Query};

/// Records in one response, if the request sets no number.
const DEFAULT_SEARCHED: i64 = 20;

/// A search statement with its parameters: the company, the pattern, and the number of records.
pub(crate) fn query<'q>(
    statement: &'static str,
    company_id: i64,
    text: &str,
    limit: Option<i64>,
) -> Query<'q, Postgres, PgArguments> {
    sqlx::query(statement).bind(company_id).bind(pattern(text)).bind(limit.unwrap_or(DEFAULT_SEARCHED))
}

/// The types of its parameters.
pub(crate) const TYPES: &str = "bigint, text, bigint";

/// A regular expression for a text in either case. It names both cases of each letter, because many database locales know only the cases
/// of ASCII letters.
fn pattern(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len() * 4);
    for character in text.chars() {
        match cases(character).as_slice() {
            [] if character.is_alphanumeric() || !character.is_ascii() => pattern.push(character),
            // A backslash removes the special meaning of any other character.
            [] => pattern.extend(['\\', character]),
            cases => {
                pattern.push('[');
                pattern.extend(cases);
                pattern.push(']');
            }
        }
    }
    pattern
}

/// A letter in both cases. Empty for a character without cases, or whose other case has several characters.
fn cases(character: char) -> Vec<char> {
    let others = [only(character.to_lowercase()), only(character.to_uppercase())];
    let mut cases: Vec<char> = others.into_iter().flatten().filter(|other| *other != character).collect();
    if !cases.is_empty() {
        cases.insert(0, character);
    }
    cases
}

fn only(mut characters: impl Iterator<Item = char>) -> Option<char> {
    let first = characters.next()?;
    characters.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::pattern;

    #[test]
    fn a_letter_is_found_in_either_case_and_every_other_character_as_it_is() {
        for (text, expected) in
            [("aB-1", r"[aA][Bb]\-1"), ("É ß ω 你", r"[Éé]\ ß\ [ωΩ]\ 你"), (r"100%_.*\[(", r"100\%\_\.\*\\\[\(")]
        {
            assert_eq!(pattern(text), expected);
        }
    }
}
