//! Calls to each operation, by a company that shares identifiers with another company.

use compliance_api::v1::{
    AddComplianceUrlsRequest, AddVocabularyEntriesRequest, AffiliateInput, AffiliateSort, AffiliateSync,
    AffiliateUpdate, AttachIncidentsRequest, BatchCreateAffiliatesRequest, BatchGetAffiliatesRequest,
    BatchGetComplianceCasesRequest, BatchGetComplianceUrlsRequest, BatchOpenCasesRequest, BatchSyncAffiliatesRequest,
    BatchUpdateAffiliatesRequest, CaseInput, CheckAccessRequest, CloseCaseRequest, CreateAffiliateRequest,
    CreateWebhookRequest, DeleteWebhookRequest, DetachIncidentsRequest, EraseAffiliateRequest, ExportCasesRequest,
    ExportUrlsRequest, GetAffiliateRequest, GetComplianceCaseRequest, GetComplianceUrlRequest, GetOverviewRequest,
    GetVocabulariesRequest, GetWebhookRequest, IncidentInput, IncidentKey, IncidentType, InfractionInput,
    ListAffiliatePageRequest, ListAffiliatesRequest, ListAllComplianceCasesRequest, ListAllComplianceUrlsRequest,
    ListChangesRequest, ListComplianceCasesRequest, ListComplianceUrlsRequest, ListVocabulariesRequest,
    ListWebhookDeliveriesRequest, ListWebhooksRequest, ObserveUrlsRequest, OpenCaseRequest, RecordInfractionsRequest,
    ReopenCaseRequest, ResolveCaseRequest, ReviewUrlRequest, RotateWebhookSecretRequest, SearchAffiliatesRequest,
    SearchChangesRequest, SearchComplianceUrlsRequest, StreamComplianceUrlsRequest, StreamUrlObservationsRequest,
    SyncAffiliatesRequest, TestWebhookRequest, UpdateAffiliateRequest, UpdateCaseRequest, UpdateWebhookRequest,
    UrlInfraction, UrlInput, UrlObservation, UrlReview, UrlSort, VocabularyEntryInput, VocabularyKind,
    WatchChangesRequest, WebhookInput, WithdrawInfractionsRequest,
};
use futures::future::LocalBoxFuture;
use prost::Message as _;
use test_support::GrpcClients;
use tonic::Status;

use super::twins::{AFFILIATE, CASE, INCIDENT, OTHER_URL, Side, UPLINE, URL, WEBHOOK};
use crate::batch_read::{self, Batch};

/// The company that makes the calls.
pub(crate) struct Twin {
    pub(crate) grpc: GrpcClients,
    pub(crate) token: String,
    pub(crate) side: Side,
    /// The messages that the company has sent.
    pub(crate) requests: Vec<Vec<u8>>,
}

pub(crate) type Call = for<'a> fn(&'a mut Twin) -> LocalBoxFuture<'a, String>;

/// Declares `calls()`. Each entry consists of an operation, its client and method, and a request. A call returns the response as text.
macro_rules! calls {
    ($($operation:literal $kind:ident $client:ident.$method:ident |$twin:ident| $request:expr;)*) => {
        pub(crate) fn calls() -> Vec<(&'static str, Call)> {
            vec![$(($operation, |$twin| Box::pin(async move {
                let _ = &$twin.side;
                let request = $request;
                $twin.requests.push(request.encode_to_vec());
                match $twin.grpc.$client.$method(calls!(@request $kind request)).await {
                    Ok(response) => calls!(@$kind (response.into_inner())),
                    Err(status) => shown(&status),
                }
            }))),*]
        }
    };
    (@request chunks $request:ident) => { futures::stream::iter([$request]) };
    (@request $kind:ident $request:ident) => { $request };
    // Reads up to the last change, because a watch is endless.
    (@watch $response:tt) => {{
        let (mut messages, mut text) = ($response, String::new());
        loop {
            let page = messages.message().await.unwrap().unwrap().page.unwrap();
            text.push_str(&format!("{page:?}\n"));
            if page.position >= page.last_position {
                break text;
            }
        }
    }};
    (@unary $response:tt) => { format!("{:?}", $response) };
    // Writes a line for each message, because the tests compare response lines in any order.
    (@$kind:ident $response:tt) => {{
        let (mut messages, mut text) = ($response, String::new());
        loop {
            match messages.message().await {
                Ok(Some(message)) => text.push_str(&format!("{message:?}\n")),
                Ok(None) => break text,
                Err(status) => break text + &shown(&status),
            }
        }
    }};
}

