//! Repeating a request after a lost response is safe: the company's records are the same as after a single request.
//!
//! Clients, proxies (`deploy/nginx`, `deploy/haproxy`) and the guide rely on this guarantee.

use super::{
    Fixture,
    twins::{Side, Step, normalized, perform},
};

/// Operations whose repetition leaves a trace, and why the trace is harmless.
const TRACES: [(&str, &str); 3] = [
    ("/test", "a second `test` message arrives, and the audit shows both"),
    ("testwebhook", "same as above"),
    ("secret", "the secret of the first response still signs messages"),
];

/// Performs a step again. Returns whether the company's rows are the same as after the first time, `once`.
pub(super) async fn is_repeatable(fixture: &Fixture, (side, company): (Side, i64), step: Step, once: &str) -> bool {
    let name = step.name().to_lowercase();
    if name.starts_with("get ") || TRACES.iter().any(|(operation, _)| name.contains(operation)) {
        return true;
    }
    perform(fixture, (side, company), step, &mut Vec::new()).await;
    let twice = normalized(&fixture.rows_of(company).await);
    // A review stores the last request's date, so the second request changes the URL's date and etag.
    let is_review = ["reviewurl", "patch /urls/"].iter().any(|review| name.contains(review));
    let is_same = if is_review { without_versions(once) == without_versions(&twice) } else { once == twice };
    if !is_same {
        println!("{name}\nonce: {once}\ntwice: {twice}");
    }
    is_same
}

/// Removes the record of changes and all revisions from a state.
fn without_versions(state: &str) -> String {
    let rows = state.lines().filter(|row| !row.starts_with("change"));
    let parts = rows.flat_map(|row| row.split("\"revision\": "));
    parts
        .map(|part| part.trim_start_matches(|character: char| character.is_ascii_digit()))
        .collect::<Vec<_>>()
        .join("\n")
}
