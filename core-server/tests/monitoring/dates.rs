//! Tests the dates that case changes set.

use compliance_api::v1::{
    AttachIncidentsRequest, CaseInput, CloseCaseRequest, ComplianceCase, OpenCaseRequest, ReopenCaseRequest,
    ResolveCaseRequest, UpdateCaseRequest,
};
use prost_types::{FieldMask, Timestamp};
use tonic::Code;

use test_support::{GrpcClients, TestCore};

use super::builders::{at, form_incident, opening, some, text};

const LONG_AGO: &str = "2020-01-01 00:00:00";

/// Moves all cases' dates back by a day, to tell new dates from old ones.
async fn age(service: &TestCore) {
    sqlx::query(
        "update compliance_cases set created_date = created_date - interval '1 day',
            last_updated_date = last_updated_date - interval '1 day', reviewed_date = reviewed_date - interval '1 day',
            resolved_date = resolved_date - interval '1 day', closed_date = closed_date - interval '1 day',
            first_action_date = first_action_date - interval '1 day', flagged_date = flagged_date - interval '1 day'",
    )
    .execute(&service.pool)
    .await
    .unwrap();
}

/// Returns the state of each date: `+` just set, `-` set before, `.` not set.
///
/// The order is first action, reviewed, flagged, resolved, closed, updated.
fn dates(case: &ComplianceCase) -> String {
    let sign = |date: &Option<Timestamp>| match date {
        None => '.',
        Some(date) if test_support::now() - date.seconds < 3600 => '+',
        Some(_) => '-',
    };
    let dates = [
        &case.first_action_date,
        &case.reviewed_date,
        &case.flagged_date,
        &case.resolved_date,
        &case.closed_date,
        &case.last_updated_date,
    ];
    dates.into_iter().map(sign).collect()
}

async fn change(company: &mut GrpcClients, id: i64, case: CaseInput) -> String {
    let request = UpdateCaseRequest { id, case: Some(case), update_mask: None, etag: String::new() };
    company.monitoring.update_case(request).await.unwrap();
    dates(&company.case(id).await)
}

