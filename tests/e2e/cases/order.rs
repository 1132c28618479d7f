//! The order of checks, and bodies that are not JSON objects.

use super::{
    Case,
    expect::{affiliate_unknown, invalid_one},
    run_table,
};

/// The service checks field rules first, then the affiliate, then the name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn field_rules_are_checked_before_records() {
    let bad = r#"{"id":9007199254740991,"affiliate_name":"N","email_one":"x"}"#;
    let violation = || invalid_one("email_one", "The email one field must be a valid email address.");
    run_table(vec![
        Case::new("violation precedes unknown affiliate").put("/affiliates/9007199254740991", bad, violation()),
        Case::new("violation precedes invalid path ID")
            .put("/affiliates/abc", r#"{"id":5,"email_one":"x"}"#, violation())
            .only_rest(),
        Case::new("missing body ID precedes invalid path ID")
            .put("/affiliates/abc", r#"{"city":"X"}"#, invalid_one("id", "The id field is required."))
            .only_rest(),
        Case::new("invalid path ID with a valid body returns 404")
            .put("/affiliates/abc", r#"{"id":5}"#, affiliate_unknown("abc"))
            .only_rest(),
        Case::new("invalid path ID with a valid batch returns 404")
            .put("/affiliates/abc", r#"{"affiliates":[{"id":1}]}"#, affiliate_unknown("abc"))
            .only_rest(),
        Case::new("batch violation precedes unknown affiliate").given_affiliate("C", "N").put(
            "/affiliates/9007199254740991",
            r#"{"affiliates":[{"id":<1>,"email_one":"x"}]}"#,
            invalid_one("affiliates.0.email_one", "The affiliates.0.email_one field must be a valid email address."),
        ),
        Case::new("violation precedes existing name").given_affiliate("C", "N").post(
            "/affiliates",
            r#"{"client_affiliate_id":"D","affiliate_name":"N","email_one":"x"}"#,
            violation(),
        ),
        Case::new("unknown affiliate precedes taken name").given_affiliate("C", "N").put(
            "/affiliates/9007199254740991",
            r#"{"id":9007199254740991,"affiliate_name":"N"}"#,
            affiliate_unknown("9007199254740991"),
        ),
    ])
    .await;
}

/// Bodies that are not JSON objects.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_json_bodies_are_rejected() {
    let mut cases = Vec::new();
    for (body, message) in [
        ("", "The body must be valid JSON. It is empty."),
        ("{", "The body must be valid JSON. The error is at line 1, column 1."),
        ("{} {}", "The body must be valid JSON. The error is at line 1, column 4."),
        ("{'a':1}", "The body must be valid JSON. The error is at line 1, column 2."),
        (r#"{"a":1,}"#, "The body must be valid JSON. The error is at line 1, column 8."),
        ("affiliate_name=N", "The body must be valid JSON. The error is at line 1, column 1."),
        ("[]", "The body must be a JSON object."),
        (r#"[{"client_affiliate_id":"C","affiliate_name":"N"}]"#, "The body must be a JSON object."),
        ("null", "The body must be a JSON object."),
        ("5", "The body must be a JSON object."),
        (r#""x""#, "The body must be a JSON object."),
        ("true", "The body must be a JSON object."),
    ] {
        for (method, path) in [("POST", "/affiliates"), ("PUT", "/affiliates/<1>"), ("POST", "/urls")] {
            let case = Case::new(format!("{method} {path} with {body}")).given_affiliate("C", "N");
            let list = if path == "/urls" { "urls" } else { "affiliates" };
            let key =
                if body.starts_with('[') { format!(" Send the list in the field {list}.") } else { String::new() };
            let invalid = invalid_one("body", &format!("{message}{key}"));
            cases.push(case.call(method, path, Some(body.to_owned()), invalid).only_rest());
        }
    }
    run_table(cases).await;
}
