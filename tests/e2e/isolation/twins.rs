//! Two companies with the same identifiers throughout: a statement that forgets the company somewhere finds two records,
//! or the wrong one.
//!
//! IDs, names, URLs and request IDs are the same in both; what they stand for is not. The names of the vocabulary and the
//! identifiers of the affiliates are swapped, and every other text names its company. Each operation has to respond, and
//! to leave the rows of its company, exactly as it does for a company that is alone in its database.

use std::collections::{BTreeMap, BTreeSet};

use compliance_api::v1::{
    AddComplianceUrlsRequest, AddVocabularyEntriesRequest, AffiliateInput, AffiliateUpdate, AttachIncidentsRequest,
    BatchCreateAffiliatesRequest, BatchGetAffiliatesRequest, BatchGetComplianceCasesRequest,
    BatchGetComplianceUrlsRequest, BatchOpenCasesRequest, BatchUpdateAffiliatesRequest, CaseInput, CheckAccessRequest,
    CloseCaseRequest, CreateAffiliateRequest, DetachIncidentsRequest, ExportCasesRequest, ExportUrlsRequest,
    GetAffiliateRequest, GetComplianceCaseRequest, GetComplianceUrlRequest, IncidentInput, IncidentKey, IncidentType,
    InfractionInput, ListAffiliatesRequest, ListComplianceCasesRequest, ListComplianceUrlsRequest,
    ListVocabulariesRequest, ObserveUrlsRequest, OpenCaseRequest, RecordInfractionsRequest, ReopenCaseRequest,
    ResolveCaseRequest, UpdateAffiliateRequest, UpdateCaseRequest, UrlInfraction, UrlInput, UrlObservation, UrlSort,
    VocabularyEntryInput, VocabularyKind, WithdrawInfractionsRequest,
};
use futures::future::LocalBoxFuture;
use sqlx::{AssertSqlSafe, PgPool};
use test_support::{GrpcClients, TestService, new_company, tests};

use super::{operations, rows_of, tables};

tests![every_operation_has_a_call, twins_do_not_notice_each_other];

/// One of the two companies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

const AFFILIATE: i64 = 5001;
const UPLINE: i64 = 5002;
const URL: i64 = 6001;
const OTHER_URL: i64 = 6002;
const CASE: i64 = 7001;
const INCIDENT: i64 = 7501;

impl Side {
    /// The name of the company in its texts.
    fn name(self) -> &'static str {
        match self {
            Self::Left => "LEFT",
            Self::Right => "RIGHT",
        }
    }

    /// The name of the other company in its texts.
    fn other(self) -> &'static str {
        match self {
            Self::Left => "RIGHT",
            Self::Right => "LEFT",
        }
    }

    /// Writes the company's records.
    async fn fill(self, pool: &PgPool, company: i64) {
        let (name, other) = (self.name(), self.other());
        let [first, second] = if self == Self::Left { ["A", "B"] } else { ["B", "A"] };
        let (incident, case) = (VocabularyKind::UrlIncidentStatus as i32, VocabularyKind::CaseStatus as i32);
        let statements = format!(
            "insert into vocabulary_entries (company_id, vocabulary, id, name) values
                ({company}, {incident}, 5101, 'Status {first}'), ({company}, {incident}, 5102, 'Status {second}'),
                ({company}, {case}, 5201, 'Case {first}'), ({company}, {case}, 5202, 'Case {second}');
            insert into affiliates (company_id, id, client_affiliate_id, affiliate_name, notes, upline) values
                ({company}, {AFFILIATE}, '{first}', 'Same', '{name} affiliate', '{second}'),
                ({company}, {UPLINE}, '{second}', '{name} upline', '{name} notes', null);
            insert into compliance_cases
                (company_id, id, affiliate_id, case_status_id, case_worker, request_id, created_date) values
                ({company}, {CASE}, {AFFILIATE}, 5201, '{name} worker', 'Same', '2024-05-06Z');
            insert into compliance_urls (company_id, id, url, url_hash, affiliate_id, incident_status_id, note,
                    discovery_date, last_review_date) values
                ({company}, {URL}, 'https://same.example/', sha256('https://same.example/'), {AFFILIATE}, 5101,
                    '{name} note', '2024-05-06Z', '2024-05-07Z'),
                ({company}, {OTHER_URL}, 'https://{low}.example/', sha256('https://{low}.example/'), {UPLINE}, 5102,
                    '{name} note', '2024-05-08Z', null);
            insert into infractions (company_id, id, url_id, infraction_type_id, infraction_name_id, created_date) values
                ({company}, 7601, {URL}, 2, 8, '2024-05-06Z');
            insert into incidents
                (company_id, id, case_id, incident_type, url_id, infraction_type_id, infraction_name_id) values
                ({company}, {INCIDENT}, {CASE}, 1, {URL}, 2, 8);",
            low = name.to_lowercase(),
        );
        assert!(!statements.contains(other), "{statements}");
        sqlx::raw_sql(AssertSqlSafe(statements)).execute(pool).await.unwrap();
    }
}