fn status(name: &str) -> CaseInput {
    CaseInput { case_status: some(name), ..CaseInput::default() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn case_changes_set_each_date_once() {
    let service = TestCore::start().await;
    let mut company = service.company(1);
    company.affiliate("A").await;
    let input = CaseInput::default;
    let steps: [(CaseInput, &str); 11] = [
        (CaseInput { submitter: some("x"), ..input() }, ".....+"),
        (CaseInput { case_worker: some("x"), ..input() }, "+....+"),
        (CaseInput { notice_status: some("Sent"), ..input() }, "+....+"),
        (CaseInput { sub_status: some("Escalated"), ..input() }, ".+...+"),
        (CaseInput { risk_level: some("Medium"), ..input() }, ".....+"),
        (CaseInput { risk_level: some("Critical"), ..input() }, "..+..+"),
        (status("Open"), "+....+"),
        (status("In Progress"), "++...+"),
        (status("Resolved"), "++.+.+"),
        (status("Closed"), "++..++"),
        (status("Duplicate"), "++..++"),
    ];
    for (number, (step, expected)) in steps.into_iter().enumerate() {
        let id = company.open(opening(&format!("r-{number}"))).await;
        age(&service).await;
        assert_eq!(change(&mut company, id, step.clone()).await, expected, "{step:?}");
        // A date that is already set does not change.
        age(&service).await;
        let again = change(&mut company, id, step.clone()).await;
        assert_eq!(again, expected.replace('+', "-"), "{step:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn status_changes_set_and_clear_dates() {
    let service = TestCore::start().await;
    let mut company = service.company(1);
    company.affiliate("A").await;
    let id = company.open(opening("r")).await;
    for (name, expected) in [
        ("Open", "+....+"),
        ("Resolved", "-+.+.+"),
        ("Closed", "--.-++"),
        ("Rejected", "--.--+"),
        ("Resolved", "--.+.+"),
        ("In Progress", "--...+"),
        ("Invalid", "--..++"),
        ("New", "--...+"),
        ("Blocked", "--...+"),
    ] {
        age(&service).await;
        assert_eq!(change(&mut company, id, status(name)).await, expected, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn inapplicable_transitions_change_nothing() {
    let service = TestCore::start().await;
    let mut company = service.company(1);
    company.affiliate("A").await;
    let case_id = company.open(opening("r")).await;
    let monitoring = &mut company.monitoring.clone();
    let reopen = |name: Option<&str>| ReopenCaseRequest {
        id: case_id,
        case_status: name.map(str::to_owned),
        etag: String::new(),
    };
    assert!(!monitoring.reopen_case(reopen(None)).await.unwrap().into_inner().changed);
    let resolve = ResolveCaseRequest { id: case_id, resolved_date: Some(at(LONG_AGO)), etag: String::new() };
    assert!(monitoring.resolve_case(resolve).await.unwrap().into_inner().changed);
    let resolved = company.case(case_id).await;
    assert_eq!(resolved.case_status.as_deref(), Some("Resolved"));
    assert_eq!(text(resolved.resolved_date.as_ref()).as_deref(), Some(LONG_AGO));
    let again = ResolveCaseRequest { id: case_id, resolved_date: None, etag: String::new() };
    assert!(!monitoring.resolve_case(again).await.unwrap().into_inner().changed);
    assert_eq!(company.case(case_id).await, resolved);

    let close = |name: Option<&str>| CloseCaseRequest {
        id: case_id,
        case_status: name.map(str::to_owned),
        closed_date: None,
        etag: String::new(),
    };
    assert!(monitoring.close_case(close(Some("Rejected"))).await.unwrap().into_inner().changed);
    let closed = company.case(case_id).await;
    assert_eq!((closed.case_status.as_deref(), dates(&closed).as_str()), (Some("Rejected"), "++.-++"));
    assert!(!monitoring.close_case(close(None)).await.unwrap().into_inner().changed);
    assert!(!monitoring.close_case(close(Some("Rejected"))).await.unwrap().into_inner().changed);
    assert!(monitoring.close_case(close(Some("Duplicate"))).await.unwrap().into_inner().changed);

    assert!(monitoring.reopen_case(reopen(Some("In Progress"))).await.unwrap().into_inner().changed);
    let reopened = company.case(case_id).await;
    assert_eq!((reopened.case_status.as_deref(), dates(&reopened).as_str()), (Some("In Progress"), "++...+"));
    assert!(!monitoring.reopen_case(reopen(None)).await.unwrap().into_inner().changed);

    for wrong in ["Closed", "?"] {
        let status = monitoring.reopen_case(reopen(Some(wrong))).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument, "{wrong}");
    }
    let status = monitoring.close_case(close(Some("Resolved"))).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    let unknown = ResolveCaseRequest { id: case_id + 1000, resolved_date: None, etag: String::new() };
    assert_eq!(monitoring.resolve_case(unknown).await.unwrap_err().code(), Code::NotFound);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn opening_a_case_sets_its_dates() {
    let service = TestCore::start().await;
    let mut company = service.company(1);
    company.affiliate("A").await;
    let case = |name: &str| CaseInput { client_affiliate_id: some("A"), ..status(name) };
    for (number, (case, as_given, expected)) in [
        (case("New"), None, ".....+"),
        (case("Open"), None, "+....+"),
        (case("Blocked"), None, "++...+"),
        (case("Resolved"), None, "++.+.+"),
        (case("Invalid"), None, "++..++"),
        (CaseInput { risk_level: some("High"), case_worker: some("x"), ..case("New") }, None, "+.+..+"),
        (CaseInput { closed_date: Some(at(LONG_AGO)), ..case("Closed") }, None, "++..-+"),
        (CaseInput { closed_date: Some(at(LONG_AGO)), ..case("Closed") }, Some(true), "....-."),
        (CaseInput { risk_level: some("High"), ..case("Resolved") }, Some(true), "......"),
    ]
    .into_iter()
    .enumerate()
    {
        let request = OpenCaseRequest {
            case: Some(case),
            dates_as_given: as_given,
            incidents: vec![form_incident("f")],
            ..opening(&format!("r-{number}"))
        };
        let id = company.open(request.clone()).await;
        let read = company.case(id).await;
        assert_eq!(dates(&read), expected, "{request:?}");
        assert!(read.created_date.is_some());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn explicit_dates_are_kept() {
    let service = TestCore::start().await;
    let mut company = service.company(1);
    company.affiliate("A").await;
    let id = company.open(opening("r")).await;
    // Two dates are given, and a third is in the mask but absent. All three end up as requested.
    let case =
        CaseInput { last_updated_date: Some(at(LONG_AGO)), reviewed_date: Some(at(LONG_AGO)), ..status("Resolved") };
    let paths = ["case_status", "last_updated_date", "reviewed_date", "resolved_date"].map(str::to_owned).to_vec();
    let request =
        UpdateCaseRequest { id, case: Some(case), update_mask: Some(FieldMask { paths }), etag: String::new() };
    assert!(company.monitoring.update_case(request.clone()).await.unwrap().into_inner().changed);
    assert_eq!(dates(&company.case(id).await), "+-...-");
    assert!(!company.monitoring.update_case(request).await.unwrap().into_inner().changed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attaching_an_incident_sets_first_action_date() {
    let service = TestCore::start().await;
    let mut company = service.company(1);
    company.affiliate("A").await;
    let case_id = company.open(opening("r")).await;
    age(&service).await;
    assert_eq!(dates(&company.case(case_id).await), ".....-");
    let request = AttachIncidentsRequest { id: case_id, incidents: vec![form_incident("f")] };
    company.monitoring.attach_incidents(request.clone()).await.unwrap();
    assert_eq!(dates(&company.case(case_id).await), "+....+");
    age(&service).await;
    company.monitoring.attach_incidents(request).await.unwrap();
    assert_eq!(dates(&company.case(case_id).await), "-....-");
}
