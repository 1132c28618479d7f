//! The document is what `docs/openapi.json` holds, its examples are good, and its patterns are exact.

use std::path::Path;

use super::{example, pattern, reference};
use crate::{
    extract::{affiliates, path::PathId, urls},
    json::Json,
    router::documented,
};

/// Set to rewrite the files instead of comparing with them: `scripts/write-reference`.
const WRITE: &str = "COMPLIANCE_WRITE_REFERENCE";

/// Compares a file of `docs/` with what it must hold, or writes it.
fn compare(name: &str, expected: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name);
    if std::env::var_os(WRITE).is_some() {
        return std::fs::write(path, expected).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(committed == expected, "docs/{name} is not what the contract says; scripts/write-reference rewrites it");
}

#[test]
fn the_committed_document_is_the_one_that_is_served() {
    let mut text = serde_json::to_string_pretty(&super::document(&documented())).unwrap();
    text.push('\n');
    compare("openapi.json", &text);
}

#[test]
fn the_committed_reference_has_the_fields_of_the_contract() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/partners.md");
    let committed = std::fs::read_to_string(path).unwrap();
    compare("partners.md", &reference::with_generated_parts(&committed));
}

/// The operations by their IDs, which are unique.
#[test]
fn operations_have_ids_of_their_own() {
    let mut ids: Vec<&str> = documented().iter().map(|route| (route.document)().id).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all);
}

#[test]
fn the_bodies_of_the_examples_are_accepted() {
    const MEMORY: usize = 1 << 20;
    for body in [example::CREATE, example::CREATE_BATCH] {
        affiliates::create(body.as_bytes(), MEMORY).unwrap();
    }
    for body in [example::UPDATE, example::UPDATE_BATCH] {
        affiliates::update(body.as_bytes(), MEMORY, &PathId::of("/api/affiliates/1")).unwrap();
    }
    urls::add(example::ADD.as_bytes(), MEMORY).unwrap();
    for json in [example::created_batch(), example::updated_batch(), example::added()] {
        assert!(matches!(&json, Json::List(items) if items.len() > 1), "{json:?}");
    }
}

/// Every pattern against the rule that it stands for.
#[test]
fn patterns_are_exact() {
    use compliance_api::{rules, v1::AffiliateInput};
    use regex::Regex;

    // The regular expressions of `regex` have no look-ahead; a year 0 is the only text that it keeps out.
    let without_look_ahead = |pattern: String| Regex::new(&pattern.replace("(?!0000)", "")).unwrap();
    let is_valid = |input: AffiliateInput| {
        let violations = rules::check(&input);
        violations.iter().all(|violation| violation.path.ends_with("_name") || violation.path == "client_affiliate_id")
    };
    let start_date = without_look_ahead(pattern::start_date());
    for year in [1, 4, 100, 400, 1900, 1999, 2000, 2023, 2024, 2100, 9996, 9999] {
        for month in 0..=13 {
            for day in 0..=32 {
                for text in [format!("{year:04}-{month:02}-{day:02}"), format!("{month:02}/{day:02}/{year:04}")] {
                    let input = AffiliateInput { start_date: Some(text.clone()), ..AffiliateInput::default() };
                    assert_eq!(start_date.is_match(&text), is_valid(input), "{text}");
                }
            }
        }
    }
    let country = Regex::new(&pattern::country_code()).unwrap();
    for first in (b' '..=b'~').map(char::from) {
        for second in (b' '..=b'~').map(char::from) {
            let text = format!("{first}{second}");
            let input = AffiliateInput { country: Some(text.clone()), ..AffiliateInput::default() };
            assert_eq!(country.is_match(&text), is_valid(input), "{text}");
        }
    }
    let not_blank = Regex::new(&pattern::not_blank()).unwrap();
    for character in ('\0'..=char::MAX).filter(|character| (*character as u32) < 0x1_1000) {
        for text in [character.to_string(), format!("{character}x"), format!(" {character}\n")] {
            let input = AffiliateInput { affiliate_name: Some(text.clone()), ..AffiliateInput::default() };
            let is_valid = !rules::check(&input).iter().any(|violation| violation.path == "affiliate_name");
            assert_eq!(not_blank.is_match(&text), is_valid, "{text:?}");
        }
    }
}