/// A company whose operations are called.
struct Twin {
    grpc: GrpcClients,
    side: Side,
}

type Call = for<'a> fn(&'a mut Twin) -> LocalBoxFuture<'a, String>;

/// Declares `calls()`: an operation, the client and method, and its request. What is returned is the response as text.
macro_rules! calls {
    ($($operation:literal $kind:ident $client:ident.$method:ident |$twin:ident| $request:expr;)*) => {
        fn calls() -> BTreeMap<&'static str, Call> {
            BTreeMap::from([$(($operation, (|$twin| Box::pin(async move {
                let _ = &$twin.side;
                let request = $request;
                let response = $twin.grpc.$client.$method(request).await.unwrap().into_inner();
                calls!(@$kind response)
            })) as Call)),*])
        }
    };
    (@unary $response:ident) => { format!("{:?}", $response) };
    (@stream $response:ident) => {{
        let (mut messages, mut text) = ($response, String::new());
        while let Some(message) = messages.message().await.unwrap() {
            text.push_str(&format!("{message:?}"));
        }
        text
    }};
}

calls! {
    "AccessService/CheckAccess" unary access.check_access |twin| CheckAccessRequest {};
    "AffiliateService/ListAffiliates" stream affiliates.list_affiliates |twin| ListAffiliatesRequest {};
    "AffiliateService/GetAffiliate" unary affiliates.get_affiliate |twin| GetAffiliateRequest { id: AFFILIATE };
    "AffiliateService/BatchGetAffiliates" unary affiliates.batch_get_affiliates |twin|
        BatchGetAffiliatesRequest { ids: vec![UPLINE, AFFILIATE] };
    "AffiliateService/CreateAffiliate" unary affiliates.create_affiliate |twin|
        CreateAffiliateRequest { affiliate: Some(affiliate("A", &format!("{} upline", twin.side.other()))) };
    "AffiliateService/BatchCreateAffiliates" unary affiliates.batch_create_affiliates |twin|
        BatchCreateAffiliatesRequest {
            affiliates: vec![affiliate("A", "Same"), affiliate("B", &format!("{} upline", twin.side.other()))],
        };
    "AffiliateService/UpdateAffiliate" unary affiliates.update_affiliate |twin|
        UpdateAffiliateRequest { update: Some(renamed(AFFILIATE, &format!("{} upline", twin.side.other()))) };
    "AffiliateService/BatchUpdateAffiliates" unary affiliates.batch_update_affiliates |twin|
        BatchUpdateAffiliatesRequest {
            anchor_id: Some(AFFILIATE),
            affiliates: vec![
                renamed(UPLINE, "Same"),
                renamed(AFFILIATE, &format!("{} upline", twin.side.other())),
                renamed(UPLINE, "Same"),
            ],
        };
    "ComplianceUrlService/ListComplianceUrls" unary urls.list_compliance_urls |twin|
        ListComplianceUrlsRequest { distributor_id: Some(AFFILIATE), ..ListComplianceUrlsRequest::default() };
    "ComplianceUrlService/GetComplianceUrl" unary urls.get_compliance_url |twin| GetComplianceUrlRequest { id: URL };
    "ComplianceUrlService/BatchGetComplianceUrls" unary urls.batch_get_compliance_urls |twin|
        BatchGetComplianceUrlsRequest { ids: vec![OTHER_URL, URL] };
    "ComplianceUrlService/AddComplianceUrls" unary urls.add_compliance_urls |twin| AddComplianceUrlsRequest {
        urls: ["https://same.example/".to_owned(), format!("https://{}.example/", twin.side.other().to_lowercase())]
            .map(|url| UrlInput { url: Some(url) })
            .to_vec(),
    };
    "ComplianceCaseService/ListComplianceCases" unary cases.list_compliance_cases |twin|
        ListComplianceCasesRequest { distributor_id: Some(AFFILIATE), ..ListComplianceCasesRequest::default() };
    "ComplianceCaseService/GetComplianceCase" unary cases.get_compliance_case |twin|
        GetComplianceCaseRequest { case_id: CASE };
    "ComplianceCaseService/BatchGetComplianceCases" unary cases.batch_get_compliance_cases |twin|
        BatchGetComplianceCasesRequest { ids: vec![CASE] };
    "MonitoringService/ObserveUrls" unary monitoring.observe_urls |twin|
        ObserveUrlsRequest { observations: observations(twin.side) };
    "MonitoringService/StreamUrlObservations" stream monitoring.stream_url_observations |twin|
        futures::stream::iter([ObserveUrlsRequest { observations: observations(twin.side) }]);
    "MonitoringService/ExportUrls" stream monitoring.export_urls |twin| ExportUrlsRequest::default();
    "MonitoringService/RecordInfractions" unary monitoring.record_infractions |twin|
        RecordInfractionsRequest { infractions: infractions() };
    "MonitoringService/WithdrawInfractions" unary monitoring.withdraw_infractions |twin|
        WithdrawInfractionsRequest { infractions: infractions() };
    "MonitoringService/OpenCase" unary monitoring.open_case |twin| opening(&format!("{} request", twin.side.other()));
    "MonitoringService/BatchOpenCases" unary monitoring.batch_open_cases |twin|
        BatchOpenCasesRequest { cases: vec![opening("Same"), opening("New")] };
    "MonitoringService/ExportCases" stream monitoring.export_cases |twin| ExportCasesRequest::default();
    "MonitoringService/UpdateCase" unary monitoring.update_case |twin| UpdateCaseRequest {
        case_id: CASE,
        case: Some(CaseInput { case_status: text("Case B"), client_affiliate_id: text("B"), ..CaseInput::default() }),
        update_mask: None,
    };
    "MonitoringService/ResolveCase" unary monitoring.resolve_case |twin|
        ResolveCaseRequest { case_id: CASE, ..ResolveCaseRequest::default() };
    "MonitoringService/CloseCase" unary monitoring.close_case |twin|
        CloseCaseRequest { case_id: CASE, ..CloseCaseRequest::default() };
    "MonitoringService/ReopenCase" unary monitoring.reopen_case |twin|
        ReopenCaseRequest { case_id: CASE, case_status: text("Case A") };
    "MonitoringService/AttachIncidents" unary monitoring.attach_incidents |twin| AttachIncidentsRequest {
        case_id: CASE,
        incidents: vec![
            IncidentInput { url: text("https://same.example/"), ..incident() },
            IncidentInput { url_id: Some(OTHER_URL), ..incident() },
        ],
    };
    "MonitoringService/DetachIncidents" unary monitoring.detach_incidents |twin| DetachIncidentsRequest {
        case_id: CASE,
        incidents: vec![IncidentKey { incident_id: Some(INCIDENT), ..IncidentKey::default() }],
    };
    "MonitoringService/ListVocabularies" unary monitoring.list_vocabularies |twin| ListVocabulariesRequest {};
    "MonitoringService/AddVocabularyEntries" unary monitoring.add_vocabulary_entries |twin|
        AddVocabularyEntriesRequest {
            entries: ["Status A", "Status New"]
                .map(|name| VocabularyEntryInput {
                    vocabulary: VocabularyKind::UrlIncidentStatus.into(),
                    name: text(name),
                    infraction_type: None,
                })
                .to_vec(),
        };
}

