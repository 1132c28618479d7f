//! Creates and changes every kind of record.

use compliance_api::{
    catalogue::Vocabulary,
    v1::{
        AddComplianceUrlsRequest, AddVocabularyEntriesRequest, AffiliateInput, AffiliateUpdate, AttachIncidentsRequest,
        BatchCreateAffiliatesRequest, BatchUpdateAffiliatesRequest, CaseInput, CloseCaseRequest,
        DetachIncidentsRequest, EraseAffiliateRequest, IncidentInput, IncidentKey, IncidentType, InfractionInput,
        OpenCaseRequest, RecordInfractionsRequest, ReopenCaseRequest, ResolveCaseRequest, UpdateCaseRequest,
        UrlInfraction, UrlInput, UrlObservation, VocabularyEntryInput, WithdrawInfractionsRequest,
    },
};
use sqlx::PgPool;
use test_support::{GrpcClients, TestService};

use super::COMPANIES;

#[expect(clippy::unnecessary_wraps, reason = "nearly every field is optional")]
fn some(text: impl Into<String>) -> Option<String> {
    Some(text.into())
}

/// Fills both companies. Returns instants between the changes, in the format of `as_of`.
pub(super) async fn fill(service: &TestService) -> Vec<String> {
    let mut instants = Vec::new();
    for (round, name) in ["first", "second"].into_iter().enumerate() {
        for company in &COMPANIES[..2 - round] {
            write_kinds(&mut service.grpc(*company).await, name).await;
        }
        instants.push(next_second(&service.pool).await);
    }
    let company = COMPANIES[0];
    let mut grpc = service.grpc(company).await;
    let erased = grpc.affiliate("To be erased").await;
    let case = CaseInput { affiliate_id: Some(erased), ..CaseInput::default() };
    grpc.open(OpenCaseRequest { request_id: some("erased"), case: Some(case), ..OpenCaseRequest::default() }).await;
    grpc.erasures.erase_affiliate(EraseAffiliateRequest { id: erased, etag: String::new() }).await.unwrap();
    by_hand(&service.pool).await;
    for company in COMPANIES {
        let body = r#"{"url":"https://receiver.example/hook","types":["affiliate","case"],"description":"Copy"}"#;
        let created = service.rest(company).post("/webhooks", body).await.with_status(201);
        let id = created["data"]["webhook"]["id"].as_i64().unwrap();
        let delivered = "insert into webhook_deliveries (company_id, webhook_id, number, message_id, after, position, attempt,
                started_at, duration_ms, http_status, error)
            values ($1, $2, 1, 'msg_1', 0, 2, 1, now(), 12, 200, null), ($1, $2, 2, 'msg_2', 2, 4, 1, now(), 15000, null, 'no response')";
        sqlx::query(delivered).bind(company).bind(id).execute(&service.pool).await.unwrap();
    }
    instants
}

/// Waits until the next second has passed, and returns that second. No later change falls within it.
async fn next_second(pool: &PgPool) -> String {
    let second =
        "select to_char((clock_timestamp() + interval '1 s') at time zone 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')";
    let begun = sqlx::query_scalar(second).fetch_one(pool).await.unwrap();
    sqlx::query("select pg_sleep(2)").execute(pool).await.unwrap();
    begun
}

/// Writes rows with SQL, as other programs do.
async fn by_hand(pool: &PgPool) {
    let statements = "
        insert into affiliates (company_id, client_affiliate_id, affiliate_name, start_date, notes)
            values (101, 'hand', 'By hand', '2024-01-02', E'a, (b) \"c\" \\\\ d\\ne');
        update compliance_urls set last_seen = '2026-01-31 12:00:00+00', note = E'\"\\\\,()\\t' where company_id = 101 and id % 3 = 0;
        delete from compliance_urls where company_id = 101 and url like '%second/7';
        update compliance_cases set tags = '{x,\"y z\"}' where company_id = 101";
    sqlx::raw_sql(statements).execute(pool).await.unwrap();
}

/// Calls every write operation. All names contain `name`, so two calls write different records.
pub(super) async fn write_kinds(grpc: &mut GrpcClients, name: &str) {
    affiliates(grpc, name).await;
    urls(grpc, name).await;
    cases(grpc, name).await;
}

async fn affiliates(grpc: &mut GrpcClients, name: &str) {
    let first = grpc.affiliate(&format!("{name} affiliate")).await;
    let affiliate = |number: usize| AffiliateInput {
        client_affiliate_id: some(format!("{name}-{number}")),
        affiliate_name: some(format!("{name} Nàme {number} \u{1F310} \\ \"quoted\"\t")),
        email_one: some(format!("{name}.{number}@example.org")),
        country: some("DE"),
        city: number.is_multiple_of(2).then(|| "Zürich".to_owned()),
        upline: some(format!("{name} affiliate")),
        start_date: some("2024-02-29"),
        status: some("active"),
        ..AffiliateInput::default()
    };
    let affiliates = (0..5).map(affiliate).collect();
    let request = BatchCreateAffiliatesRequest { affiliates, validate_only: false };
    let created = grpc.affiliates.batch_create_affiliates(request).await.unwrap().into_inner();
    let ids: Vec<i64> = created.results.iter().map(|result| result.affiliate_id.unwrap()).collect();
    let renamed = |id: i64, to: String| AffiliateUpdate {
        id: Some(id),
        affiliate: Some(AffiliateInput { affiliate_name: Some(to), ..AffiliateInput::default() }),
        ..AffiliateUpdate::default()
    };
    let affiliates = vec![renamed(ids[0], format!("{name} renamed")), renamed(first, format!("{name} affiliate 1"))];
    let request = BatchUpdateAffiliatesRequest { anchor_id: None, affiliates, validate_only: false };
    grpc.affiliates.batch_update_affiliates(request).await.unwrap();
}

