//! Patterns with placeholders. `<id>` matches any new ID, and the case stores it. `<now>` matches the current time, and `<tomorrow>` a day later.
//! `<number>` matches any number, and `<secret>` any secret. Other text is literal.

use time::{OffsetDateTime, PrimitiveDateTime, macros::format_description};

/// Maximum difference from the current time.
const PRESENT: time::Duration = time::Duration::minutes(5);

/// Fills in the company and the known IDs.
pub(super) fn filled(text: &str, company: i64, ids: &[i64]) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        filled.push_str(before);
        let length = after.bytes().take_while(u8::is_ascii_alphanumeric).count();
        let value = match &after[..length] {
            "company" => Some(company),
            name => name.parse().ok().and_then(|number: usize| ids.get(number.checked_sub(1)?).copied()),
        };
        rest = if let (Some(value), Some(after)) = (value, after[length..].strip_prefix('>')) {
            filled.push_str(&value.to_string());
            after
        } else {
            filled.push('<');
            after
        };
    }
    filled + rest
}

/// Matches a text against a pattern, and stores the ID at each `<id>`.
pub(super) fn matches(pattern: &str, text: &str, ids: &mut Vec<i64>) -> Result<(), String> {
    let (mut pattern, mut rest) = (pattern, text);
    loop {
        let is_placeholder = |(start, _): &(usize, &str)| {
            ["<id>", "<now>", "<tomorrow>", "<number>", "<secret>"]
                .iter()
                .any(|name| pattern[*start..].starts_with(name))
        };
        let next = pattern.match_indices('<').find(is_placeholder).map(|(start, _)| start);
        let literal = &pattern[..next.unwrap_or(pattern.len())];
        let Some(after) = rest.strip_prefix(literal) else { return Err(difference(literal, rest)) };
        let Some(next) = next else {
            return if after.is_empty() { Ok(()) } else { Err(format!("unexpected text at the end: {after}")) };
        };
        if pattern[next..].starts_with("<id>") {
            let digits = after.bytes().take_while(u8::is_ascii_digit).count();
            let id = after[..digits].parse().map_err(|_| format!("expected an ID, got {after}"))?;
            if id < 1 || ids.contains(&id) {
                return Err(format!("the ID {id} is not new"));
            }
            ids.push(id);
            (pattern, rest) = (&pattern[next + 4..], &after[digits..]);
        } else if pattern[next..].starts_with("<number>") {
            (pattern, rest) =
                (&pattern[next + 8..], after.trim_start_matches(|character: char| character.is_ascii_digit()));
        } else if pattern[next..].starts_with("<secret>") {
            let secret = after.split('"').next().unwrap_or_default();
            if !secret.starts_with("whsec_") || secret.len() != 50 {
                return Err(format!("expected a secret, got {after}"));
            }
            (pattern, rest) = (&pattern[next + 8..], &after[secret.len()..]);
        } else {
            let timestamp = after.get(..19).ok_or_else(|| format!("expected a timestamp, got {after}"))?;
            let is_tomorrow = pattern[next..].starts_with("<tomorrow>");
            is_present(timestamp, time::Duration::days(is_tomorrow.into()))?;
            (pattern, rest) = (&pattern[next + if is_tomorrow { 10 } else { 5 }..], &after[19..]);
        }
    }
}

/// Checks that a text is the current time plus this duration.
fn is_present(timestamp: &str, later: time::Duration) -> Result<(), String> {
    let format = format_description!("[year]-[month]-[day] [hour]:[minute]:[second]");
    let timestamp = PrimitiveDateTime::parse(timestamp, format).map_err(|error| format!("{timestamp}: {error}"))?;
    let age = OffsetDateTime::now_utc() + later - timestamp.assume_utc();
    if age.abs() < PRESENT { Ok(()) } else { Err(format!("{timestamp} is not the expected time")) }
}

fn difference(expected: &str, got: &str) -> String {
    let same = expected.bytes().zip(got.bytes()).take_while(|(expected, got)| expected == got).count();
    let from = (0..=same.saturating_sub(60)).rev().find(|at| expected.is_char_boundary(*at)).unwrap_or(0);
    let part = |text: &str| text.get(from..).unwrap_or_default().chars().take(200).collect::<String>();
    format!("expected …{}\n        but got …{}", part(expected), part(got))
}