/// Calls that show more than one operation's first: the other ways in which lists are read.
fn lists() -> Vec<Call> {
    let by_days: Call = |twin| {
        Box::pin(async move {
            let request = ListComplianceUrlsRequest {
                discovery_after: text("2024-01-01"),
                sort_by: UrlSort::LastReviewDt.into(),
                ..ListComplianceUrlsRequest::default()
            };
            format!("{:?}", twin.grpc.urls.list_compliance_urls(request).await.unwrap().into_inner())
        })
    };
    let by_status: Call = |twin| {
        Box::pin(async move {
            let request =
                ListComplianceUrlsRequest { incident_status_id: Some(5101), ..ListComplianceUrlsRequest::default() };
            format!("{:?}", twin.grpc.urls.list_compliance_urls(request).await.unwrap().into_inner())
        })
    };
    let cases: Call = |twin| {
        Box::pin(async move {
            let request = ListComplianceCasesRequest {
                case_status_id: Some(5201),
                created_before: text("2024-12-31"),
                ..ListComplianceCasesRequest::default()
            };
            format!("{:?}", twin.grpc.cases.list_compliance_cases(request).await.unwrap().into_inner())
        })
    };
    vec![by_days, by_status, cases]
}

#[expect(clippy::unnecessary_wraps, reason = "every text of a message may be absent")]
fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn affiliate(client_id: &str, name: &str) -> AffiliateInput {
    AffiliateInput { client_affiliate_id: text(client_id), affiliate_name: text(name), ..AffiliateInput::default() }
}

fn renamed(id: i64, name: &str) -> AffiliateUpdate {
    let affiliate = AffiliateInput { affiliate_name: text(name), ..AffiliateInput::default() };
    AffiliateUpdate { id: Some(id), affiliate: Some(affiliate), update_mask: None }
}