fn shown(status: &Status) -> String {
    format!("Err {:?} {} {}", status.code(), status.message(), String::from_utf8_lossy(status.details()))
}

calls! {
    "AccessService/CheckAccess" unary access.check_access |twin| CheckAccessRequest {};
    "AffiliateService/ListAffiliates" stream affiliates.list_affiliates |twin| ListAffiliatesRequest::default();
    "AffiliateService/ListAffiliates" stream affiliates.list_affiliates |twin|
        ListAffiliatesRequest { q: text("s"), ..ListAffiliatesRequest::default() };
    "AffiliateService/ListAffiliatePage" unary affiliates.list_affiliate_page |twin| ListAffiliatePageRequest::default();
    "AffiliateService/ListAffiliatePage" unary affiliates.list_affiliate_page |twin| ListAffiliatePageRequest {
        q: text("s"),
        sort_by: AffiliateSort::AffiliateName.into(),
        per_page: Some(1),
        ..ListAffiliatePageRequest::default()
    };
    "AffiliateService/GetAffiliate" unary affiliates.get_affiliate |twin| GetAffiliateRequest { id: AFFILIATE , as_of: None };
    "AffiliateService/BatchGetAffiliates" unary affiliates.batch_get_affiliates |twin|
        BatchGetAffiliatesRequest { ids: vec![UPLINE, AFFILIATE] };
    "AffiliateService/SearchAffiliates" unary affiliates.search_affiliates |twin|
        SearchAffiliatesRequest { q: "s".to_owned(), limit: None };
    "AffiliateService/CreateAffiliate" unary affiliates.create_affiliate |twin|
        CreateAffiliateRequest { affiliate: Some(affiliate("A", &format!("{} upline", twin.side.other()))) };
    "AffiliateService/BatchCreateAffiliates" unary affiliates.batch_create_affiliates |twin|
        BatchCreateAffiliatesRequest {
            affiliates: vec![affiliate("A", "Same"), affiliate("B", &format!("{} upline", twin.side.other()))], validate_only: false };
    "AffiliateService/UpdateAffiliate" unary affiliates.update_affiliate |twin|
        UpdateAffiliateRequest { update: Some(renamed(AFFILIATE, &format!("{} upline", twin.side.other()))) };
    "AffiliateService/UpdateAffiliate" unary affiliates.update_affiliate |twin| UpdateAffiliateRequest {
        update: Some(AffiliateUpdate { affiliate: Some(affiliate("C", "Same")), ..renamed(AFFILIATE, "") }),
    };
    "AffiliateService/BatchUpdateAffiliates" unary affiliates.batch_update_affiliates |twin|
        BatchUpdateAffiliatesRequest {
            anchor_id: Some(AFFILIATE),
            affiliates: vec![
                renamed(UPLINE, "Same"),
                renamed(AFFILIATE, &format!("{} upline", twin.side.other())),
                renamed(UPLINE, "Same"),
                AffiliateUpdate { affiliate: Some(affiliate("C", "New")), ..renamed(AFFILIATE, "") },
            ], validate_only: false };
    "AffiliateSyncService/BatchSyncAffiliates" unary syncs.batch_sync_affiliates |twin|
        BatchSyncAffiliatesRequest { affiliates: roster(twin.side), ..BatchSyncAffiliatesRequest::default() };
    "AffiliateSyncService/BatchSyncAffiliates" unary syncs.batch_sync_affiliates |twin| BatchSyncAffiliatesRequest {
        affiliates: vec![synced("A", "Elsewhere")],
        absent_status: text("terminated"),
        ..BatchSyncAffiliatesRequest::default()
    };
    "AffiliateRosterService/SyncAffiliates" chunks rosters.sync_affiliates |twin|
        SyncAffiliatesRequest { affiliates: roster(twin.side), report_absent: true, ..SyncAffiliatesRequest::default() };
    "ComplianceUrlService/ListComplianceUrls" unary urls.list_compliance_urls |twin|
        ListComplianceUrlsRequest { distributor_id: Some(AFFILIATE), ..ListComplianceUrlsRequest::default() };
    "ComplianceUrlService/ListComplianceUrls" unary urls.list_compliance_urls |twin| ListComplianceUrlsRequest {
        discovery_after: text("2024-01-01"),
        sort_by: UrlSort::LastReviewDt.into(),
        ..ListComplianceUrlsRequest::default()
    };
    "ComplianceUrlService/ListComplianceUrls" unary urls.list_compliance_urls |twin|
        ListComplianceUrlsRequest { incident_status_id: Some(5101), ..ListComplianceUrlsRequest::default() };
    "ComplianceUrlService/ListComplianceUrls" unary urls.list_compliance_urls |twin|
        ListComplianceUrlsRequest { infraction_after: text("2000-01-01"), ..ListComplianceUrlsRequest::default() };
    "ComplianceUrlService/ListComplianceUrls" unary urls.list_compliance_urls |twin| ListComplianceUrlsRequest {
        infraction_type_id: Some(2),
        has_case: Some(true),
        ..ListComplianceUrlsRequest::default()
    };
    "ComplianceUrlService/StreamComplianceUrls" stream urls.stream_compliance_urls |twin|
        StreamComplianceUrlsRequest { list: Some(ListComplianceUrlsRequest::default()) };
    "ComplianceUrlService/StreamComplianceUrls" stream urls.stream_compliance_urls |twin| {
        let list = ListComplianceUrlsRequest {
            incident_status_id: Some(5101),
            distributor_id: Some(AFFILIATE),
            infraction_type_id: Some(2),
            ..ListComplianceUrlsRequest::default()
        };
        StreamComplianceUrlsRequest { list: Some(list) }
    };
    "ComplianceUrlService/ListAllComplianceUrls" stream urls.list_all_compliance_urls |twin|
        ListAllComplianceUrlsRequest::default();
    "ComplianceUrlService/ListAllComplianceUrls" stream urls.list_all_compliance_urls |twin| ListAllComplianceUrlsRequest {
        distributor_id: Some(AFFILIATE),
        incident_status_id: Some(5101),
        after_id: Some(URL - 1),
        infraction_type_id: Some(2),
        has_case: Some(false),
        ..ListAllComplianceUrlsRequest::default()
    };
    "ComplianceUrlService/GetComplianceUrl" unary urls.get_compliance_url |twin| GetComplianceUrlRequest { id: URL , as_of: None };
    "ComplianceUrlService/BatchGetComplianceUrls" unary urls.batch_get_compliance_urls |twin|
        BatchGetComplianceUrlsRequest { ids: vec![OTHER_URL, URL] };
    "ComplianceUrlService/SearchComplianceUrls" unary urls.search_compliance_urls |twin|
        SearchComplianceUrlsRequest { q: "EXAMPLE".to_owned(), limit: None };
    "ComplianceUrlService/AddComplianceUrls" unary urls.add_compliance_urls |twin| AddComplianceUrlsRequest {
        urls: ["https://same.example/".to_owned(), format!("https://{}.example/", twin.side.other().to_lowercase())]
            .map(|url| UrlInput { url: Some(url) })
            .to_vec(), validate_only: false };
    "ComplianceCaseService/ListComplianceCases" unary cases.list_compliance_cases |twin|
        ListComplianceCasesRequest { distributor_id: Some(AFFILIATE), ..ListComplianceCasesRequest::default() };
    "ComplianceCaseService/ListComplianceCases" unary cases.list_compliance_cases |twin| ListComplianceCasesRequest {
        case_status_id: Some(5201),
        created_before: text("2024-12-31"),
        ..ListComplianceCasesRequest::default()
    };
    "ComplianceCaseService/ListComplianceCases" unary cases.list_compliance_cases |twin| ListComplianceCasesRequest {
        risk_level_id: Some(0),
        sub_status_id: Some(0),
        infraction_type_id: Some(2),
        url_id: Some(URL),
        tag: text("same"),
        ..ListComplianceCasesRequest::default()
    };
    "ComplianceCaseService/ListAllComplianceCases" stream cases.list_all_compliance_cases |twin|
        ListAllComplianceCasesRequest {
            risk_level_id: Some(0),
            sub_status_id: Some(0),
            infraction_type_id: Some(2),
            url_id: Some(URL),
            tag: text("same"),
            ..ListAllComplianceCasesRequest::default()
        };
    "ComplianceCaseService/ListAllComplianceCases" stream cases.list_all_compliance_cases |twin|
        ListAllComplianceCasesRequest { case_status_id: Some(5201), ..ListAllComplianceCasesRequest::default() };
    "ComplianceCaseService/ListAllComplianceCases" stream cases.list_all_compliance_cases |twin|
        ListAllComplianceCasesRequest {
            distributor_id: Some(AFFILIATE),
            after_id: Some(CASE - 1),
            ..ListAllComplianceCasesRequest::default()
        };
    "ComplianceCaseService/GetComplianceCase" unary cases.get_compliance_case |twin|
        GetComplianceCaseRequest { id: CASE , as_of: None };
    "ComplianceCaseService/BatchGetComplianceCases" unary cases.batch_get_compliance_cases |twin|
        BatchGetComplianceCasesRequest { ids: vec![CASE] };
    "OverviewService/GetOverview" unary overview.get_overview |twin| GetOverviewRequest {};
    "VocabularyService/GetVocabularies" unary vocabularies.get_vocabularies |twin| GetVocabulariesRequest {};
    "ChangeService/WatchChanges" watch changes.watch_changes |twin|
        WatchChangesRequest { after: Some(0), types: vec!["affiliate".to_owned(), "url".to_owned()] };
    "ChangeService/ListChanges" unary changes.list_changes |twin|
        ListChangesRequest { after: Some(0), ..ListChangesRequest::default() };
    "ChangeService/ListChanges" unary changes.list_changes |twin|
        ListChangesRequest { after: Some(0), types: vec!["affiliate".to_owned(), "url".to_owned()], limit: Some(3) };
    "ErasureService/EraseAffiliate" unary erasures.erase_affiliate |twin| EraseAffiliateRequest { id: AFFILIATE, ..EraseAffiliateRequest::default() };
    "WebhookService/ListWebhooks" unary webhooks.list_webhooks |twin| ListWebhooksRequest {};
    "WebhookService/CreateWebhook" unary webhooks.create_webhook |twin|
        CreateWebhookRequest { webhook: Some(webhook()) };
    "WebhookService/GetWebhook" unary webhooks.get_webhook |twin| GetWebhookRequest { id: WEBHOOK };
    "WebhookService/UpdateWebhook" unary webhooks.update_webhook |twin|
        UpdateWebhookRequest { id: WEBHOOK, webhook: Some(webhook()) };
    "WebhookService/DeleteWebhook" unary webhooks.delete_webhook |twin| DeleteWebhookRequest { id: WEBHOOK };
    "WebhookService/RotateWebhookSecret" unary webhooks.rotate_webhook_secret |twin|
        RotateWebhookSecretRequest { id: WEBHOOK };
    "WebhookService/TestWebhook" unary webhooks.test_webhook |twin| TestWebhookRequest { id: WEBHOOK };
    "WebhookService/ListWebhookDeliveries" unary webhooks.list_webhook_deliveries |twin|
        ListWebhookDeliveriesRequest { id: WEBHOOK, limit: Some(7) };
    "AuditService/SearchChanges" unary audit.search_changes |twin| SearchChangesRequest::default();
    "AuditService/SearchChanges" unary audit.search_changes |twin|
        SearchChangesRequest { request_id: text("Same"), ..SearchChangesRequest::default() };
    "AuditService/SearchChanges" unary audit.search_changes |twin|
        SearchChangesRequest { resource: text("affiliate"), id: Some(AFFILIATE), ..SearchChangesRequest::default() };
    "ReadService/BatchRead" stream reads.batch_read |twin| {
        let (token, batch) = (Some(twin.token.as_str()), Batch::default());
        batch.read(token, batch_read::affiliate(AFFILIATE)).read(token, batch_read::url(URL))
            .read(token, batch_read::case(CASE)).into_request()
    };
    "MonitoringService/ObserveUrls" unary monitoring.observe_urls |twin|
        ObserveUrlsRequest { observations: observations(twin.side) };
    "MonitoringService/StreamUrlObservations" chunks monitoring.stream_url_observations |twin|
        StreamUrlObservationsRequest { observations: observations(twin.side) };
    "MonitoringService/ExportUrls" stream monitoring.export_urls |twin| ExportUrlsRequest::default();
    "MonitoringService/ExportUrls" stream monitoring.export_urls |twin| ExportUrlsRequest { after_url_id: Some(URL), changed_after: None };
    "MonitoringService/RecordInfractions" unary monitoring.record_infractions |twin|
        RecordInfractionsRequest { infractions: infractions() };
    "MonitoringService/WithdrawInfractions" unary monitoring.withdraw_infractions |twin|
        WithdrawInfractionsRequest { infractions: infractions() };
    "MonitoringService/ReviewUrl" unary monitoring.review_url |twin| ReviewUrlRequest {
        id: URL,
        review: Some(UrlReview {
            incident_status: text("Status B"),
            infractions: vec![InfractionInput {
                infraction_type: text("Promotion"),
                infraction_name: text("misleading offer"),
                created_date: None,
            }],
            ..UrlReview::default()
        }),
        update_mask: None, etag: String::new(),
    };
    "MonitoringService/OpenCase" unary monitoring.open_case |twin| opening(&format!("{} request", twin.side.other()));
    "MonitoringService/OpenCase" unary monitoring.open_case |twin| opening_by_ids("New");
    "MonitoringService/BatchOpenCases" unary monitoring.batch_open_cases |twin|
        BatchOpenCasesRequest { cases: vec![opening("Same"), opening("New"), opening_by_ids("Newer")] };
    "MonitoringService/ExportCases" stream monitoring.export_cases |twin| ExportCasesRequest::default();
    "MonitoringService/ExportCases" stream monitoring.export_cases |twin|
        ExportCasesRequest { after_case_id: Some(CASE - 1), changed_after: None };
    "MonitoringService/UpdateCase" unary monitoring.update_case |twin| UpdateCaseRequest {
        id: CASE,
        case: Some(CaseInput { case_status: text("Case B"), client_affiliate_id: text("B"), ..CaseInput::default() }),
        update_mask: None, etag: String::new(),
    };
    "MonitoringService/UpdateCase" unary monitoring.update_case |twin| UpdateCaseRequest {
        id: CASE,
        case: Some(CaseInput { affiliate_id: Some(UPLINE), ..CaseInput::default() }),
        update_mask: None, etag: String::new(),
    };
    "MonitoringService/ResolveCase" unary monitoring.resolve_case |twin|
        ResolveCaseRequest { id: CASE, ..ResolveCaseRequest::default() };
    "MonitoringService/CloseCase" unary monitoring.close_case |twin|
        CloseCaseRequest { id: CASE, case_status: text("Closed"), ..CloseCaseRequest::default() };
    "MonitoringService/ReopenCase" unary monitoring.reopen_case |twin|
        ReopenCaseRequest { id: CASE, case_status: text("Case A"), etag: String::new() };
    "MonitoringService/AttachIncidents" unary monitoring.attach_incidents |twin| AttachIncidentsRequest {
        id: CASE,
        incidents: vec![
            IncidentInput { url: text("https://same.example/"), ..incident() },
            IncidentInput { url_id: Some(OTHER_URL), ..incident() },
            IncidentInput { incident_type: IncidentType::Form.into(), reference: text("Same"), ..incident() },
        ],
    };
    "MonitoringService/DetachIncidents" unary monitoring.detach_incidents |twin| DetachIncidentsRequest {
        id: CASE,
        incidents: vec![
            IncidentKey { incident_id: Some(INCIDENT), ..IncidentKey::default() },
            IncidentKey { incident_type: Some(IncidentType::Url.into()), url_id: Some(URL), ..IncidentKey::default() },
            IncidentKey {
                incident_type: Some(IncidentType::Url.into()),
                url: text("https://same.example/"),
                ..IncidentKey::default()
            },
            IncidentKey {
                incident_type: Some(IncidentType::Form.into()),
                reference: text("Same"),
                ..IncidentKey::default()
            },
        ],
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

#[expect(clippy::unnecessary_wraps, reason = "every text of a message is optional")]
fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn synced(client_id: &str, city: &str) -> AffiliateSync {
    let affiliate =
        AffiliateInput { client_affiliate_id: text(client_id), city: text(city), ..AffiliateInput::default() };
    AffiliateSync { affiliate: Some(affiliate), update_mask: None }
}

/// Returns a shared affiliate, and new affiliates with a name from the other company and from both companies.
fn roster(side: Side) -> Vec<AffiliateSync> {
    let new = |client_id, name: &str| AffiliateSync { affiliate: Some(affiliate(client_id, name)), update_mask: None };
    vec![synced("A", "Elsewhere"), new("C", &format!("{} upline", side.other())), new("D", "Same")]
}

fn webhook() -> WebhookInput {
    WebhookInput { url: text("https://127.0.0.1:1/same"), position: Some(1), ..WebhookInput::default() }
}

fn affiliate(client_id: &str, name: &str) -> AffiliateInput {
    AffiliateInput { client_affiliate_id: text(client_id), affiliate_name: text(name), ..AffiliateInput::default() }
}

fn renamed(id: i64, name: &str) -> AffiliateUpdate {
    let affiliate = AffiliateInput { affiliate_name: text(name), ..AffiliateInput::default() };
    AffiliateUpdate { id: Some(id), affiliate: Some(affiliate), update_mask: None, etag: String::new() }
}

/// Returns a shared URL, the other company's URL, and a new URL.
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
        UrlObservation {
            url: text("https://third.example/"),
            affiliate_id: Some(AFFILIATE),
            infractions: vec![infraction("Health Claim", "weight loss")],
            ..UrlObservation::default()
        },
    ]
}

