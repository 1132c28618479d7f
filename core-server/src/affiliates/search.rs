//! The search for affiliates.

use std::sync::LazyLock;

use compliance_api::{
    error::Error,
    v1::{Affiliate, SearchAffiliatesRequest},
};

use super::read::columns;
use crate::{
    lists::{Records, Source, read_records},
    search,
};
use storage::{table::Reader, template::fill};

static SEARCH: LazyLock<&'static str> =
    LazyLock::new(|| fill(include_str!("sql/search.sql"), &[("columns", &columns())]).leak());

/// The statement, with the types of its parameters.
pub(crate) fn search_statement() -> (&'static str, &'static str) {
    (*SEARCH, "bigint, text, bigint, text, text")
}

/// The fewest digits of a phone number.
const SHORTEST_PHONE: usize = 5;

/// The digits of a text that can be a phone number.
fn phone_digits(text: &str) -> Option<String> {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let is_phone = text.chars().all(|character| character.is_ascii_digit() || "+-()./ \u{a0}".contains(character));
    (is_phone && digits.len() >= SHORTEST_PHONE).then_some(digits)
}

/// The first affiliates, by ID, whose name or client identifier contains a text, or whose e-mail address or phone number equals it.
pub(super) async fn search(source: Source, request: &SearchAffiliatesRequest) -> Result<Records<Affiliate>, Error> {
    let SearchAffiliatesRequest { q, limit } = request;
    let company_id = source.company_id;
    let query = || search::query(*SEARCH, company_id, q, *limit).bind(q.trim()).bind(phone_digits(q));
    read_records(source, query, Reader::<Affiliate>::read).await
}

#[cfg(test)]
mod tests {
    use super::phone_digits;

    #[test]
    fn a_phone_number_is_its_digits() {
        for (text, expected) in [
            ("+1 (555) 010-4477", Some("15550104477")),
            ("0041.44.123", Some("004144123")),
            ("1234", None),
            ("A-12345", None),
            ("12345@example.org", None),
        ] {
            assert_eq!(phone_digits(text).as_deref(), expected, "{text}");
        }
    }
}
