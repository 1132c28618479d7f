//! Calls to each operation, by a company that shares identifiers with another company.

use futures::stream;
use prost_reflect::DynamicMessage;
use tonic::Status;

use super::{
    routes::filled,
    twins::{AFFILIATE, CASE, Side, UPLINE, URL},
};
use crate::described::{
    calls::{Core, WATCH},
    json::request,
    messages::{method, shown},
};

/// An operation, and a request as JSON.
///
/// `<a>` and `<s>` are affiliates, `<u>` is a URL, and `<c>` is a case. `<OTHER>` and `<other>` are the other company's name in its texts.
pub(crate) type Call = (&'static str, &'static str);

/// Parts of several requests.
const PARTS: [(&str, &str); 5] = [
    // A shared affiliate, and new affiliates with a name from the other company and from both companies.
    (
        "<roster>",
        r#"[{"client_affiliate_id":"A","city":"Elsewhere"},{"client_affiliate_id":"C","affiliate_name":"<OTHER> upline"},
            {"client_affiliate_id":"D","affiliate_name":"Same"}]"#,
    ),
    // A shared URL, the other company's URL, and a new URL.
    (
        "<observations>",
        r#"[{"url":"https://same.example/","client_affiliate_id":"A","incident_status":"Status B","note":"new"},
            {"url":"https://<other>.example/","client_affiliate_id":"A","incident_status":"Status B"},
            {"url":"https://third.example/","affiliate_id":<a>,
                "infractions":[{"infraction_type":"Health Claim","infraction_name":"weight loss"}]}]"#,
    ),
    // Two infractions, each for two URLs: one by text and one by ID.
    (
        "<infractions>",
        r#"[{"url_id":6002,"infraction_type":"Health Claim","infraction_name":"weight loss"},
            {"url":"https://same.example/","infraction_type":"Health Claim","infraction_name":"weight loss"},
            {"url_id":6002,"infraction_type":"Promotion","infraction_name":"misleading offer"},
            {"url":"https://same.example/","infraction_type":"Promotion","infraction_name":"misleading offer"}]"#,
    ),
    (
        "<opening>",
        r#""case":{"client_affiliate_id":"A","case_status":"Case B"},
            "incidents":[{"incident_type":"url","url":"https://same.example/",<promotion>},
                {"incident_type":"form","reference":"Same",<promotion>}]"#,
    ),
    ("<promotion>", r#""infraction_type":"Promotion","infraction_name":"misleading offer""#),
];

