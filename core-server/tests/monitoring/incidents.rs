//! Tests attaching and detaching incidents, and the case that a URL shows.

use compliance_api::v1::{
    AttachIncidentsRequest, DetachIncidentsRequest, IncidentInput, IncidentKey, IncidentResult, IncidentType,
    OpenCaseRequest,
};
use tonic::Code;

use test_support::{GrpcClients, TestCore};

use super::builders::{form_incident, observation, opening, some, url_incident, violations};

async fn attach(company: &mut GrpcClients, case_id: i64, incidents: Vec<IncidentInput>) -> Vec<IncidentResult> {
    let request = AttachIncidentsRequest { id: case_id, incidents };
    company.monitoring.attach_incidents(request).await.unwrap().into_inner().results
}

async fn detach(company: &mut GrpcClients, case_id: i64, incidents: Vec<IncidentKey>) -> Vec<IncidentResult> {
    let request = DetachIncidentsRequest { id: case_id, incidents };
    company.monitoring.detach_incidents(request).await.unwrap().into_inner().results
}

fn changed(results: &[IncidentResult]) -> Vec<bool> {
    results.iter().map(|result| result.changed).collect()
}

fn other(kind: IncidentType, reference: &str) -> IncidentInput {
    IncidentInput { incident_type: kind.into(), ..form_incident(reference) }
}

