//! Tests reads of earlier states: every state seen between writes can be read again later.

use compliance_api::v1::{
    AddComplianceUrlsRequest, AddVocabularyEntriesRequest, Affiliate, AffiliateInput, AffiliateUpdate,
    AttachIncidentsRequest, BatchCreateAffiliatesRequest, BatchUpdateAffiliatesRequest, CaseInput, Change,
    ComplianceCase, ComplianceUrl, DetachIncidentsRequest, GetAffiliateRequest, GetComplianceCaseRequest,
    GetComplianceUrlRequest, IncidentKey, ListAffiliatesRequest, ListChangesRequest, ListComplianceCasesRequest,
    ListComplianceUrlsRequest, RecordInfractionsRequest, SearchChangesRequest, SearchChangesResponse,
    UpdateCaseRequest, UrlInfraction, UrlInput, UrlObservation, VocabularyEntryInput, VocabularyKind,
    WithdrawInfractionsRequest,
};
use futures::future::join_all;
use sqlx::AssertSqlSafe;
use test_support::{GrpcClients, TestCore, new_company, reason_of};
use tokio_stream::StreamExt as _;
use tonic::{Code, Status};

use super::{affiliate, all, list};
use crate::monitoring::builders::{form_incident, infraction, observation, opening, some, url_incident};

/// All records as of a position.
pub(super) struct Snapshot {
    pub(super) position: i64,
    pub(super) affiliates: Vec<Affiliate>,
    pub(super) urls: Vec<ComplianceUrl>,
    pub(super) cases: Vec<ComplianceCase>,
}

pub(super) async fn snapshot(clients: &mut GrpcClients) -> Snapshot {
    let position = list(clients, ListChangesRequest::default()).await.unwrap().last_position;
    let mut affiliates = Vec::new();
    let mut pages = clients.affiliates.list_affiliates(ListAffiliatesRequest::default()).await.unwrap().into_inner();
    while let Some(page) = pages.next().await {
        affiliates.extend(page.unwrap().affiliates);
    }
    let urls = ListComplianceUrlsRequest { per_page: Some(200), ..ListComplianceUrlsRequest::default() };
    let urls = clients.urls.list_compliance_urls(urls).await.unwrap().into_inner().urls;
    let cases = ListComplianceCasesRequest { per_page: Some(200), ..ListComplianceCasesRequest::default() };
    let cases = clients.cases.list_compliance_cases(cases).await.unwrap().into_inner().cases;
    let cases = cases.into_iter().map(without_upline).collect();
    Snapshot { position, affiliates, urls, cases }
}

/// Removes the upline's name and its digest. Earlier states always show the current name.
pub(super) fn without_upline(case: ComplianceCase) -> ComplianceCase {
    let affiliate_etag = case.affiliate_etag.split('.').next().unwrap().to_owned();
    ComplianceCase { upline_name: None, affiliate_etag, ..case }
}

/// Spaces a company's changes two seconds apart, from a fixed time.
pub(super) async fn spread(core: &TestCore, company: i64) {
    let spread = format!(
        "update changes
        set changed_at = (timestamp '2026-01-31 23:59:00' + make_interval(secs => position * 2 + 0.5)) at time zone 'UTC'
        where company_id = {company}"
    );
    sqlx::raw_sql(AssertSqlSafe(spread)).execute(&core.pool).await.unwrap();
}

/// Returns a time at which this position is the last one.
pub(super) fn second(position: i64) -> Option<String> {
    let seconds = 1_769_903_940 + position * 2;
    compliance_api::json::datetime_text(&prost_types::Timestamp { seconds, nanos: 0 })
}