fn infraction(kind: &str, name: &str) -> InfractionInput {
    InfractionInput { infraction_type: text(kind), infraction_name: text(name), created_date: None }
}

/// Returns two infractions, each for two URLs: one by text and one by ID.
fn infractions() -> Vec<UrlInfraction> {
    let mut infractions = Vec::new();
    for (kind, name) in [("Health Claim", "weight loss"), ("Promotion", "misleading offer")] {
        let infraction = Some(infraction(kind, name));
        let by_text = UrlInfraction { url: text("https://same.example/"), infraction, ..UrlInfraction::default() };
        infractions.extend([UrlInfraction { url: None, url_id: Some(OTHER_URL), ..by_text.clone() }, by_text]);
    }
    infractions
}

fn incident() -> IncidentInput {
    IncidentInput {
        incident_type: IncidentType::Url.into(),
        infraction_type: text("Promotion"),
        infraction_name: text("misleading offer"),
        ..IncidentInput::default()
    }
}

fn opening(request_id: &str) -> OpenCaseRequest {
    OpenCaseRequest {
        request_id: text(request_id),
        case: Some(CaseInput { client_affiliate_id: text("A"), case_status: text("Case B"), ..CaseInput::default() }),
        incidents: vec![
            IncidentInput { url: text("https://same.example/"), ..incident() },
            IncidentInput { incident_type: IncidentType::Form.into(), reference: text("Same"), ..incident() },
        ],
        ..OpenCaseRequest::default()
    }
}

/// Returns a request like [`opening`] that refers to records by ID.
fn opening_by_ids(request_id: &str) -> OpenCaseRequest {
    OpenCaseRequest {
        case: Some(CaseInput { affiliate_id: Some(AFFILIATE), ..CaseInput::default() }),
        incidents: vec![IncidentInput { url_id: Some(URL), ..incident() }],
        ..opening(request_id)
    }
}
