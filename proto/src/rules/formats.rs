//! Checks string formats: email addresses, URLs, dates and countries.

use email_address::{EmailAddress, Options};
use prost_types::Timestamp;
use time::{Date, format_description::BorrowedFormatItem, macros::format_description};
use url::Url;

use crate::{json::records::timestamp_of_text, v1::Format};

/// Returns whether a string matches a format.
pub(super) fn matches(format: Format, text: &str) -> bool {
    match format {
        Format::Unspecified => true,
        Format::Email => is_email(text),
        Format::Url => normalised_url(text).is_some(),
        Format::Date => iso_date(text).is_some(),
        Format::StartDate => start_date(text).is_some(),
        Format::Country => crate::country::numeric(text).is_some(),
        Format::Timestamp => timestamp(text).is_some(),
    }
}

/// Returns the message for a string that does not match a format.
pub(super) fn violation(format: Format, label: &str, text: &str) -> String {
    let must = match format {
        Format::Country => return format!("{} It must be an ISO 3166-1 alpha-2 code.", unknown(label)),
        Format::Unspecified => "is invalid",
        Format::Email => "must be a valid email address",
        Format::Url => "must be a valid URL",
        Format::Date | Format::StartDate if has_shape(text, "0000-00-00") => "must be an existing date",
        // With a larger number in front, the day comes first.
        Format::StartDate if has_shape(text, "00/00/0000") && text < "13" => "must be an existing date",
        Format::Date => "must match the format YYYY-MM-DD",
        Format::StartDate => "must match the format YYYY-MM-DD or MM/DD/YYYY",
        Format::Timestamp => must_be_time(text),
    };
    format!("The {label} field {must}.")
}

/// Returns what an invalid time must be.
pub fn must_be_time(text: &str) -> &'static str {
    let is_impossible = has_shape(text, "0000-00-00 00:00:00");
    if is_impossible { "must be an existing date and time" } else { "must match the format YYYY-MM-DD HH:MM:SS" }
}

/// Returns whether a text has the same characters as `shape`, with any digits.
fn has_shape(text: &str, shape: &str) -> bool {
    text.replace(|next: char| next.is_ascii_digit(), "0") == shape
}

/// Returns the message for an unknown value.
pub(super) fn unknown(label: &str) -> String {
    format!("The selected {label} is invalid.")
}

fn is_email(text: &str) -> bool {
    let options = Options::default().without_display_text().without_domain_literal();
    EmailAddress::parse_with_options(text, options).is_ok()
}

/// Parses and normalizes a complete `http://` or `https://` URL (WHATWG).
///
/// The URL must have a host. The result has a lowercase scheme and host, no default port, and `/` instead of an empty path.
///
/// Rejects text that the WHATWG parser would silently change into a different URL, such as two pasted cells or lines.
pub fn normalised_url(text: &str) -> Option<Url> {
    // The parser itself ignores these characters around a URL.
    let shown = text.trim_matches(|next| next <= ' ');
    let lower = shown.to_ascii_lowercase();
    let starts = |part: &str| part.starts_with("http://") || part.starts_with("https://");
    if !starts(&lower) || lower.split(' ').skip(1).any(starts) || shown.contains(is_hidden) {
        return None;
    }
    Url::parse(shown)
        .ok()
        .filter(|url| url.host_str().is_some_and(|host| !host.is_empty() && !host.contains(is_separator)))
}