async fn urls(grpc: &mut GrpcClients, name: &str) {
    let url = |number: usize| format!("https://example.org/{name}/{number}");
    let urls = (0..10).map(|number| UrlInput { url: Some(url(number)) }).collect();
    grpc.urls.add_compliance_urls(AddComplianceUrlsRequest { urls, validate_only: false }).await.unwrap();
    let entry = |vocabulary: Vocabulary, name: String, parent: Option<String>| VocabularyEntryInput {
        vocabulary: vocabulary as i32,
        name: Some(name),
        infraction_type: parent,
    };
    let entries = vec![
        entry(Vocabulary::InfractionType, format!("{name} type"), None),
        entry(Vocabulary::InfractionName, format!("{name} infraction"), some(format!("{name} type"))),
        entry(Vocabulary::RiskLevel, format!("{name} risk"), None),
    ];
    grpc.monitoring.add_vocabulary_entries(AddVocabularyEntriesRequest { entries }).await.unwrap();
    let infraction = |kind: &str, name: &str| InfractionInput {
        infraction_type: some(kind),
        infraction_name: some(name),
        created_date: None,
    };
    let own = infraction(&format!("{name} type"), &format!("{name} infraction"));
    let observed = |number: usize| UrlObservation {
        url: Some(url(number)),
        client_affiliate_id: some(format!("{name}-1")),
        country: some("DE"),
        disabled: Some(number.is_multiple_of(3)),
        incident_status: some(if number.is_multiple_of(2) { "In Violation" } else { "New" }),
        infractions: vec![own.clone(), infraction("Trademark", "brand bidding")],
        ..UrlObservation::default()
    };
    grpc.observe((0..6).map(observed).collect()).await;
    let cleared = UrlObservation { clear: vec!["country".to_owned()], url: Some(url(1)), ..UrlObservation::default() };
    grpc.observe(vec![cleared]).await;
    let of_url = |number: usize| UrlInfraction {
        url: Some(url(number)),
        infraction: Some(own.clone()),
        ..UrlInfraction::default()
    };
    let infractions = vec![of_url(8), of_url(9)];
    grpc.monitoring.record_infractions(RecordInfractionsRequest { infractions }).await.unwrap();
    let infractions = vec![of_url(9)];
    grpc.monitoring.withdraw_infractions(WithdrawInfractionsRequest { infractions }).await.unwrap();
}

async fn cases(grpc: &mut GrpcClients, name: &str) {
    let of_url = |number: usize| IncidentInput {
        incident_type: IncidentType::Url.into(),
        url: some(format!("https://example.org/{name}/{number}")),
        ..IncidentInput::default()
    };
    let form =
        IncidentInput { incident_type: IncidentType::Form.into(), reference: some("form"), ..IncidentInput::default() };
    let mut ids = Vec::new();
    for number in 0..4 {
        let case = CaseInput { client_affiliate_id: some(format!("{name}-{number}")), ..CaseInput::default() };
        let opening = OpenCaseRequest {
            request_id: some(format!("{name} {number}")),
            case: Some(case),
            incidents: vec![of_url(number), form.clone()],
            ..OpenCaseRequest::default()
        };
        ids.push(grpc.open(opening).await);
    }
    let tags = vec!["a".to_owned(), "b, c".to_owned()];
    let case = CaseInput { risk_level: some(format!("{name} risk")), tags, ..CaseInput::default() };
    let request = UpdateCaseRequest { id: ids[0], case: Some(case), ..UpdateCaseRequest::default() };
    grpc.monitoring.update_case(request).await.unwrap();
    let incidents = vec![of_url(4), of_url(5)];
    grpc.monitoring.attach_incidents(AttachIncidentsRequest { id: ids[1], incidents }).await.unwrap();
    let incidents = vec![IncidentKey {
        incident_type: Some(IncidentType::Form.into()),
        reference: some("form"),
        ..IncidentKey::default()
    }];
    grpc.monitoring.detach_incidents(DetachIncidentsRequest { id: ids[1], incidents }).await.unwrap();
    grpc.monitoring.resolve_case(ResolveCaseRequest { id: ids[1], ..ResolveCaseRequest::default() }).await.unwrap();
    grpc.monitoring.close_case(CloseCaseRequest { id: ids[2], ..CloseCaseRequest::default() }).await.unwrap();
    grpc.monitoring.reopen_case(ReopenCaseRequest { id: ids[2], ..ReopenCaseRequest::default() }).await.unwrap();
}
