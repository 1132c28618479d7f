//! Checks that the committed files match the contract, and that the patterns are exact.

use std::{collections::BTreeSet, path::Path};

use crate::{document, pattern, route::DocumentedRoute, with_generated_parts};

/// With this variable, the tests write the files instead of comparing them. `tools/scripts/write-reference` sets it.
const WRITE: &str = "COMPLIANCE_WRITE_REFERENCE";

/// Compares a file in `docs/` with its expected content, or writes it.
fn compare(name: &str, expected: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    if std::env::var_os(WRITE).is_some() {
        return std::fs::write(path, expected).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        committed == expected,
        "docs/{name} does not match the contract; run tools/scripts/write-reference to update it"
    );
}

#[test]
fn committed_openapi_document_is_current() {
    compare("openapi.json", &document());
}

#[test]
fn committed_reference_pages_are_current() {
    for name in ["fields.md", "values.md", "reasons.md"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(name);
        let committed = std::fs::read_to_string(path).unwrap();
        let expected = with_generated_parts(&committed);
        assert!(expected.contains("<!-- generated: "), "{name}");
        compare(&format!("reference/{name}"), &expected);
    }
}

#[test]
fn operation_ids_are_unique() {
    let mut ids: Vec<String> = rest_gateway::ROUTES.iter().map(|route| DocumentedRoute::of(route).id).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all);
}

// Catches wrong names in handler comments.
#[test]
fn document_references_resolve() {
    let text = document();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let references = text.split("\"$ref\": \"#").skip(1).filter_map(|rest| Some(rest.split_once('"')?.0));
    for reference in references {
        assert!(document.pointer(reference).is_some(), "{reference}");
    }
}

// Generated clients contain a class for each tag, and one type for all of a response's contents.
#[test]
fn document_suits_client_generators() {
    let document: serde_json::Value = serde_json::from_str(&document()).unwrap();
    let names = |list: &serde_json::Value, key: &str| -> BTreeSet<String> {
        list.as_array().unwrap().iter().map(|it| it[key].as_str().unwrap_or_default().to_owned()).collect()
    };
    let mut used = BTreeSet::new();
    for operation in document["paths"].as_object().unwrap().values().flat_map(|path| path.as_object().unwrap().values())
    {
        used.extend(operation["tags"].as_array().unwrap().iter().map(|tag| tag.as_str().unwrap().to_owned()));
        for response in operation["responses"].as_object().unwrap().values() {
            let content = response["content"].as_object();
            let types: Vec<_> = content.into_iter().flatten().map(|(kind, _)| kind.as_str()).collect();
            assert!(
                !types.contains(&"application/json") || types.len() == 1,
                "{}: {types:?}",
                operation["operationId"]
            );
        }
    }
    assert_eq!(names(&document["tags"], "name"), used);
    let list = &document["paths"]["/api/cases"]["get"]["responses"]["200"];
    assert_eq!(list["x-other-content"]["text/csv"]["schema"]["type"], "string");
}

#[test]
fn patterns_match_the_validation_rules() {
    use compliance_api::{rules, v1::AffiliateInput};
    use regex::Regex;

    // The `regex` crate does not support the look-ahead, which only rejects the year 0.
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
    let email = Regex::new(&pattern::email().replace(r"(?=[^\x00]{1,64}@[^@]*$)", "")).unwrap();
    let long = "x".repeat(63);
    for local in [
        "a",
        "a.b",
        "a..b",
        ".a",
        "a.",
        "a b",
        "",
        "a\"",
        "\"a b\"",
        "\"\"",
        "\"a\"b\"",
        r#""a\"b""#,
        "a@b",
        "\"a@b\"",
        "<a",
        "a\n",
    ] {
        for domain in [
            "b",
            "b.c",
            "b..c",
            "-b",
            "b-",
            "b-c",
            "b_c",
            "[b]",
            "[127.0.0.1]",
            "",
            "b c",
            "b\n",
            &long,
            &format!("{long}x"),
        ] {
            let text = format!("{local}@{domain}");
            let input = AffiliateInput { sponsor_email: Some(text.clone()), ..AffiliateInput::default() };
            assert_eq!(email.is_match(&text), is_valid(input), "{text:?}");
        }
    }
    let tags = Regex::new(&pattern::if_match()).unwrap();
    for (text, is_valid) in [
        ("*", true),
        ("\"7\"", true),
        ("W/\"7\" , \"8\"", true),
        (", \"7\",,\"8\",", true),
        ("\"\"", true),
        ("", false),
        ("7", false),
        ("*, \"7\"", false),
        ("\"7\" \"8\"", false),
        ("w/\"7\"", false),
        ("\"7 8\"", false),
        (",", false),
    ] {
        assert_eq!(tags.is_match(text), is_valid, "{text}");
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