/// Returns whether a character is invisible in a URL, or breaks its line.
fn is_hidden(next: char) -> bool {
    next.is_control()
        || (next.is_whitespace() && next != ' ')
        || matches!(next, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Returns whether a character separates list items. No host contains one, although the WHATWG parser accepts them.
fn is_separator(next: char) -> bool {
    ",;'\"".contains(next)
}

/// Parses a date, `YYYY-MM-DD` or `MM/DD/YYYY`.
pub fn start_date(text: &str) -> Option<Date> {
    iso_date(text).or_else(|| calendar_day(text, format_description!("[month]/[day]/[year]")))
}

/// Parses a timestamp like [`timestamp_of_text`], limited to the years 1 to 9999.
///
/// Returns seconds since 1970-01-01.
pub fn timestamp(text: &str) -> Option<i64> {
    timestamp_of_text(text).filter(is_timestamp).map(|instant| instant.seconds)
}

fn iso_date(text: &str) -> Option<Date> {
    calendar_day(text, format_description!("[year]-[month]-[day]"))
}

/// Parses a date in the years 1 to 9999, the range that fits both the database and four digits.
fn calendar_day(text: &str, format: &[BorrowedFormatItem<'_>]) -> Option<Date> {
    Date::parse(text, format).ok().filter(|date| text.len() == 10 && date.year() > 0)
}

/// Returns whether a timestamp is in the years 1 to 9999.
pub(super) fn is_timestamp(value: &Timestamp) -> bool {
    const FIRST: i64 = -62_135_596_800;
    const LAST: i64 = 253_402_300_799;
    (FIRST..=LAST).contains(&value.seconds) && (0..1_000_000_000).contains(&value.nanos)
}

#[cfg(test)]
mod tests {
    use time::macros::date;

    use super::{is_email, normalised_url, start_date, violation};
    use crate::v1::Format;

    #[test]
    fn start_dates_must_be_real_calendar_days() {
        assert_eq!(start_date("2024-02-29"), Some(date!(2024 - 02 - 29)));
        assert_eq!(start_date("02/29/2024"), Some(date!(2024 - 02 - 29)));
        for wrong in ["2023-02-29", "29/02/2024", "2024-2-29", "0000-01-01", "2024-02-2x", "+024-01-01", "20240229"] {
            assert_eq!(start_date(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn invalid_dates_differ_from_invalid_formats() {
        let missing = "The start date field must be an existing date.";
        let format = "The start date field must match the format YYYY-MM-DD or MM/DD/YYYY.";
        for (text, message) in [
            ("02/30/2026", missing),
            ("12/32/2026", missing),
            ("2026-02-30", missing),
            ("13/01/2026", format),
            ("1/5/2026", format),
            ("2026-1-5", format),
            ("2026/01/05", format),
        ] {
            assert_eq!(violation(Format::StartDate, "start date", text), message, "{text}");
        }
    }

    #[test]
    fn only_complete_urls_are_normalized() {
        assert_eq!(normalised_url("HTTP://Example.ORG:80").unwrap().as_str(), "http://example.org/");
        assert_eq!(
            normalised_url("https://bücher.example/a b").unwrap().as_str(),
            "https://xn--bcher-kva.example/a%20b"
        );
        assert_eq!(normalised_url(" https://a.example/x,y;z\n").unwrap().as_str(), "https://a.example/x,y;z");
        for wrong in
            ["", "example.org", "//example.org", "ftp://example.org/", "http://", "http:example.org", "http://a b/"]
        {
            assert!(normalised_url(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn urls_with_hidden_characters_or_several_urls_are_rejected() {
        for wrong in [
            "https://a.example/\tAnn",
            "https://a.example\tAnn",
            "https://a.exa\nmple/",
            "https://a.example/\u{b}https://b.example/",
            "https://a.example/\u{2028}https://b.example/",
            "https://a.example/\u{200b}",
            "\u{feff}https://a.example/",
            "https://a.example/\u{a0}",
            "https://a.example/\u{202c}x",
            "https://a.example/1 https://a.example/2",
            "https://a.example/1 HTTP://b.example/",
            "https://a.example,https://b.example",
            "https://a.example;b.example",
        ] {
            assert!(normalised_url(wrong).is_none(), "{wrong:?}");
        }
    }

    #[test]
    fn emails_need_a_local_part_and_domain() {
        assert!(is_email("ann@example.org"));
        for wrong in ["ann", "ann@", "@example.org", "Ann <ann@example.org>", "ann@exa mple.org"] {
            assert!(!is_email(wrong), "{wrong}");
        }
    }
}
