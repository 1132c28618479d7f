//! Vocabularies: default names and custom names.

use serde_json::{Value, json};
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
    let service = TestService::shared().await;
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