#[expect(clippy::too_many_lines, reason = "one sequential history")]
pub(super) async fn history(core: &TestCore, company: i64) -> Vec<Snapshot> {
    let mut clients = core.company(company);
    let clients = &mut clients;
    let mut snapshots = Vec::new();
    macro_rules! step {
        ($($call:expr),* $(,)?) => {{
            $(let _ = $call;)*
            snapshots.push(snapshot(clients).await);
        }};
    }
    let sql = async |text: String| {
        sqlx::raw_sql(AssertSqlSafe(text.replace("<company>", &company.to_string())))
            .execute(&core.pool)
            .await
            .unwrap();
    };
    let (first, second) = (clients.affiliate("A").await, clients.affiliate("B").await);
    let many = (0..12).map(|number| affiliate(&format!("many {number}"))).collect();
    step!(
        clients
            .affiliates
            .batch_create_affiliates(BatchCreateAffiliatesRequest { affiliates: many, validate_only: false })
            .await
            .unwrap()
    );
    let changed = |id: i64, name: &str, notes: &str| AffiliateUpdate {
        id: Some(id),
        affiliate: Some(AffiliateInput {
            affiliate_name: some(name),
            notes: some(notes),
            // In the first round, each affiliate is its own upline.
            upline: some(name.trim_end_matches('2')),
            country: some("DE"),
            start_date: some("02/29/2024"),
            ..AffiliateInput::default()
        }),
        ..AffiliateUpdate::default()
    };
    for (one, other) in [("A2", "B2"), ("B2", "A2")] {
        let affiliates = vec![changed(first, one, "é “quoted”, (\\"), changed(second, other, "")];
        let request = BatchUpdateAffiliatesRequest { affiliates, ..BatchUpdateAffiliatesRequest::default() };
        step!(clients.affiliates.batch_update_affiliates(request).await.unwrap());
    }
    let urls = (0..6).map(|number| UrlInput { url: Some(format!("https://past.example/{number}")) }).collect();
    step!(clients.urls.add_compliance_urls(AddComplianceUrlsRequest { urls, validate_only: false }).await.unwrap());
    let entries = vec![VocabularyEntryInput {
        vocabulary: VocabularyKind::InfractionType.into(),
        name: some("Own type"),
        infraction_type: None,
    }];
    step!(clients.monitoring.add_vocabulary_entries(AddVocabularyEntriesRequest { entries }).await.unwrap());
    let of = |kind: &str, name: &str| infraction(kind, name);
    for (identifier, note) in [("A", "one"), ("B", ""), ("A", "three")] {
        let observed = UrlObservation {
            client_affiliate_id: some(identifier),
            note: some(note),
            infractions: vec![of("Trademark", "brand bidding"), of("Health Claim", "weight loss")],
            ..observation("https://past.example/1")
        };
        step!(clients.observe(vec![observed, observation("https://past.example/2")]).await);
    }
    let of_url = |url: &str, kind: &str, name: &str| UrlInfraction {
        url: some(url),
        infraction: Some(of(kind, name)),
        ..UrlInfraction::default()
    };
    let infractions = vec![
        of_url("https://past.example/1", "Promotion", "misleading offer"),
        of_url("https://past.example/3", "Promotion", "misleading offer"),
    ];
    step!(clients.monitoring.record_infractions(RecordInfractionsRequest { infractions }).await.unwrap());
    let infractions = vec![of_url("https://past.example/1", "Trademark", "brand bidding")];
    step!(clients.monitoring.withdraw_infractions(WithdrawInfractionsRequest { infractions }).await.unwrap());
    let mut one = opening("one");
    one.incidents = vec![url_incident("https://past.example/1"), form_incident("form")];
    let (one, two) = (clients.open(one).await, clients.open(opening("two")).await);
    snapshots.push(snapshot(clients).await);
    for (worker, tags) in [("W", vec!["a".to_owned(), "b, c".to_owned()]), ("V", vec![])] {
        let case =
            CaseInput { case_worker: some(worker), tags, client_affiliate_id: some("B"), ..CaseInput::default() };
        let request = UpdateCaseRequest { id: one, case: Some(case), ..UpdateCaseRequest::default() };
        step!(clients.monitoring.update_case(request).await.unwrap());
    }
    let incidents = vec![url_incident("https://past.example/1"), url_incident("https://past.example/2")];
    step!(clients.monitoring.attach_incidents(AttachIncidentsRequest { id: two, incidents }).await.unwrap());
    let incidents = vec![IncidentKey { incident_type: Some(2), reference: some("form"), ..IncidentKey::default() }];
    step!(clients.monitoring.detach_incidents(DetachIncidentsRequest { id: one, incidents }).await.unwrap());
    for text in [
        "update affiliates set city = 'X' || id where company_id = <company>",
        "update infractions set created_date = '2024-01-02 03:04:05Z' where company_id = <company>",
        "delete from affiliates where company_id = <company> and affiliate_name like 'many 1%'",
        "delete from infractions where company_id = <company>; delete from compliance_urls where company_id = <company> and case_id is null",
        "delete from incidents where company_id = <company>; delete from compliance_cases where company_id = <company>",
        "update affiliates set city = null, email_one = 'a@b.example' where company_id = <company>",
    ] {
        step!(sql(text.to_owned()).await);
    }
    // Restores a deleted record with its ID.
    let gone = &snapshots[0]
        .affiliates
        .iter()
        .find(|affiliate| affiliate.distributor_name.as_deref() == Some("many 1"))
        .unwrap();
    let restored = format!(
        "insert into affiliates (company_id, id, client_affiliate_id, affiliate_name) values (<company>, {}, 'r', 'restored')",
        gone.id
    );
    step!(sql(restored).await);
    snapshots
}

