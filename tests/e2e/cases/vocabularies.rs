//! Vocabularies: default names and custom names.

use serde_json::{Value, json};
use sqlx::AssertSqlSafe;
use test_support::{TestService, new_company};

use super::ask_over_grpc;

/// Returns the vocabularies. All layers must agree.
async fn vocabularies(service: &TestService, company: i64) -> Value {
    let responses = [
        service.rest(company).get("/vocabularies").await.text,
        service.rest_remote(company).get("/vocabularies").await.text,
        ask_over_grpc(&service.grpc(company).await, "GET", "/vocabularies", None).await.unwrap(),
    ];
    assert!(responses.iter().all(|response| *response == responses[0]), "{responses:?}");
    serde_json::from_str(&responses[0]).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn vocabularies_include_default_and_custom_names() {
    let service = TestService::start().await;
    let company = new_company();
    for (id, vocabulary, name, parent) in
        [(1000, 1, "Parked", None), (1001, 7, "Tax", None), (1002, 8, "evasion", Some(1001))]
    {
        let add =
            "insert into vocabulary_entries (company_id, id, vocabulary, name, parent_id) values ($1, $2, $3, $4, $5)";
        let add = sqlx::query(add).bind(company).bind(id).bind(vocabulary as i16).bind(name).bind(parent);
        add.execute(&service.pool).await.unwrap();
    }
    let found = vocabularies(&service, company).await;
    assert_eq!((&found["code"], &found["detail"]), (&json!("1026"), &json!({"msg": "Vocabularies found"})));
    let kinds: Vec<&str> =
        found["data"].as_array().unwrap().iter().map(|names| names["vocabulary"].as_str().unwrap()).collect();
    let expected = [
        "case_status",
        "case_sub_status",
        "notice_status",
        "risk_level",
        "url_incident_status",
        "transcription_status",
        "infraction_type",
        "infraction_name",
        "incident_type",
    ];
    assert_eq!(kinds, expected);
    let entries = |kind: usize| found["data"][kind]["entries"].as_array().unwrap();
    let own = json!({"id": 1000, "name": "Parked", "infraction_type": null, "own": "yes"});
    assert_eq!((entries(0).len(), entries(0).last()), (10, Some(&own)));
    assert_eq!(entries(0)[0], json!({"id": 1, "name": "New", "infraction_type": null, "own": "no"}));
    assert_eq!(entries(7)[7], json!({"id": 8, "name": "weight loss", "infraction_type": "Health Claim", "own": "no"}));
    assert_eq!(
        entries(7).last(),
        Some(&json!({"id": 1002, "name": "evasion", "infraction_type": "Tax", "own": "yes"}))
    );
    // Other companies see only the default names.
    let other = vocabularies(&service, new_company()).await;
    assert!(!other.to_string().contains(r#""own":"yes""#));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn vocabulary_ids_work_as_filters() {
    let service = TestService::start().await;
    let company = new_company();
    let found = vocabularies(&service, company).await;
    let id_of = |kind: &str, name: &str| {
        let kind = found["data"].as_array().unwrap().iter().find(|names| names["vocabulary"] == kind).unwrap();
        kind["entries"].as_array().unwrap().iter().find(|entry| entry["name"] == name).unwrap()["id"].clone()
    };
    let (url_status, case_status) = (id_of("url_incident_status", "In Violation"), id_of("case_status", "Blocked"));
    for statement in [
        format!(
            "insert into affiliates (company_id, id, client_affiliate_id, affiliate_name) values ({company}, 1, 'A', 'A')"
        ),
        format!(
            "insert into compliance_urls (company_id, id, url, url_hash, incident_status_id) select {company}, n, 'https://a.example/' || n, sha256(n::text::bytea), n from generate_series(1, 6) n"
        ),
        format!(
            "insert into compliance_cases (company_id, id, affiliate_id, case_status_id) select {company}, n, 1, n from generate_series(1, 9) n"
        ),
    ] {
        sqlx::query(AssertSqlSafe(statement)).execute(&service.pool).await.unwrap();
    }
    let rest = service.rest(company);
    let urls = rest.get(&format!("/urls?incident_status_id={url_status}")).await.with_status(200);
    assert_eq!((&urls["meta"]["total"], &urls["data"][0]["incident_status"]), (&json!(1), &json!("In Violation")));
    let cases = rest.get(&format!("/cases?case_status_id={case_status}")).await.with_status(200);
    assert_eq!((&cases["meta"]["total"], &cases["data"][0]["case_status"]), (&json!(1), &json!("Blocked")));
}
