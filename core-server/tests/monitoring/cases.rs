//! Tests opening and updating cases.

use compliance_api::v1::{
    BatchOpenCasesRequest, CaseInput, CaseResult, ComplianceCase, Incident, IncidentType, OpenCaseRequest,
    UpdateCaseRequest,
};
use prost_types::FieldMask;
use tonic::Code;

use test_support::{GrpcClients, TestCore, now};

use super::builders::{at, form_incident, observation, opening, some, url_incident, violations};

fn full() -> OpenCaseRequest {
    OpenCaseRequest {
        request_id: some("r-1"),
        case: Some(CaseInput {
            client_affiliate_id: some("A"),
            affiliate_id: None,
            case_worker: some("Ann"),
            tags: vec!["b".into(), "a \"quoted\", {odd}".into()],
            case_status: some("Resolved"),
            sub_status: some("Escalated"),
            submitter: some("Bob"),
            notice_status: some("Sent"),
            risk_level: some("High"),
            case_country: some("US"),
            sub_affiliate_id: some("sub-9"),
            created_date: Some(at("2024-01-01 00:00:00")),
            reviewed_date: Some(at("2024-01-02 00:00:00")),
            resolved_date: Some(at("2024-01-03 00:00:00")),
            first_action_date: Some(at("2024-01-04 00:00:00")),
            flagged_date: Some(at("2024-01-05 00:00:00")),
            follow_up_date: Some(at("2024-01-06 00:00:00")),
            closed_date: Some(at("2024-01-07 00:00:00")),
            last_updated_date: Some(at("2024-01-08 00:00:00")),
            note: some("a note"),
        }),
        incidents: vec![
            url_incident("https://example.org/"),
            compliance_api::v1::IncidentInput {
                incident_type: IncidentType::PaidSearchAd.into(),
                reference: some("ad 7"),
                infraction_type: some("Trademark"),
                infraction_name: some("brand bidding"),
                ..Default::default()
            },
            form_incident("form 1"),
        ],
        dates_as_given: None,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn opened_cases_keep_every_field() {
    fields_are_read_as_opened(&TestCore::start().await).await;
}

/// Opens a case with every field and reads it back.
pub(super) async fn fields_are_read_as_opened(service: &TestCore) {
    let mut company = service.company(1);
    company.affiliate("A").await;
    let url = company.observe_one(observation("https://example.org/")).await;
    let id = company.open(full()).await;
    let read = company.case(id).await;
    let content = |index| match index {
        0 => (Some(url), some("https://example.org/"), None),
        1 => (None, None, some("ad 7")),
        _ => (None, None, some("form 1")),
    };
    let incident = |index: usize, kind: IncidentType, of: Option<(&str, &str)>| Incident {
        url_id: content(index).0,
        url: content(index).1,
        reference: content(index).2,
        incident_id: read.incidents[index].incident_id,
        incident_type: kind.into(),
        infraction_type: of.and_then(|(kind, _)| some(kind)),
        infraction_name: of.and_then(|(_, name)| some(name)),
    };
    let expected = ComplianceCase {
        case_id: id,
        case_worker: some("Ann"),
        tags: vec!["b".into(), "a \"quoted\", {odd}".into()],
        case_status: some("Resolved"),
        sub_status: some("Escalated"),
        submitter: some("Bob"),
        notice_status: some("Sent"),
        risk_level: some("High"),
        case_country: some("United States of America"),
        sub_affiliate_id: some("sub-9"),
        created_date: Some(at("2024-01-01 00:00:00")),
        reviewed_date: Some(at("2024-01-02 00:00:00")),
        resolved_date: Some(at("2024-01-03 00:00:00")),
        first_action_date: Some(at("2024-01-04 00:00:00")),
        flagged_date: Some(at("2024-01-05 00:00:00")),
        follow_up_date: Some(at("2024-01-06 00:00:00")),
        closed_date: Some(at("2024-01-07 00:00:00")),
        last_updated_date: Some(at("2024-01-08 00:00:00")),
        affiliate_name: some("A"),
        affiliate_id: some("A"),
        incidents: vec![
            incident(0, IncidentType::Url, None),
            incident(1, IncidentType::PaidSearchAd, Some(("Trademark", "brand bidding"))),
            incident(2, IncidentType::Form, None),
        ],
        etag: read.etag.clone(),
        affiliate_etag: "1".to_owned(),
        distributor_id: read.distributor_id,
        note: some("a note"),
        ..ComplianceCase::default()
    };
    assert_eq!(read, ComplianceCase { case_country: read.case_country.clone(), ..expected });
    assert!(read.case_country.as_deref().is_some_and(|name| name.contains("United States")));
    assert!(read.incidents.is_sorted_by_key(|incident| incident.incident_id));
    assert_eq!(company.url(url).await.case_id, Some(id));

    // A case with only the required fields.
    let id = company.open(opening("r-2")).await;
    let read = company.case(id).await;
    assert!(now() - read.created_date.unwrap().seconds < 60);
    let expected = ComplianceCase {
        case_id: id,
        case_status: some("New"),
        created_date: read.created_date,
        last_updated_date: read.created_date,
        affiliate_name: some("A"),
        affiliate_id: some("A"),
        etag: read.etag.clone(),
        affiliate_etag: "1".to_owned(),
        distributor_id: read.distributor_id,
        ..ComplianceCase::default()
    };
    assert_eq!(read, expected);
}

async fn open_all(company: &mut GrpcClients, cases: Vec<OpenCaseRequest>) -> Vec<CaseResult> {
    company.monitoring.batch_open_cases(BatchOpenCasesRequest { cases }).await.unwrap().into_inner().results
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn repeated_requests_open_one_case() {
    let service = TestCore::start().await;
    let mut company = service.company(1);
    company.affiliate("A").await;
    company.observe_one(observation("https://example.org/")).await;
    let first = company.monitoring.open_case(full()).await.unwrap().into_inner();
    let again = company.monitoring.open_case(full()).await.unwrap().into_inner();
    assert_eq!((first.created, again.created, first.case_id), (true, false, again.case_id));
    assert_eq!(company.case(first.case_id).await.incidents.len(), 3);

    let cases = vec![opening("x"), full(), opening("y"), opening("x")];
    let results = open_all(&mut company, cases.clone()).await;
    assert_eq!(results.iter().map(|result| result.created).collect::<Vec<_>>(), [true, false, true, false]);
    assert_eq!((results[0].case_id, results[1].case_id), (results[3].case_id, Some(first.case_id)));
    let again = open_all(&mut company, cases).await;
    assert!(again.iter().zip(&results).all(|(again, first)| again.case_id == first.case_id && !again.created));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_cases_do_not_fail_the_batch() {
    let service = TestCore::start().await;
    let mut company = service.company(1);
    company.affiliate("A").await;
    company.observe_one(observation("https://example.org/")).await;
    let with = |request_id: &str, case: CaseInput| OpenCaseRequest { case: Some(case), ..opening(request_id) };
    let a = || CaseInput { client_affiliate_id: some("A"), ..CaseInput::default() };
    let incidents = vec![
        url_incident("https://example.org"),
        url_incident("https://unknown.example/"),
        compliance_api::v1::IncidentInput { url: None, url_id: Some(99_999), ..url_incident("") },
    ];
    let wrong = vec![
        url_incident(""),
        form_incident(""),
        compliance_api::v1::IncidentInput { reference: some("x"), ..url_incident("https://example.org/") },
        compliance_api::v1::IncidentInput::default(),
        compliance_api::v1::IncidentInput { infraction_name: some("weight loss"), ..form_incident("f") },
    ];
    let results = open_all(
        &mut company,
        vec![
            opening("good"),
            opening(""),
            with("no affiliate", CaseInput::default()),
            with("unknown affiliate", CaseInput { client_affiliate_id: some("nobody"), ..CaseInput::default() }),
            with("names", CaseInput { risk_level: some("huge"), case_country: some("QQ"), ..a() }),
            OpenCaseRequest { incidents, ..opening("unknown urls") },
            OpenCaseRequest { incidents: wrong, ..opening("wrong incidents") },
            OpenCaseRequest { case: None, ..opening("no case") },
            with("tags", CaseInput { tags: vec![String::new()], ..a() }),
            opening("good, too"),
        ],
    )
    .await;
    let codes: Vec<i32> = results.iter().map(|result| result.code).collect();
    assert_eq!(codes, [1020, 1021, 1021, 1025, 1021, 1025, 1021, 1021, 1021, 1020]);
    let paths =
        |index: usize| violations(&results[index].violations).into_iter().map(|(path, _)| path).collect::<Vec<_>>();
    assert_eq!(paths(1), ["request_id"]);
    assert_eq!(paths(2), ["case.client_affiliate_id"]);
    assert_eq!(paths(3), ["case.client_affiliate_id"]);
    assert_eq!(paths(4), ["case.case_country", "case.risk_level"]);
    assert_eq!(
        results[4].violations[1].description,
        "The selected case.risk_level is invalid. It must be one of: Low, Medium, High, Critical."
    );
    assert_eq!(paths(5), ["incidents.1.url", "incidents.2.url_id"]);
    assert_eq!(
        paths(6),
        [
            "incidents.3.incident_type",
            "incidents.0.url",
            "incidents.1.reference",
            "incidents.2.reference",
            "incidents.4.infraction_type"
        ]
    );
    assert_eq!(paths(7), ["case"]);
    assert_eq!(paths(8), ["case.tags.0"]);
    let count: i64 = sqlx::query_scalar("select count(*) from incidents").fetch_one(&service.pool).await.unwrap();
    assert_eq!(count, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn open_case_rejects_invalid_cases() {
    let service = TestCore::start().await;
    let mut company = service.company(1);
    company.affiliate("A").await;
    let unknown = OpenCaseRequest { incidents: vec![url_incident("https://unknown.example/")], ..opening("r") };
    let status = company.monitoring.open_case(unknown).await.unwrap_err();
    assert_eq!((status.code(), status.message()), (Code::NotFound, "URL not found."));
    let error = compliance_api::error::Error::from(&status);
    assert_eq!(error.reason, compliance_api::v1::Reason::ReferenceNotFound);
    let status = company.monitoring.open_case(OpenCaseRequest::default()).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    let error = compliance_api::error::Error::from(&status);
    assert!(error.violations.iter().any(|violation| violation.path == "request_id"));
}

fn update(case_id: i64, case: CaseInput, paths: &[&str]) -> UpdateCaseRequest {
    let paths = paths.iter().map(ToString::to_string).collect();
    UpdateCaseRequest { id: case_id, case: Some(case), update_mask: Some(FieldMask { paths }), etag: String::new() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn updates_change_only_masked_fields() {
    let service = TestCore::start().await;
    let mut company = service.company(1);
    company.affiliate("A").await;
    let b = company.affiliate("B").await;
    company.observe_one(observation("https://example.org/")).await;
    let id = company.open(full()).await;
    let before = company.case(id).await;
    let case = CaseInput {
        affiliate_id: Some(b),
        case_worker: some("ignored"),
        tags: vec!["new".into()],
        risk_level: some("Low"),
        follow_up_date: Some(at("2030-01-01 00:00:00")),
        ..CaseInput::default()
    };
    let paths = ["affiliate_id", "tags", "risk_level", "follow_up_date", "submitter", "notice_status", "flagged_date"];
    let response = company.monitoring.update_case(update(id, case, &paths)).await.unwrap().into_inner();
    assert!(response.changed);
    let read = company.case(id).await;
    let expected = ComplianceCase {
        affiliate_name: some("B"),
        affiliate_id: some("B"),
        distributor_id: b,
        tags: vec!["new".into()],
        risk_level: some("Low"),
        follow_up_date: Some(at("2030-01-01 00:00:00")),
        submitter: None,
        notice_status: None,
        flagged_date: None,
        last_updated_date: read.last_updated_date,
        etag: response.etag,
        ..before
    };
    assert_eq!(read, expected);
    assert!(now() - read.last_updated_date.unwrap().seconds < 60);

    // If the mask is absent, the update changes the given fields.
    let case = CaseInput { case_worker: some("Carl"), ..CaseInput::default() };
    let request = UpdateCaseRequest { id, case: Some(case), update_mask: None, etag: String::new() };
    assert!(company.monitoring.update_case(request).await.unwrap().into_inner().changed);
    let worked = company.case(id).await;
    let (last_updated_date, etag) = (worked.last_updated_date, worked.etag.clone());
    assert_eq!(worked, ComplianceCase { case_worker: some("Carl"), last_updated_date, etag, ..expected });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_op_updates_write_nothing() {
    let service = TestCore::start().await;
    let mut company = service.company(1);
    company.affiliate("A").await;
    company.observe_one(observation("https://example.org/")).await;
    let id = company.open(full()).await;
    let before = company.case(id).await;
    let request = UpdateCaseRequest { id, case: full().case, update_mask: None, etag: String::new() };
    assert!(!company.monitoring.update_case(request).await.unwrap().into_inner().changed);
    let nothing = UpdateCaseRequest { id, case: None, update_mask: None, etag: String::new() };
    assert!(!company.monitoring.update_case(nothing).await.unwrap().into_inner().changed);
    assert_eq!(company.case(id).await, before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_updates_change_nothing() {
    let service = TestCore::start().await;
    let mut company = service.company(1);
    company.affiliate("A").await;
    let id = company.open(opening("r")).await;
    let before = company.case(id).await;
    let none = CaseInput::default;
    let bad = [
        (update(id, none(), &["case_status"]), Code::InvalidArgument),
        (update(id, none(), &["created_date"]), Code::InvalidArgument),
        (update(id, none(), &["client_affiliate_id"]), Code::InvalidArgument),
        (update(id, none(), &["colour"]), Code::InvalidArgument),
        (update(id, CaseInput { tags: vec![String::new()], ..none() }, &["tags"]), Code::InvalidArgument),
        (update(id, CaseInput { tags: vec!["x".into(); 101], ..none() }, &["tags"]), Code::InvalidArgument),
        (update(id, CaseInput { sub_status: some("?"), ..none() }, &["sub_status"]), Code::InvalidArgument),
        (
            update(
                id,
                CaseInput { affiliate_id: Some(9999), case_worker: some("x"), ..none() },
                &["affiliate_id", "case_worker"],
            ),
            Code::NotFound,
        ),
        (update(id + 1000, none(), &["case_worker"]), Code::NotFound),
    ];
    for (request, code) in bad {
        let status = company.monitoring.update_case(request.clone()).await.unwrap_err();
        assert_eq!(status.code(), code, "{request:?}");
    }
    assert_eq!(company.case(id).await, before);
    // Fields outside the mask are not validated.
    let case = CaseInput { sub_status: some("?"), case_worker: some("x"), ..none() };
    assert!(company.monitoring.update_case(update(id, case, &["case_worker"])).await.unwrap().into_inner().changed);
}
