//! Repeating a request after a lost response is safe: the company's records are the same as after a single request.
//!
//! Clients, proxies (`deploy/nginx`, `deploy/haproxy`) and the guide rely on this guarantee.

use std::collections::BTreeSet;

use test_support::TestService;

use super::{
    rows_of,
    twins::{Side, Step, normalized, perform, steps},
};

/// Operations whose repetition leaves a trace, and why the trace is harmless.
const TRACES: [(&str, &str); 3] = [
    ("/test", "a second `test` message arrives, and the audit shows both"),
    ("testwebhook", "same as above"),
    ("secret", "the secret of the first response still signs messages"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn repeated_requests_apply_once() {
    let service = TestService::start().await;
    // All new IDs have the same number of digits.
    let sequences = "select setval(oid::regclass, 103500) from pg_class
        where relkind = 'S' and relnamespace = 'public'::regnamespace";
    sqlx::raw_sql(sequences).execute(&service.pool).await.unwrap();
    let mut different = BTreeSet::new();
    for step in steps() {
        let name = step.name();
        let once = state_after(&service, step, 1).await;
        let twice = state_after(&service, step, 2).await;
        // A review stores the last request's date, so the second request changes the URL's date and etag.
        let is_review = ["reviewurl", "patch /urls/"].iter().any(|review| name.to_lowercase().contains(review));
        let [once, twice] = [once, twice].map(|state| if is_review { without_versions(&state) } else { state });
        let leaves_trace = TRACES.iter().any(|(operation, _)| name.to_lowercase().contains(operation));
        if once != twice && !leaves_trace {
            println!("{name}\nonce: {once}\ntwice: {twice}");
            different.insert(name);
        }
    }
    assert!(different.is_empty(), "these requests are not safe to repeat: {different:#?}");
}

/// Performs a step `times` times as a new company, and returns the company's rows.
async fn state_after(service: &TestService, step: Step, times: usize) -> String {
    let company = 1_000_000 + test_support::new_company();
    Side::Left.fill(&service.pool, company).await;
    for _ in 0..times {
        perform(service, (Side::Left, company), step, &mut Vec::new()).await;
    }
    normalized(&rows_of(&service.pool, company).await)
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