/// Returns the record with this ID, if any.
fn expected<T: Clone>(records: &[T], id: i64, of: fn(&T) -> i64) -> Option<T> {
    records.iter().find(|record| of(record) == id).cloned()
}

fn read<T>(result: Result<tonic::Response<T>, Status>) -> Option<T> {
    match result {
        Ok(response) => Some(response.into_inner()),
        Err(status) => {
            assert_eq!(status.code(), Code::NotFound, "{status:?}");
            None
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn earlier_states_stay_readable() {
    let core = TestCore::start().await;
    let (company, other) = (new_company(), new_company());
    let snapshots = history(&core, company).await;
    // Another company's changes must not interfere.
    history(&core, other).await;
    read_every_state(&core, company, &snapshots).await;
    // Rows from earlier releases contain no `parents`.
    let before = format!("update changes set parents = null where company_id = {company}");
    sqlx::raw_sql(AssertSqlSafe(before)).execute(&core.pool).await.unwrap();
    read_every_state(&core, company, &snapshots).await;
}

/// Compares reads of earlier states with a history's snapshots. Overwrites the change times.
pub(super) async fn read_every_state(core: &TestCore, company: i64, snapshots: &[Snapshot]) {
    spread(core, company).await;
    let clients = core.company(company);
    let ids = |of: fn(&Snapshot) -> Vec<i64>| {
        let mut ids: Vec<i64> = snapshots.iter().flat_map(of).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    };
    let affiliates = ids(|snapshot| snapshot.affiliates.iter().map(|record| record.id).collect());
    let urls = ids(|snapshot| snapshot.urls.iter().map(|record| record.id).collect());
    let cases = ids(|snapshot| snapshot.cases.iter().map(|record| record.case_id).collect());
    assert!(affiliates.len() >= 14 && urls.len() == 6 && cases.len() == 2, "{affiliates:?} {urls:?} {cases:?}");
    for Snapshot { position, affiliates: of_affiliates, urls: of_urls, cases: of_cases } in snapshots {
        let as_of = second(*position);
        // Runs concurrently, because there are thousands of reads.
        join_all(affiliates.iter().map(async |&id| {
            let request = GetAffiliateRequest { id, as_of: as_of.clone() };
            let found = read(clients.affiliates.clone().get_affiliate(request).await);
            assert_eq!(found, expected(of_affiliates, id, |record| record.id), "{position}");
        }))
        .await;
        join_all(urls.iter().map(async |&id| {
            let request = GetComplianceUrlRequest { id, as_of: as_of.clone() };
            let found = read(clients.urls.clone().get_compliance_url(request).await);
            assert_eq!(found, expected(of_urls, id, |record| record.id), "{position}");
        }))
        .await;
        join_all(cases.iter().map(async |&id| {
            let request = GetComplianceCaseRequest { id, as_of: as_of.clone() };
            let found = read(clients.cases.clone().get_compliance_case(request).await);
            assert_eq!(found, expected(of_cases, id, |record| record.case_id), "{position}");
        }))
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_of_dropped_states_return_position_gone() {
    let core = TestCore::start().await;
    let company = new_company();
    let mut clients = core.company(company);
    let id = clients.affiliate("A").await;
    for city in ["B", "C", "D"] {
        let update = format!("update affiliates set city = '{city}' where company_id = {company}");
        sqlx::raw_sql(AssertSqlSafe(update)).execute(&core.pool).await.unwrap();
    }
    spread(&core, company).await;
    let drop = format!("delete from changes where company_id = {company} and position <= 2");
    sqlx::raw_sql(AssertSqlSafe(drop)).execute(&core.pool).await.unwrap();
    let mut city = async |as_of: Option<String>| {
        let read = clients.affiliates.get_affiliate(GetAffiliateRequest { id, as_of }).await;
        read.map(|affiliate| affiliate.into_inner().city.unwrap_or_default()).map_err(|status| reason_of(&status))
    };
    for position in [1, 2] {
        assert_eq!(city(second(position)).await.unwrap_err(), "POSITION_GONE");
    }
    assert_eq!(
        [city(second(3)).await.unwrap(), city(second(4)).await.unwrap(), city(None).await.unwrap()],
        ["C", "D", "D"]
    );
    assert_eq!(city(some("9000-01-01 00:00:00")).await.unwrap_err(), "INVALID_FIELDS");
    let drop = format!("delete from changes where company_id = {company}");
    sqlx::raw_sql(AssertSqlSafe(drop)).execute(&core.pool).await.unwrap();
    assert_eq!(city(second(4)).await.unwrap_err(), "POSITION_GONE");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn searches_and_feed_return_the_same_changes() {
    let core = TestCore::start().await;
    let company = new_company();
    history(&core, company).await;
    let mut clients = core.company(company);
    let feed = all(&mut clients, 0, 1000).await;
    searches_find(&mut clients, feed).await;
}

/// Asserts that searches find the feed's changes, newest first: all changes, and the changes to one record.
pub(super) async fn searches_find(clients: &mut GrpcClients, mut feed: Vec<Change>) {
    feed.reverse();
    let mut search = async |request: &SearchChangesRequest| {
        let (mut found, mut before) = (Vec::new(), None);
        loop {
            let request = SearchChangesRequest { before, ..request.clone() };
            let SearchChangesResponse { changes, next, .. } =
                clients.audit.search_changes(request).await.unwrap().into_inner();
            found.extend(changes);
            match next {
                Some(next) => assert!(before.replace(next).is_none_or(|before| next < before)),
                None => return found,
            }
        }
    };
    for limit in [3, 7, 1000] {
        let request = SearchChangesRequest { limit: Some(limit), ..SearchChangesRequest::default() };
        assert_eq!(search(&request).await, feed);
        for change in [&feed[0], &feed[feed.len() / 2], feed.last().unwrap()] {
            let request = SearchChangesRequest {
                resource: Some(change.resource.clone()),
                id: Some(change.id),
                ..request.clone()
            };
            let of_record = feed.iter().filter(|other| (&other.resource, other.id) == (&change.resource, change.id));
            assert_eq!(search(&request).await, of_record.cloned().collect::<Vec<_>>());
        }
    }
}
