//! Tests exports, and their import into the same or a different company.

use std::time::Duration;

use compliance_api::v1::{
    AttachIncidentsRequest, BatchOpenCasesRequest, CaseInput, CaseResult, ComplianceCase, ComplianceUrl,
    ExportCasesRequest, ExportUrlsRequest, IncidentInput, Infraction, ListComplianceCasesRequest,
    ListComplianceUrlsRequest, ObserveUrlsRequest, OpenCaseRequest, ResolveCaseRequest, ResultCode, SortDirection,
    UpdateCaseRequest, UrlObservation,
};

use test_support::{GrpcClients, TestCore, new_company};
use tokio::time::sleep;

use super::builders::{form_incident, infraction, observation, opening, some, url_incident, violations};

/// Adds URLs, each with `bytes` bytes of text.
async fn add_urls(core: &TestCore, company: i64, count: i32, bytes: i32) -> Vec<i64> {
    let statement = "insert into compliance_urls (company_id, url, url_hash, domain, transcription_text)
        select $1, 'https://example.org/' || n, sha256(n::text::bytea), 'example.org', repeat('x', $3)
        from generate_series(1, $2) n returning id";
    let query = sqlx::query_scalar(statement).bind(company).bind(count).bind(bytes);
    let mut ids: Vec<i64> = query.fetch_all(&core.pool).await.unwrap();
    ids.sort_unstable();
    ids
}

/// Returns each export page's last ID and record count.
async fn pages(clients: &mut GrpcClients, pause: Duration) -> Vec<(i64, usize)> {
    let mut messages = clients.monitoring.export_urls(ExportUrlsRequest::default()).await.unwrap().into_inner();
    let mut pages = Vec::new();
    while let Some(page) = messages.message().await.unwrap() {
        pages.push((page.last_url_id, page.observations.len()));
        // The reader pauses after the first page, and then after every third page.
        if pages.len() % 3 == 1 {
            sleep(pause).await;
        }
    }
    pages
}

/// The core drops a page that stays unread for half a second and rereads it from the reader's position.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_readers_receive_every_record_once() {
    let core = TestCore::start().await;
    let company = new_company();
    let ids = add_urls(&core, company, 150, 10).await;
    let mut read = 0;
    for (last, records) in pages(&mut core.company(company), Duration::from_millis(1500)).await {
        read += records;
        assert_eq!(last, ids[read - 1], "after {read} records");
    }
    assert_eq!(read, ids.len());
}

/// A page with long texts contains few records, but is not the last page.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exports_with_long_texts_are_complete() {
    let core = TestCore::start().await;
    let company = new_company();
    let ids = add_urls(&core, company, 30, 300_000).await;
    let pages = pages(&mut core.company(company), Duration::ZERO).await;
    assert_eq!(pages.iter().map(|(_, records)| records).sum::<usize>(), ids.len());
    assert_eq!(pages.last().map(|(last, _)| *last), ids.last().copied());
}

async fn urls(company: &mut GrpcClients) -> Vec<UrlObservation> {
    let mut pages = company.monitoring.export_urls(ExportUrlsRequest::default()).await.unwrap().into_inner();
    let mut all = Vec::new();
    while let Some(page) = pages.message().await.unwrap() {
        all.extend(page.observations);
    }
    all
}

async fn cases(company: &mut GrpcClients) -> Vec<OpenCaseRequest> {
    let mut pages = company.monitoring.export_cases(ExportCasesRequest::default()).await.unwrap().into_inner();
    let mut all = Vec::new();
    while let Some(page) = pages.message().await.unwrap() {
        all.extend(page.cases);
    }
    all
}

/// Returns the records as partners read them, without company-specific IDs.
async fn reads(company: &mut GrpcClients) -> (Vec<ComplianceUrl>, Vec<ComplianceCase>) {
    let request =
        ListComplianceUrlsRequest { sort_dir: SortDirection::Asc.into(), per_page: Some(200), ..Default::default() };
    let mut urls = company.urls.list_compliance_urls(request).await.unwrap().into_inner().urls;
    let request =
        ListComplianceCasesRequest { sort_dir: SortDirection::Asc.into(), per_page: Some(200), ..Default::default() };
    let mut cases = company.cases.list_compliance_cases(request).await.unwrap().into_inner().cases;
    let index = |id: i64| cases.iter().position(|case| case.case_id == id).map(|index| index as i64);
    for url in &mut urls {
        url.id = 0;
        url.case_id = url.case_id.and_then(index);
    }
    for case in &mut cases {
        case.case_id = 0;
        case.distributor_id = 0;
        for incident in &mut case.incidents {
            (incident.incident_id, incident.url_id) = (0, incident.url_id.map(|_| 0));
        }
    }
    (urls, cases)
}

