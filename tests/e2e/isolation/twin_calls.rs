//! One call of each operation, by a company whose identifiers another company has too.

use std::collections::BTreeMap;

use compliance_api::v1::{
    AddComplianceUrlsRequest, AddVocabularyEntriesRequest, AffiliateInput, AffiliateUpdate, AttachIncidentsRequest,
    BatchCreateAffiliatesRequest, BatchGetAffiliatesRequest, BatchGetComplianceCasesRequest,
    BatchGetComplianceUrlsRequest, BatchOpenCasesRequest, BatchUpdateAffiliatesRequest, CaseInput, CheckAccessRequest,
    CloseCaseRequest, CreateAffiliateRequest, DetachIncidentsRequest, ExportCasesRequest, ExportUrlsRequest,
    GetAffiliateRequest, GetComplianceCaseRequest, GetComplianceUrlRequest, IncidentInput, IncidentKey, IncidentType,
    InfractionInput, ListAffiliatesRequest, ListComplianceCasesRequest, ListComplianceUrlsRequest,
    ListVocabulariesRequest, ObserveUrlsRequest, OpenCaseRequest, RecordInfractionsRequest, ReopenCaseRequest,
    ResolveCaseRequest, StreamComplianceUrlsRequest, StreamUrlObservationsRequest, UpdateAffiliateRequest,
    UpdateCaseRequest, UrlInfraction, UrlInput, UrlObservation, UrlSort, VocabularyEntryInput, VocabularyKind,
    WithdrawInfractionsRequest,
};
use futures::future::LocalBoxFuture;
use test_support::GrpcClients;

use super::twins::{AFFILIATE, CASE, INCIDENT, OTHER_URL, Side, UPLINE, URL};
use crate::batch_read::{self, Batch};

/// A company whose operations are called.
pub(super) struct Twin {
    pub(super) grpc: GrpcClients,
    pub(super) token: String,
    pub(super) side: Side,
}

pub(super) type Call = for<'a> fn(&'a mut Twin) -> LocalBoxFuture<'a, String>;

/// Declares `calls()`: an operation, the client and method, and its request. What is returned is the response as text.
macro_rules! calls {
    ($($operation:literal $kind:ident $client:ident.$method:ident |$twin:ident| $request:expr;)*) => {
        pub(super) fn calls() -> BTreeMap<&'static str, Call> {
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
    // A line for each message, because the lines of a response are compared in any order.
    (@unordered $response:ident) => {{
        let (mut messages, mut text) = ($response, String::new());
        while let Some(message) = messages.message().await.unwrap() {
            text.push_str(&format!("{message:?}\n"));
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
    "ComplianceUrlService/StreamComplianceUrls" stream urls.stream_compliance_urls |twin|
        StreamComplianceUrlsRequest { list: Some(ListComplianceUrlsRequest::default()) };
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
        GetComplianceCaseRequest { id: CASE };
    "ComplianceCaseService/BatchGetComplianceCases" unary cases.batch_get_compliance_cases |twin|
        BatchGetComplianceCasesRequest { ids: vec![CASE] };
    "ReadService/BatchRead" unordered reads.batch_read |twin| {
        let (token, batch) = (Some(twin.token.as_str()), Batch::default());
        batch.read(token, batch_read::affiliate(AFFILIATE)).read(token, batch_read::url(URL))
            .read(token, batch_read::case(CASE)).into_request()
    };
    "MonitoringService/ObserveUrls" unary monitoring.observe_urls |twin|
        ObserveUrlsRequest { observations: observations(twin.side) };
    "MonitoringService/StreamUrlObservations" stream monitoring.stream_url_observations |twin|
        futures::stream::iter([StreamUrlObservationsRequest { observations: observations(twin.side) }]);
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
        id: CASE,
        case: Some(CaseInput { case_status: text("Case B"), client_affiliate_id: text("B"), ..CaseInput::default() }),
        update_mask: None,
    };
    "MonitoringService/ResolveCase" unary monitoring.resolve_case |twin|
        ResolveCaseRequest { id: CASE, ..ResolveCaseRequest::default() };
    "MonitoringService/CloseCase" unary monitoring.close_case |twin|
        CloseCaseRequest { id: CASE, ..CloseCaseRequest::default() };
    "MonitoringService/ReopenCase" unary monitoring.reopen_case |twin|
        ReopenCaseRequest { id: CASE, case_status: text("Case A") };
    "MonitoringService/AttachIncidents" unary monitoring.attach_incidents |twin| AttachIncidentsRequest {
        id: CASE,
        incidents: vec![
            IncidentInput { url: text("https://same.example/"), ..incident() },
            IncidentInput { url_id: Some(OTHER_URL), ..incident() },
        ],
    };
    "MonitoringService/DetachIncidents" unary monitoring.detach_incidents |twin| DetachIncidentsRequest {
        id: CASE,
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

/// Other calls of lists, with other filters and sorts.
pub(super) fn lists() -> Vec<Call> {
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
