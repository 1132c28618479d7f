//! Tests case and URL etags, and request IDs reused with different content.

use std::collections::BTreeSet;

use compliance_api::v1::{
    AttachIncidentsRequest, BatchOpenCasesRequest, CaseInput, CloseCaseRequest, DetachIncidentsRequest, IncidentKey,
    OpenCaseRequest, RecordInfractionsRequest, ReopenCaseRequest, ResolveCaseRequest, ResultCode, ReviewUrlRequest,
    UpdateCaseRequest, UrlInfraction, UrlObservation, UrlReview, WithdrawInfractionsRequest,
};
use futures::future::join_all;
use test_support::{GrpcClients, TestCore, reason_of};
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

use super::builders::{form_incident, infraction, observation, opening, some, url_incident, violations};

fn worker(id: i64, worker: &str, etag: &str) -> UpdateCaseRequest {
    let case = Some(CaseInput { case_worker: some(worker), ..CaseInput::default() });
    UpdateCaseRequest { id, case, update_mask: None, etag: etag.to_owned() }
}

/// Updates a case and returns its new etag.
async fn update(company: &mut GrpcClients, request: UpdateCaseRequest) -> Result<String, Status> {
    Ok(company.monitoring.update_case(request).await?.into_inner().etag)
}

fn assert_changed(refused: &Status, id: i64, etag: &str) {
    assert_eq!((refused.code(), reason_of(refused).as_str()), (Code::Aborted, "ETAG_MISMATCH"));
    let details = refused.get_error_details();
    let metadata = &details.error_info().unwrap().metadata;
    assert_eq!((metadata["case_id"].as_str(), metadata["etag"].as_str()), (id.to_string().as_str(), etag));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn case_changes_require_the_current_etag() {
    let core = TestCore::start().await;
    let mut company = core.company(1);
    company.affiliate("A").await;
    let id = company.open(opening("r")).await;
    let first = company.case(id).await.etag;
    let second = update(&mut company, worker(id, "Ann", &first)).await.unwrap();
    assert_eq!(company.case(id).await.etag, second);
    assert_changed(&update(&mut company, worker(id, "Bob", &first)).await.unwrap_err(), id, &second);
    // An update without changes also needs the current etag.
    assert_changed(&update(&mut company, worker(id, "Ann", &first)).await.unwrap_err(), id, &second);
    assert_eq!(update(&mut company, worker(id, "Ann", &second)).await.unwrap(), second);

    let resolve = |etag: &str| ResolveCaseRequest { id, resolved_date: None, etag: etag.to_owned() };
    assert_changed(&company.monitoring.resolve_case(resolve(&first)).await.unwrap_err(), id, &second);
    let third = company.monitoring.resolve_case(resolve(&second)).await.unwrap().into_inner().etag;
    let close = |etag: &str| CloseCaseRequest { id, etag: etag.to_owned(), ..CloseCaseRequest::default() };
    assert_changed(&company.monitoring.close_case(close(&second)).await.unwrap_err(), id, &third);
    let fourth = company.monitoring.close_case(close(&third)).await.unwrap().into_inner().etag;
    let reopen = |etag: &str| ReopenCaseRequest { id, case_status: None, etag: etag.to_owned() };
    assert_changed(&company.monitoring.reopen_case(reopen(&third)).await.unwrap_err(), id, &fourth);
    let fifth = company.monitoring.reopen_case(reopen(&fourth)).await.unwrap().into_inner().etag;
    assert_eq!(company.case(id).await.etag, fifth);
    assert_eq!(company.case(id).await.case_worker.as_deref(), Some("Ann"));

    let unknown = update(&mut company, worker(id + 1000, "Ann", &first)).await.unwrap_err();
    assert_eq!(unknown.code(), Code::NotFound);
    let foreign = update(&mut core.company(2), worker(id, "Ann", &fifth)).await.unwrap_err();
    assert_eq!(foreign.code(), Code::NotFound);
}

fn review(id: i64, review: UrlReview, etag: &str) -> ReviewUrlRequest {
    ReviewUrlRequest { id, review: Some(review), update_mask: None, etag: etag.to_owned() }
}

fn note(text: &str) -> UrlReview {
    UrlReview { note: some(text), ..UrlReview::default() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reviews_with_stale_etags_are_rejected() {
    let core = TestCore::start().await;
    let mut company = core.company(1);
    let id = company.observe_one(observation("https://example.org/")).await;
    let first = company.url(id).await.etag;
    let second = company.monitoring.review_url(review(id, note("a"), &first)).await.unwrap().into_inner().etag;
    assert_eq!(company.url(id).await.etag, second);
    let infractions = UrlReview { infractions: vec![infraction("Trademark", "brand bidding")], ..UrlReview::default() };
    for stale in [note("b"), note("a"), infractions.clone(), UrlReview::default()] {
        let refused = company.monitoring.review_url(review(id, stale, &first)).await.unwrap_err();
        assert_eq!((refused.code(), reason_of(&refused).as_str()), (Code::Aborted, "ETAG_MISMATCH"));
        let details = refused.get_error_details();
        let metadata = &details.error_info().unwrap().metadata;
        assert_eq!((&metadata["url_id"], &metadata["etag"]), (&id.to_string(), &second));
    }
    let unchanged = company.url(id).await;
    assert_eq!((unchanged.note.as_deref(), unchanged.infractions.len()), (Some("a"), 0));
    // One matching etag is enough. A review without changes keeps the etag.
    let several = format!("7000, {second}");
    let third = company.monitoring.review_url(review(id, infractions, &several)).await.unwrap().into_inner().etag;
    let nothing = company.monitoring.review_url(review(id, UrlReview::default(), &third)).await.unwrap().into_inner();
    assert_eq!((&nothing.etag, &company.url(id).await.etag), (&third, &third));
    let unknown = company.monitoring.review_url(review(id + 1000, note("b"), &third)).await.unwrap_err();
    assert_eq!(unknown.code(), Code::NotFound);
    let foreign = core.company(2).monitoring.review_url(review(id, note("b"), &third)).await.unwrap_err();
    assert_eq!(foreign.code(), Code::NotFound);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_url_change_updates_its_etag() {
    let core = TestCore::start().await;
    let mut company = core.company(1);
    company.affiliate("A").await;
    let text = "https://example.org/";
    let id = company.observe_one(observation(text)).await;
    let mut seen = BTreeSet::from([company.url(id).await.etag]);
    let noted = UrlObservation { note: some("note"), ..observation(text) };
    let found = infraction("Trademark", "brand bidding");
    let with_infraction = UrlObservation { infractions: vec![found.clone()], ..observation(text) };
    let both = UrlObservation {
        note: some("both"),
        infractions: vec![infraction("Health Claim", "mental health")],
        ..observation(text)
    };
    for (observed, name) in [(noted, "noted"), (with_infraction, "infraction"), (both, "both")] {
        company.observe_one(observed.clone()).await;
        assert!(seen.insert(company.url(id).await.etag), "{name}");
        company.observe_one(observed).await;
        assert!(!seen.insert(company.url(id).await.etag), "{name}: nothing changed");
    }
    let item =
        UrlInfraction { url_id: Some(id), url: None, infraction: Some(infraction("Trademark", "domain misuse")) };
    let other = UrlInfraction { infraction: Some(found), ..item.clone() };
    let infractions = vec![item.clone(), item, other];
    let withdraw = WithdrawInfractionsRequest { infractions: infractions.clone() };
    company.monitoring.withdraw_infractions(withdraw.clone()).await.unwrap();
    assert!(seen.insert(company.url(id).await.etag), "withdrawn");
    company.monitoring.withdraw_infractions(withdraw).await.unwrap();
    assert!(!seen.insert(company.url(id).await.etag), "nothing withdrawn");
    let record = RecordInfractionsRequest { infractions };
    company.monitoring.record_infractions(record.clone()).await.unwrap();
    assert!(seen.insert(company.url(id).await.etag), "recorded");
    company.monitoring.record_infractions(record).await.unwrap();
    assert!(!seen.insert(company.url(id).await.etag), "nothing recorded");
    let case_id = company.open(opening("r")).await;
    let attach = AttachIncidentsRequest { id: case_id, incidents: vec![url_incident(text)] };
    company.monitoring.attach_incidents(attach).await.unwrap();
    assert!(seen.insert(company.url(id).await.etag), "attached to a case");
    sqlx::raw_sql("update compliance_urls set note = 'by hand'").execute(&core.pool).await.unwrap();
    assert!(seen.insert(company.url(id).await.etag), "by hand");
    sqlx::raw_sql("update affiliates set city = 'Bern'").execute(&core.pool).await.unwrap();
    assert!(!seen.insert(company.url(id).await.etag), "affiliate changed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_one_concurrent_change_per_etag_succeeds() {
    let core = TestCore::start().await;
    let mut company = core.company(1);
    company.affiliate("A").await;
    let id = company.open(opening("r")).await;
    for round in 0..20 {
        let etag = company.case(id).await.etag;
        let writers = (0..2).map(|writer| {
            let (mut company, etag) = (core.company(1), etag.clone());
            async move { update(&mut company, worker(id, &format!("{round} {writer}"), &etag)).await.is_ok() }
        });
        let won = join_all(writers).await;
        assert_eq!(won.iter().filter(|won| **won).count(), 1, "round {round}");
        let winner = won.iter().position(|won| *won).unwrap();
        assert_eq!(company.case(id).await.case_worker, Some(format!("{round} {winner}")));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_case_change_updates_its_etag() {
    let core = TestCore::start().await;
    let mut company = core.company(1);
    company.affiliate("A").await;
    let id = company.open(opening("r")).await;
    let mut seen = BTreeSet::from([company.case(id).await.etag]);
    let attach = AttachIncidentsRequest { id, incidents: vec![form_incident("form")] };
    company.monitoring.attach_incidents(attach.clone()).await.unwrap();
    assert!(seen.insert(company.case(id).await.etag), "attached");
    company.monitoring.attach_incidents(attach).await.unwrap();
    assert!(!seen.insert(company.case(id).await.etag), "nothing changed");
    let incident_id = Some(company.case(id).await.incidents[0].incident_id);
    let incidents = vec![IncidentKey { incident_id, ..IncidentKey::default() }];
    company.monitoring.detach_incidents(DetachIncidentsRequest { id, incidents }).await.unwrap();
    assert!(seen.insert(company.case(id).await.etag), "detached");
    sqlx::raw_sql("update compliance_cases set case_worker = 'by hand'").execute(&core.pool).await.unwrap();
    assert!(seen.insert(company.case(id).await.etag), "by hand");
    sqlx::raw_sql("update affiliates set city = 'Bern'").execute(&core.pool).await.unwrap();
    assert!(!seen.insert(company.case(id).await.etag), "affiliate changed");
}

/// Returns a request with several fields and incidents.
fn full() -> OpenCaseRequest {
    let case = opening("r").case.map(|case| CaseInput {
        case_worker: some("Ann"),
        tags: vec!["a".into()],
        case_country: some("CH"),
        ..case
    });
    OpenCaseRequest { case, incidents: vec![form_incident("1"), form_incident("2")], ..opening("r") }
}

fn with(change: impl Fn(&mut CaseInput)) -> OpenCaseRequest {
    let mut request = full();
    change(request.case.as_mut().unwrap());
    request
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reused_request_ids_with_different_content_are_rejected() {
    let core = TestCore::start().await;
    let mut company = core.company(1);
    company.affiliate("A").await;
    let id = company.open(full()).await;
    // The core compares the content with the original request, even if the case has changed since.
    update(&mut company, worker(id, "Bob", "")).await.unwrap();
    let attach = AttachIncidentsRequest { id, incidents: vec![form_incident("3")] };
    company.monitoring.attach_incidents(attach).await.unwrap();
    let again = company.monitoring.open_case(full()).await.unwrap().into_inner();
    assert_eq!((again.case_id, again.created), (id, false));
    let empty_is_absent = with(|case| case.submitter = some(""));
    assert_eq!(company.open(empty_is_absent).await, id);

    for (other, fields) in [
        (with(|case| case.case_worker = some("Bob")), "case.case_worker"),
        (with(|case| case.case_worker = None), "case.case_worker"),
        (with(|case| case.tags.push("b".into())), "case.tags"),
        (OpenCaseRequest { incidents: vec![form_incident("1")], ..full() }, "incidents"),
        (OpenCaseRequest { dates_as_given: Some(true), ..full() }, "dates_as_given"),
        (OpenCaseRequest { incidents: vec![], ..with(|case| case.submitter = some("S")) }, "case.submitter,incidents"),
    ] {
        let refused = company.monitoring.open_case(other).await.unwrap_err();
        assert_eq!((refused.code(), reason_of(&refused).as_str()), (Code::AlreadyExists, "REQUEST_ID_REUSED"));
        let details = refused.get_error_details();
        let metadata = &details.error_info().unwrap().metadata;
        assert_eq!((metadata["case_id"].as_str(), metadata["fields"].as_str()), (id.to_string().as_str(), fields));
    }
    assert_eq!(company.case(id).await.case_worker.as_deref(), Some("Bob"));
    // Other companies can use the same request ID.
    let mut other = core.company(2);
    other.affiliate("A").await;
    assert_ne!(other.open(opening("r")).await, id);
    // Cases from an earlier release have no stored content to compare.
    sqlx::raw_sql("update compliance_cases set opened_with = null").execute(&core.pool).await.unwrap();
    assert_eq!(company.open(with(|case| case.case_worker = some("Cem"))).await, id);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conflicting_items_do_not_fail_the_batch() {
    let core = TestCore::start().await;
    let mut company = core.company(1);
    company.affiliate("A").await;
    let id = company.open(opening("old")).await;
    let worker = |request: OpenCaseRequest| {
        let case = request.case.map(|case| CaseInput { case_worker: some("Ann"), ..case });
        OpenCaseRequest { case, ..request }
    };
    let cases = vec![opening("new"), worker(opening("old")), opening("old"), worker(opening("new")), opening("new")];
    let request = BatchOpenCasesRequest { cases };
    let results = company.monitoring.batch_open_cases(request).await.unwrap().into_inner().results;
    let new = results[0].case_id;
    let shown: Vec<_> = results.iter().map(|result| (result.code(), result.case_id, result.created)).collect();
    assert_eq!(
        shown,
        [
            (ResultCode::Saved, new, true),
            (ResultCode::Duplicate, Some(id), false),
            (ResultCode::Saved, Some(id), false),
            (ResultCode::Duplicate, new, false),
            (ResultCode::Saved, new, false),
        ]
    );
    let message = "The case.case_worker field differs from the value set when the case was opened. Update that case, or \
                   use a different request_id.";
    assert_eq!(violations(&results[1].violations), [("case.case_worker", message)]);
    assert_eq!(results[1].msg, "This request_id has already opened a case with other content.");
}
