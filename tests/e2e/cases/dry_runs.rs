//! Batches with `validate_only` return the same results as without it, and write nothing.

use super::{
    Case,
    expect::{
        Expect, affiliate_unknown, bad_country_item, bad_country_update, batch_created, batch_updated, created_item,
        created_one, duplicate_item, found, invalid_one, mixed, taken_item, unknown_item, updated_item, urls_added,
    },
    run_table,
};

/// Expects the last change to have this position.
fn unchanged(position: i64) -> Expect {
    let data = format!(r#"{{"changes":[],"position":{position},"last_position":{position},"dropped_position":0}}"#);
    found("Changes found", &data)
}

/// Adds `validate_only` to a body.
fn dry(body: &str) -> String {
    body.replacen('{', r#"{"validate_only":true,"#, 1)
}

/// Removes the IDs of new records from an expectation.
fn without_ids(expected: Expect) -> Expect {
    let ids = [r#""affiliate_id":<id>,"#, r#""url_id":<id>,"#, " Its ID is <number>."];
    let body = ids.iter().fold(expected.body, |body, id| body.replace(id, ""));
    Expect { body, ..expected }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dry_runs_save_nothing() {
    let given = |path: &str, name: String| match path {
        "/urls" => (Case::new(name).given_urls(&["https://a.example/"]), unchanged(1)),
        _ => (Case::new(name).given_affiliate("A", "Ann").given_affiliate("B", "Bob"), unchanged(2)),
    };
    let mut table = Vec::new();
    for (method, path, body, expected) in [
        (
            "POST",
            "/affiliates",
            r#"{"affiliates":[{"client_affiliate_id":"C","affiliate_name":"Cy"},{"client_affiliate_id":"D","affiliate_name":"Ann"},{"client_affiliate_id":"E","affiliate_name":"Eve","country":"QQ"},{"client_affiliate_id":"F","affiliate_name":"Cy"},{"client_affiliate_id":"G","affiliate_name":"Eve"}]}"#,
            mixed(&[
                created_item("C"),
                duplicate_item("D", "<1>"),
                bad_country_item("E", "QQ"),
                duplicate_item("F", "<number>"),
                created_item("G"),
            ]),
        ),
        (
            "POST",
            "/affiliates",
            r#"{"affiliates":[{"client_affiliate_id":"A","affiliate_name":"Cy"}]}"#,
            batch_created(&[created_item("A")]),
        ),
        (
            "PUT",
            "/affiliates/<1>",
            r#"{"affiliates":[{"id":<1>,"affiliate_name":"Bob"},{"id":<2>,"affiliate_name":"Cy"},{"id":<1>,"affiliate_name":"Bob"},{"id":9007199254740991,"city":"X"},{"id":<2>,"country":"QQ"},{"id":<2>}]}"#,
            mixed(&[
                taken_item("<1>"),
                updated_item("<2>"),
                updated_item("<1>"),
                unknown_item("9007199254740991"),
                bad_country_update("<2>", "QQ"),
                updated_item("<2>"),
            ]),
        ),
        (
            "PUT",
            "/affiliates/<1>",
            r#"{"affiliates":[{"id":<2>,"city":"X","affiliate_name":"Bob"}]}"#,
            batch_updated(&[updated_item("<2>")]),
        ),
        (
            "PUT",
            "/affiliates/9007199254740991",
            r#"{"affiliates":[{"id":<2>,"city":"X"}]}"#,
            affiliate_unknown("9007199254740991"),
        ),
        (
            "POST",
            "/urls",
            r#"{"urls":[{"url":"HTTPS://A.example"},{"url":"https://b.example/"},{"url":"https://b.example"}]}"#,
            urls_added(&[false, true, false]),
        ),
    ] {
        let dry_run = without_ids(expected.clone());
        let (case, unchanged) = given(path, format!("dry run of {method} {path} {body}"));
        let case = case.call(method, path, Some(dry(body)), dry_run).get("/changes", unchanged);
        table.push(case.call(method, path, Some(body.to_owned()), expected));
    }
    run_table(table).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_dry_run_flags_are_rejected() {
    let flag = |text: &str| invalid_one("validate_only", text);
    let (batch, single) =
        ("The validate only field must be true or false.", "The validate only field is allowed only in a batch.");
    let affiliate = r#""client_affiliate_id":"C","affiliate_name":"N""#;
    run_table(vec![
        Case::new("invalid flag is rejected")
            .post("/affiliates", format!(r#"{{"validate_only":"yes","affiliates":[{{{affiliate}}}]}}"#), flag(batch))
            .only_rest()
            .post("/urls", r#"{"urls":[{"url":"https://a.example/"}],"validate_only":1}"#, flag(batch))
            .only_rest()
            .post("/affiliates", format!(r#"{{"validate_only":true,{affiliate}}}"#), flag(single))
            .only_rest(),
        Case::new("false flag saves the records")
            .post("/affiliates", format!(r#"{{"validate_only":false,{affiliate}}}"#), created_one("C"))
            .put("/affiliates/<1>", r#"{"validate_only":true,"id":<1>,"city":"X"}"#, flag(single))
            .only_rest(),
        Case::new("null flag counts as absent").post(
            "/urls",
            r#"{"urls":[{"url":"https://a.example/"}],"validate_only":null}"#,
            urls_added(&[true]),
        ),
    ])
    .await;
}