/// Calls to every operation. `isolation` fails if one is missing.
pub(crate) const CALLS: &[Call] = &[
    ("AccessService/CheckAccess", "{}"),
    ("AffiliateService/ListAffiliates", "{}"),
    ("AffiliateService/ListAffiliates", r#"{"q":"s"}"#),
    ("AffiliateService/ListAffiliatePage", "{}"),
    ("AffiliateService/ListAffiliatePage", r#"{"q":"s","sort_by":"affiliate_name","per_page":1}"#),
    ("AffiliateService/GetAffiliate", r#"{"id":<a>}"#),
    ("AffiliateService/BatchGetAffiliates", r#"{"ids":[<s>,<a>]}"#),
    ("AffiliateService/SearchAffiliates", r#"{"q":"s"}"#),
    ("AffiliateService/CreateAffiliate", r#"{"client_affiliate_id":"A","affiliate_name":"<OTHER> upline"}"#),
    (
        "AffiliateService/BatchCreateAffiliates",
        r#"{"affiliates":[{"client_affiliate_id":"A","affiliate_name":"Same"},
            {"client_affiliate_id":"B","affiliate_name":"<OTHER> upline"}]}"#,
    ),
    ("AffiliateService/UpdateAffiliate", r#"{"id":<a>,"affiliate_name":"<OTHER> upline"}"#),
    ("AffiliateService/UpdateAffiliate", r#"{"id":<a>,"client_affiliate_id":"C","affiliate_name":"Same"}"#),
    (
        "AffiliateService/BatchUpdateAffiliates",
        r#"{"anchor_id":<a>,"affiliates":[{"id":<s>,"affiliate_name":"Same"},{"id":<a>,"affiliate_name":"<OTHER> upline"},
            {"id":<s>,"affiliate_name":"Same"},{"id":<a>,"client_affiliate_id":"C","affiliate_name":"New"}]}"#,
    ),
    ("AffiliateSyncService/BatchSyncAffiliates", r#"{"affiliates":<roster>}"#),
    (
        "AffiliateSyncService/BatchSyncAffiliates",
        r#"{"affiliates":[{"client_affiliate_id":"A","city":"Elsewhere"}],"absent_status":"terminated"}"#,
    ),
    ("AffiliateRosterService/SyncAffiliates", r#"{"affiliates":<roster>,"report_absent":true}"#),
    ("ComplianceUrlService/ListComplianceUrls", r#"{"distributor_id":<a>}"#),
    ("ComplianceUrlService/ListComplianceUrls", r#"{"discovery_after":"2024-01-01","sort_by":"last_review_dt"}"#),
    ("ComplianceUrlService/ListComplianceUrls", r#"{"incident_status_id":5101}"#),
    ("ComplianceUrlService/ListComplianceUrls", r#"{"infraction_after":"2000-01-01"}"#),
    ("ComplianceUrlService/ListComplianceUrls", r#"{"infraction_type_id":2,"has_case":true}"#),
    ("ComplianceUrlService/StreamComplianceUrls", "{}"),
    (
        "ComplianceUrlService/StreamComplianceUrls",
        r#"{"incident_status_id":5101,"distributor_id":<a>,"infraction_type_id":2}"#,
    ),
    ("ComplianceUrlService/ListAllComplianceUrls", "{}"),
    (
        "ComplianceUrlService/ListAllComplianceUrls",
        r#"{"distributor_id":<a>,"incident_status_id":5101,"after_id":6000,"infraction_type_id":2,"has_case":false}"#,
    ),
    ("ComplianceUrlService/GetComplianceUrl", r#"{"id":<u>}"#),
    ("ComplianceUrlService/BatchGetComplianceUrls", r#"{"ids":[6002,<u>]}"#),
    ("ComplianceUrlService/SearchComplianceUrls", r#"{"q":"EXAMPLE"}"#),
    (
        "ComplianceUrlService/AddComplianceUrls",
        r#"{"urls":[{"url":"https://same.example/"},{"url":"https://<other>.example/"}]}"#,
    ),
    ("ComplianceCaseService/ListComplianceCases", r#"{"distributor_id":<a>}"#),
    ("ComplianceCaseService/ListComplianceCases", r#"{"case_status_id":5201,"created_before":"2024-12-31"}"#),
    (
        "ComplianceCaseService/ListComplianceCases",
        r#"{"risk_level_id":0,"sub_status_id":0,"infraction_type_id":2,"url_id":<u>,"tag":"same"}"#,
    ),
    (
        "ComplianceCaseService/ListAllComplianceCases",
        r#"{"risk_level_id":0,"sub_status_id":0,"infraction_type_id":2,"url_id":<u>,"tag":"same"}"#,
    ),
    ("ComplianceCaseService/ListAllComplianceCases", r#"{"case_status_id":5201}"#),
    ("ComplianceCaseService/ListAllComplianceCases", r#"{"distributor_id":<a>,"after_id":7000}"#),
    ("ComplianceCaseService/GetComplianceCase", r#"{"id":<c>}"#),
    ("ComplianceCaseService/BatchGetComplianceCases", r#"{"ids":[<c>]}"#),
    ("OverviewService/GetOverview", "{}"),
    ("VocabularyService/GetVocabularies", "{}"),
    (WATCH, r#"{"after":0,"types":["affiliate","url"]}"#),
    ("ChangeService/ListChanges", r#"{"after":0}"#),
    ("ChangeService/ListChanges", r#"{"after":0,"types":["affiliate","url"],"limit":3}"#),
    ("ErasureService/EraseAffiliate", r#"{"id":<a>}"#),
    ("WebhookService/ListWebhooks", "{}"),
    ("WebhookService/CreateWebhook", r#"{"url":"https://127.0.0.1:1/same","position":1}"#),
    ("WebhookService/GetWebhook", r#"{"id":7701}"#),
    ("WebhookService/UpdateWebhook", r#"{"id":7701,"url":"https://127.0.0.1:1/same","position":1}"#),
    ("WebhookService/DeleteWebhook", r#"{"id":7701}"#),
    ("WebhookService/RotateWebhookSecret", r#"{"id":7701}"#),
    ("WebhookService/TestWebhook", r#"{"id":7701}"#),
    ("WebhookService/ListWebhookDeliveries", r#"{"id":7701,"limit":7}"#),
    ("AuditService/SearchChanges", "{}"),
    ("AuditService/SearchChanges", r#"{"request_id":"Same"}"#),
    ("AuditService/SearchChanges", r#"{"resource":"affiliate","id":<a>}"#),
    (
        "ReadService/BatchRead",
        r#"{"authorizations":["Bearer <token>"],"reads":[{"authorization":0,"request_id":"read-0","affiliate":{"id":<a>}},
            {"authorization":0,"request_id":"read-1","url":{"id":<u>}},{"authorization":0,"request_id":"read-2","case":{"id":<c>}}]}"#,
    ),
    ("MonitoringService/ObserveUrls", r#"{"observations":<observations>}"#),
    ("MonitoringService/StreamUrlObservations", r#"{"observations":<observations>}"#),
    ("MonitoringService/ExportUrls", "{}"),
    ("MonitoringService/ExportUrls", r#"{"after_url_id":<u>}"#),
    ("MonitoringService/RecordInfractions", r#"{"infractions":<infractions>}"#),
    ("MonitoringService/WithdrawInfractions", r#"{"infractions":<infractions>}"#),
    ("MonitoringService/ReviewUrl", r#"{"id":<u>,"incident_status":"Status B","infractions":[{<promotion>}]}"#),
    ("MonitoringService/OpenCase", r#"{"request_id":"<OTHER> request",<opening>}"#),
    (
        "MonitoringService/OpenCase",
        r#"{"request_id":"New","case":{"affiliate_id":<a>},"incidents":[{"incident_type":"url","url_id":<u>,<promotion>}]}"#,
    ),
    (
        "MonitoringService/BatchOpenCases",
        r#"{"cases":[{"request_id":"Same",<opening>},{"request_id":"New",<opening>},
            {"request_id":"Newer","case":{"affiliate_id":<a>},"incidents":[{"incident_type":"url","url_id":<u>,<promotion>}]}]}"#,
    ),
    ("MonitoringService/ExportCases", "{}"),
    ("MonitoringService/ExportCases", r#"{"after_case_id":7000}"#),
    ("MonitoringService/UpdateCase", r#"{"id":<c>,"case_status":"Case B","client_affiliate_id":"B"}"#),
    ("MonitoringService/UpdateCase", r#"{"id":<c>,"affiliate_id":<s>}"#),
    ("MonitoringService/ResolveCase", r#"{"id":<c>}"#),
    ("MonitoringService/CloseCase", r#"{"id":<c>,"case_status":"Closed"}"#),
    ("MonitoringService/ReopenCase", r#"{"id":<c>,"case_status":"Case A"}"#),
    (
        "MonitoringService/AttachIncidents",
        r#"{"id":<c>,"incidents":[{"incident_type":"url","url":"https://same.example/",<promotion>},
            {"incident_type":"url","url_id":6002,<promotion>},{"incident_type":"form","reference":"Same",<promotion>}]}"#,
    ),
    (
        "MonitoringService/DetachIncidents",
        r#"{"id":<c>,"incidents":[{"incident_id":7501},{"incident_type":"url","url_id":<u>},
            {"incident_type":"url","url":"https://same.example/"},{"incident_type":"form","reference":"Same"}]}"#,
    ),
    ("MonitoringService/ListVocabularies", "{}"),
    (
        "MonitoringService/AddVocabularyEntries",
        r#"{"entries":[{"vocabulary":"url_incident_status","name":"Status A"},{"vocabulary":"url_incident_status","name":"Status New"}]}"#,
    ),
];

/// Calls an operation as a company. Returns the response as text, with a line for each message, and the encoded request.
pub(crate) async fn perform(core: &Core, token: &str, side: Side, (operation, json): Call) -> (String, Vec<u8>) {
    let method = method(operation);
    let json = PARTS.iter().fold(json.to_owned(), |json, (name, part)| json.replace(name, part));
    let json = json.replace("<OTHER>", side.other()).replace("<other>", &side.other().to_lowercase());
    let ids = [AFFILIATE, UPLINE, URL, CASE].map(|id| id.to_string());
    let json = filled(&json, ids.each_ref().map(String::as_str)).replace("<token>", token);
    let request = request(method.input(), &json);

    let mut text = String::new();
    let mut messages =
        match core.open(operation, &[&format!("Bearer {token}")], stream::iter([request.clone()]), None).await {
            Ok(messages) => messages,
            Err(status) => return (shown_error(&status), request),
        };
    loop {
        match messages.message().await {
            Ok(Some(message)) => {
                let message = DynamicMessage::decode(method.output(), &*message).unwrap();
                text.push_str(&shown(&message));
                text.push('\n');
                // Reads up to the last change, because a watch is endless.
                if operation == WATCH && is_last(&message) {
                    break;
                }
            }
            Ok(None) => break,
            Err(status) => {
                text.push_str(&shown_error(&status));
                break;
            }
        }
    }
    (text, request)
}

/// Returns whether a message of a watch contains the last change.
fn is_last(message: &DynamicMessage) -> bool {
    let page = message.get_field_by_name("page").unwrap();
    let position = |name: &str| page.as_message().unwrap().get_field_by_name(name).unwrap().as_i64();
    position("position") >= position("last_position")
}

fn shown_error(status: &Status) -> String {
    format!("Err {:?} {} {}", status.code(), status.message(), String::from_utf8_lossy(status.details()))
}