fn url_key(url: &str) -> IncidentKey {
    IncidentKey { incident_type: Some(IncidentType::Url.into()), url: some(url), ..IncidentKey::default() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_incident_is_attached_once() {
    let service = TestCore::start().await;
    let mut company = service.company(1);
    company.affiliate("A").await;
    let url_id = company.observe_one(observation("https://example.org/")).await;
    let case = company.open(opening("r")).await;
    let by_id = IncidentInput { url: None, url_id: Some(url_id), ..url_incident("") };
    let incidents = vec![
        other(IncidentType::PaidSearchAd, "x"),
        url_incident("HTTPS://example.org"),
        other(IncidentType::DisplayAd, "x"),
        form_incident("x"),
        by_id,
        form_incident("x"),
    ];
    let results = attach(&mut company, case, incidents.clone()).await;
    assert_eq!(changed(&results), [true, true, true, true, false, false]);
    assert_eq!((results[1].incident_id, results[3].incident_id), (results[4].incident_id, results[5].incident_id));
    let read = company.case(case).await.incidents;
    let kinds: Vec<IncidentType> = read.iter().map(compliance_api::v1::Incident::incident_type).collect();
    assert_eq!(kinds, [IncidentType::PaidSearchAd, IncidentType::Url, IncidentType::DisplayAd, IncidentType::Form]);
    let ids: Vec<Option<i64>> = read.iter().map(|incident| Some(incident.incident_id)).collect();
    assert_eq!(ids, results[..4].iter().map(|result| result.incident_id).collect::<Vec<_>>());
    assert_eq!(company.url(url_id).await.case_id, Some(case));

    let again = attach(&mut company, case, incidents).await;
    assert!(again.iter().zip(&results).all(|(again, first)| !again.changed && again.incident_id == first.incident_id));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attaching_again_replaces_the_infraction() {
    let service = TestCore::start().await;
    let mut company = service.company(1);
    company.affiliate("A").await;
    let case = company.open(opening("r")).await;
    let with = |kind: &str, name: Option<&str>| IncidentInput {
        infraction_type: some(kind),
        infraction_name: name.map(str::to_owned),
        ..form_incident("x")
    };
    attach(&mut company, case, vec![with("Health Claim", Some("weight loss"))]).await;
    assert_eq!(changed(&attach(&mut company, case, vec![form_incident("x")]).await), [false]);
    let read = company.case(case).await.incidents.pop().unwrap();
    assert_eq!(read.infraction_name.as_deref(), Some("weight loss"));
    let results = attach(&mut company, case, vec![with("Recruiting", None), with("Promotion", None)]).await;
    assert_eq!(changed(&results), [true, false]);
    let read = company.case(case).await.incidents.pop().unwrap();
    assert_eq!((read.infraction_type.as_deref(), read.infraction_name), (Some("Promotion"), None));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_incidents_do_not_fail_the_batch() {
    let service = TestCore::start().await;
    let mut company = service.company(1);
    company.affiliate("A").await;
    let case = company.open(opening("r")).await;
    let results = attach(
        &mut company,
        case,
        vec![
            form_incident("good"),
            url_incident("https://unknown.example/"),
            IncidentInput { infraction_type: some("?"), ..form_incident("bad") },
            IncidentInput { url: some("https://example.org/"), ..form_incident("bad") },
            IncidentInput::default(),
        ],
    )
    .await;
    let codes: Vec<i32> = results.iter().map(|result| result.code).collect();
    assert_eq!(codes, [1020, 1025, 1021, 1021, 1021]);
    let paths: Vec<&str> =
        results.iter().flat_map(|result| violations(&result.violations)).map(|(path, _)| path).collect();
    assert_eq!(paths, ["url", "infraction_type", "url", "incident_type"]);
    assert_eq!(company.case(case).await.incidents.len(), 1);

    let keys = vec![
        IncidentKey::default(),
        IncidentKey { incident_type: Some(IncidentType::Form.into()), ..IncidentKey::default() },
        url_key("no url"),
    ];
    let results = detach(&mut company, case, keys).await;
    assert!(results.iter().all(|result| result.code == 1021), "{results:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn urls_show_their_latest_case() {
    let service = TestCore::start().await;
    let mut company = service.company(1);
    company.affiliate("A").await;
    let url = company.observe_one(observation("https://example.org/")).await;
    let incidents = || vec![url_incident("https://example.org/")];
    let first = company.open(OpenCaseRequest { incidents: incidents(), ..opening("r-1") }).await;
    assert_eq!(company.url(url).await.case_id, Some(first));
    let second = company.open(opening("r-2")).await;
    attach(&mut company, second, incidents()).await;
    assert_eq!(company.url(url).await.case_id, Some(second));
    // Attaching the URL to the older case again changes nothing.
    attach(&mut company, first, incidents()).await;
    assert_eq!(company.url(url).await.case_id, Some(second));
    detach(&mut company, second, vec![url_key("https://example.org/")]).await;
    assert_eq!(company.url(url).await.case_id, Some(first));
    detach(&mut company, first, vec![url_key("https://example.org/")]).await;
    assert_eq!(company.url(url).await.case_id, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn incidents_can_be_detached_by_id_or_content() {
    detach_by_id_and_by_content(&TestCore::start().await).await;
}

/// Detaches incidents by ID and by content.
pub(super) async fn detach_by_id_and_by_content(service: &TestCore) {
    let mut company = service.company(1);
    company.affiliate("A").await;
    let url_id = company.observe_one(observation("https://example.org/")).await;
    let incidents = vec![
        url_incident("https://example.org/"),
        form_incident("a"),
        form_incident("b"),
        other(IncidentType::DisplayAd, "a"),
    ];
    let case = company.open(OpenCaseRequest { incidents, ..opening("r") }).await;
    let ids: Vec<i64> = company.case(case).await.incidents.iter().map(|incident| incident.incident_id).collect();
    let keys = || {
        let form = Some(IncidentType::Form.into());
        vec![
            IncidentKey { incident_id: Some(ids[2]), ..IncidentKey::default() },
            IncidentKey { incident_type: form, reference: some("a"), ..IncidentKey::default() },
            IncidentKey { url: None, url_id: Some(url_id), ..url_key("") },
            IncidentKey { incident_type: form, reference: some("never"), ..IncidentKey::default() },
            url_key("https://unknown.example/"),
            IncidentKey { incident_id: Some(ids[1]), ..IncidentKey::default() },
        ]
    };
    let results = detach(&mut company, case, keys()).await;
    assert_eq!(changed(&results), [true, true, true, false, false, false]);
    assert!(results.iter().all(|result| result.code == 1020));
    assert_eq!(results[0].incident_id, Some(ids[2]));
    let left: Vec<i64> = company.case(case).await.incidents.iter().map(|incident| incident.incident_id).collect();
    assert_eq!(left, [ids[3]]);
    assert_eq!(company.url(url_id).await.case_id, None);
    assert_eq!(changed(&detach(&mut company, case, keys()).await), [false; 6]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn full_cases_accept_updates_but_reject_new_incidents() {
    let service = TestCore::start().await;
    let mut company = service.company(1);
    company.affiliate("A").await;
    company.observe_one(observation("https://example.org/")).await;
    let case = company.open(opening("r")).await;
    let insert = "insert into incidents (company_id, case_id, incident_type, reference)
        select 1, $1, 2, n::text from generate_series(1, 9998) n";
    sqlx::query(insert).bind(case).execute(&service.pool).await.unwrap();
    let promotion = IncidentInput { infraction_type: some("Promotion"), ..form_incident("1") };
    let incidents = vec![
        form_incident("9999"),
        url_incident("https://unknown.example/"),
        promotion,
        form_incident("9999"),
        url_incident("https://example.org/"),
        form_incident("10001"),
        form_incident("2"),
        other(IncidentType::DisplayAd, "1"),
        form_incident("10001"),
    ];
    let results = attach(&mut company, case, incidents).await;
    let codes: Vec<i32> = results.iter().map(|result| result.code).collect();
    assert_eq!(codes, [1020, 1025, 1020, 1020, 1020, 1021, 1020, 1021, 1021]);
    assert_eq!(changed(&results), [true, false, true, false, true, false, false, false, false]);
    let full = "A case can have at most 10000 incidents.";
    for refused in [&results[5], &results[7], &results[8]] {
        assert_eq!(violations(&refused.violations), [("reference", full)]);
    }
    assert_eq!(company.case(case).await.incidents.len(), 10_000);
    // Detaching makes room for new incidents.
    let key = IncidentKey { incident_id: results[0].incident_id, ..IncidentKey::default() };
    assert_eq!(changed(&detach(&mut company, case, vec![key]).await), [true]);
    assert_eq!(changed(&attach(&mut company, case, vec![form_incident("10001")]).await), [true]);
    // The core rejects requests with too many items.
    let incidents = (0..10_001).map(|number| form_incident(&number.to_string())).collect();
    let request = OpenCaseRequest { incidents, ..opening("r-2") };
    assert_eq!(company.monitoring.open_case(request).await.unwrap_err().code(), Code::InvalidArgument);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unknown_cases_return_not_found() {
    let service = TestCore::start().await;
    let mut company = service.company(1);
    let attach = AttachIncidentsRequest { id: 5, incidents: vec![form_incident("x")] };
    assert_eq!(company.monitoring.attach_incidents(attach).await.unwrap_err().code(), Code::NotFound);
    let detach = DetachIncidentsRequest { id: 5, incidents: vec![] };
    assert_eq!(company.monitoring.detach_incidents(detach).await.unwrap_err().code(), Code::NotFound);
}