async fn open(company: &mut GrpcClients, cases: Vec<OpenCaseRequest>) -> Vec<CaseResult> {
    company.monitoring.batch_open_cases(BatchOpenCasesRequest { cases }).await.unwrap().into_inner().results
}

/// Covers affiliates that share an identifier, cases that changed after they were opened, and a manually inserted case.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reimported_exports_change_nothing() {
    let core = TestCore::start().await;
    let mut company = core.company(1);
    let mut affiliates = Vec::new();
    for _ in 0..3 {
        let insert = "insert into affiliates (company_id, client_affiliate_id, affiliate_name)
            select 1, 'A', 'Name ' || count(*) from affiliates returning id";
        affiliates.push(sqlx::query_scalar::<_, i64>(insert).fetch_one(&core.pool).await.unwrap());
    }
    let observations = (0..6).map(|nth| UrlObservation {
        affiliate_id: affiliates.get(nth % 4).copied(),
        ..observation(&format!("https://example.org/{nth}"))
    });
    let request = ObserveUrlsRequest { observations: observations.collect() };
    company.monitoring.observe_urls(request).await.unwrap();
    let all_open = OpenCaseRequest {
        incidents: vec![url_incident("https://example.org/1"), form_incident("f")],
        ..opening("incidents")
    };
    company.open(all_open).await;
    company.open(opening("defaults")).await;
    let id = company.open(opening("changed")).await;
    let case = Some(CaseInput { case_worker: some("Ann"), tags: vec!["t".into()], ..CaseInput::default() });
    company.monitoring.update_case(UpdateCaseRequest { id, case, ..UpdateCaseRequest::default() }).await.unwrap();
    let resolve = ResolveCaseRequest { id, ..ResolveCaseRequest::default() };
    company.monitoring.resolve_case(resolve).await.unwrap();
    let attach = AttachIncidentsRequest { id, incidents: vec![form_incident("later")] };
    company.monitoring.attach_incidents(attach).await.unwrap();
    let insert =
        "insert into compliance_cases (company_id, affiliate_id, case_worker) values (1, $1, 'by hand') returning id";
    let by_hand: i64 = sqlx::query_scalar(insert).bind(affiliates[1]).fetch_one(&core.pool).await.unwrap();

    let original = reads(&mut company).await;
    let (exported_urls, exported_cases) = (urls(&mut company).await, cases(&mut company).await);
    assert_eq!((exported_urls.len(), exported_cases.len()), (6, 4));
    let request = ObserveUrlsRequest { observations: exported_urls };
    let results = company.monitoring.observe_urls(request).await.unwrap().into_inner().results;
    assert!(results.iter().all(|result| result.code() == ResultCode::Saved && !result.created), "{results:?}");
    for result in open(&mut company, exported_cases.clone()).await {
        assert_eq!((result.code(), result.created), (ResultCode::Saved, false), "{result:?}");
    }
    assert_eq!(reads(&mut company).await, original);

    // Only differences from the current case are reported.
    let differing = exported_cases.into_iter().map(|mut request| {
        request.case.as_mut().unwrap().submitter = some("Sam");
        request
    });
    let results = open(&mut company, differing.collect()).await;
    for result in &results {
        let message = "The case.submitter field differs from the current case. Update that case, or \
                       use a different request_id.";
        assert_eq!(violations(&result.violations), [("case.submitter", message)], "{result:?}");
        assert_eq!(result.code(), ResultCode::Duplicate);
    }
    assert_eq!(results[3].case_id, Some(by_hand));
    assert_eq!(reads(&mut company).await, original);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn caller_request_ids_take_precedence_over_generated_ones() {
    let core = TestCore::start().await;
    let (mut company, mut other) = (core.company(1), core.company(2));
    let affiliate = company.affiliate("A").await;
    other.affiliate("A").await;
    let insert = "insert into compliance_cases (company_id, affiliate_id) values (1, $1) returning id";
    let id: i64 = sqlx::query_scalar(insert).bind(affiliate).fetch_one(&core.pool).await.unwrap();
    let exported = cases(&mut company).await;
    assert_eq!(exported[0].request_id, Some(format!("case-{id}")));
    // In a different company, the same request opens a new case.
    assert!(open(&mut other, exported.clone()).await[0].created);
    let spelled_otherwise = OpenCaseRequest { request_id: Some(format!("case-0{id}")), ..exported[0].clone() };
    assert!(open(&mut company, vec![spelled_otherwise]).await[0].created);
    let own = company.open(opening(&format!("case-{id}"))).await;
    assert_ne!(own, id);
    // The request ID now belongs to the case opened with it.
    assert_eq!(open(&mut company, exported).await[0].case_id, Some(own));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exports_can_be_imported_by_another_company() {
    let service = TestCore::start().await;
    let (mut one, mut two) = (service.company(1), service.company(2));
    for company in [&mut one, &mut two] {
        company.affiliate("A").await;
        company.affiliate("B").await;
    }
    let observations: Vec<UrlObservation> = (0..30)
        .map(|nth| UrlObservation {
            client_affiliate_id: (nth % 3 == 0).then(|| "A".to_owned()),
            country: (nth % 4 == 0).then(|| "CI".to_owned()),
            disabled: Some(nth % 5 == 0),
            false_positive: (nth % 2 == 0).then_some(nth % 4 == 0),
            note: (nth % 6 == 0).then(|| format!("note {nth}")),
            infractions: (0..nth % 4).map(|_| infraction("Promotion", "misleading offer")).collect(),
            ..observation(&format!("https://example.org/{nth}"))
        })
        .collect();
    one.observe(observations).await;
    for nth in 0..10 {
        let incidents: Vec<IncidentInput> = (0..nth % 3)
            .map(|index| url_incident(&format!("https://example.org/{}", nth * 2 + index)))
            .chain((nth % 2 == 0).then(|| form_incident("f")))
            .collect();
        let case = CaseInput {
            client_affiliate_id: if nth % 2 == 0 { some("A") } else { some("B") },
            case_status: if nth % 3 == 0 { some("Resolved") } else { some("New") },
            tags: (0..nth % 3).map(|tag| tag.to_string()).collect(),
            case_country: (nth % 4 == 0).then(|| "US".to_owned()),
            ..CaseInput::default()
        };
        let request = OpenCaseRequest { case: Some(case), incidents, ..opening(&format!("r-{nth}")) };
        one.open(request).await;
    }

    let (exported_urls, exported_cases) = (urls(&mut one).await, cases(&mut one).await);
    // The exports survive a round trip through JSON.
    let line = serde_json::to_string(&exported_urls).unwrap();
    assert_eq!(serde_json::from_str::<Vec<UrlObservation>>(&line).unwrap(), exported_urls);
    let line = serde_json::to_string(&exported_cases).unwrap();
    assert_eq!(serde_json::from_str::<Vec<OpenCaseRequest>>(&line).unwrap(), exported_cases);

    for _ in 0..2 {
        let results = two.observe(exported_urls.clone()).await;
        assert!(results.iter().all(|result| result.code == 1020), "{results:?}");
        let request = BatchOpenCasesRequest { cases: exported_cases.clone() };
        let results = two.monitoring.batch_open_cases(request).await.unwrap().into_inner().results;
        assert!(results.iter().all(|result| result.code == 1020), "{results:?}");
        let (expected, read) = (reads(&mut one).await, reads(&mut two).await);
        assert_eq!(read, expected);
    }
    assert!(reads(&mut two).await.0.iter().any(|url: &ComplianceUrl| url.case_id.is_some() && url.country.is_some()));
    assert!(
        reads(&mut two)
            .await
            .0
            .iter()
            .flat_map(|url| &url.infractions)
            .all(|one: &Infraction| one.created_date.is_some())
    );

    let last = ExportUrlsRequest { after_url_id: Some(i64::from(u32::MAX)), changed_after: None };
    assert_eq!(one.monitoring.export_urls(last).await.unwrap().into_inner().message().await.unwrap(), None);
}