/// A URL that both companies have, and one that only the other has.
fn observations(side: Side) -> Vec<UrlObservation> {
    let observation = UrlObservation {
        client_affiliate_id: text("A"),
        incident_status: text("Status B"),
        ..UrlObservation::default()
    };
    let other = format!("https://{}.example/", side.other().to_lowercase());
    vec![
        UrlObservation { url: text("https://same.example/"), note: text("new"), ..observation.clone() },
        UrlObservation { url: Some(other), ..observation },
    ]
}

/// An infraction that the URL has, and one that it has not.
fn infractions() -> Vec<UrlInfraction> {
    [("Health Claim", "weight loss"), ("Promotion", "misleading offer")]
        .map(|(kind, name)| UrlInfraction {
            url: text("https://same.example/"),
            infraction: Some(InfractionInput {
                infraction_type: text(kind),
                infraction_name: text(name),
                created_date: None,
            }),
            ..UrlInfraction::default()
        })
        .to_vec()
}

fn incident() -> IncidentInput {
    IncidentInput { incident_type: IncidentType::Url.into(), ..IncidentInput::default() }
}

fn opening(request_id: &str) -> OpenCaseRequest {
    OpenCaseRequest {
        request_id: text(request_id),
        case: Some(CaseInput { client_affiliate_id: text("A"), case_status: text("Case B"), ..CaseInput::default() }),
        incidents: vec![IncidentInput { url: text("https://same.example/"), ..incident() }],
        ..OpenCaseRequest::default()
    }
}

async fn every_operation_has_a_call() {
    let called: BTreeSet<String> = calls().into_keys().map(str::to_owned).collect();
    assert_eq!(called, operations());
}

async fn twins_do_not_notice_each_other() {
    let (alone, together) = (TestService::start().await, TestService::start().await);
    for service in [&alone, &together] {
        // What is new gets IDs that no record above has, all in one bucket of the counts.
        let sequences = "select setval(oid::regclass, 103500) from pg_class where relkind = 'S'";
        sqlx::raw_sql(sequences).execute(&service.pool).await.unwrap();
    }
    let mut with_own_texts = 0;
    for call in calls().into_values().chain(lists()) {
        for side in [Side::Left, Side::Right] {
            forget_all(&alone.pool).await;
            let (response, rows) = outcome(&alone, side, None, call).await;
            let other = if side == Side::Left { Side::Right } else { Side::Left };
            let (with_twin, rows_with_twin) = outcome(&together, side, Some(other), call).await;
            assert_eq!(with_twin, response, "the response differs when another company has the same identifiers");
            assert_eq!(rows_with_twin, rows, "the rows differ when another company has the same identifiers");
            with_own_texts += usize::from(response.contains(side.name()));
        }
    }
    // Lists, single records, records in bulk and exports, by either company.
    assert!(with_own_texts >= 2 * 13, "{with_own_texts} responses show a text of their company");
}

/// Fills a company, and its twin if there is to be one, and calls an operation: the response and the rows of the company
/// afterwards, without what differs by chance. The twin's rows must not change.
async fn outcome(service: &TestService, side: Side, twin: Option<Side>, call: Call) -> (String, String) {
    // Far from other numbers that occur.
    let [company, other] = [new_company(), new_company()].map(|company| 1_000_000 + company);
    side.fill(&service.pool, company).await;
    if let Some(twin) = twin {
        twin.fill(&service.pool, other).await;
    }
    let before = rows_of(&service.pool, other).await;
    assert_eq!(before.is_empty(), twin.is_none());
    let response = call(&mut Twin { grpc: service.grpc(company).await, side }).await;
    assert_eq!(rows_of(&service.pool, other).await, before, "a call of {company} changed rows of {other}");
    (normalized(&response), normalized(&rows_of(&service.pool, company).await))
}

/// Removes the rows of every company.
async fn forget_all(pool: &PgPool) {
    let statement = format!("truncate {}", tables(pool).await.join(", "));
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(pool).await.unwrap();
}

/// A text with `#` in place of every number that may differ from run to run: all but digits and the IDs above. Its lines
/// are sorted.
fn normalized(text: &str) -> String {
    let mut lines: Vec<String> = text.lines().map(without_numbers).collect();
    lines.sort();
    lines.join("\n")
}

fn without_numbers(line: &str) -> String {
    let mut kept = String::new();
    let mut rest = line;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let digits = rest[start..].find(|c: char| !c.is_ascii_digit()).map_or(rest.len(), |length| start + length);
        kept.push_str(&rest[..start]);
        let number = &rest[start..digits];
        let is_known = number.len() == 4 && ("5000"..="7999").contains(&number);
        kept.push_str(if number.len() == 1 || is_known { number } else { "#" });
        rest = &rest[digits..];
    }
    kept.push_str(rest);
    kept
}
