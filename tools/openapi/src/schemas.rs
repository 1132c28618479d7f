//! The schemas that follow from the contract, by name: of records, of bodies and of envelopes.

use compliance_api::{description, error::ResultCode};
use docs_pages::{Json, object};

use crate::{
    input, record,
    schema::{closed, list_of, named_choices, one_of_texts, reference},
};

/// All of them.
pub(crate) fn all() -> Vec<(String, Json)> {
    let mut all = Vec::new();
    for (name, kind) in [("Affiliate", "Affiliate"), ("ComplianceUrl", "Url"), ("ComplianceCase", "Case")] {
        all.push((name.to_owned(), record::schema(name)));
        all.push((format!("{kind}Found"), found(reference(name), false)));
        all.push((format!("{kind}List"), found(list_of(reference(name)), kind != "Affiliate")));
    }
    for name in ["Infraction", "Incident", "PageMeta"] {
        all.push((name.to_owned(), record::schema(name)));
    }
    all.push(("UrlsFound".to_owned(), found(list_of(reference("ComplianceUrl")), false)));
    all.push(("OverviewFound".to_owned(), found(reference("Overview"), false)));
    let synced = || Some(reference("BatchSyncAffiliatesResponse"));
    for (name, result) in
        [("AffiliatesSynced", ResultCode::Saved), ("AffiliatesPartlySynced", ResultCode::UpdateFailed)]
    {
        all.push((name.to_owned(), envelope(result, FOUND_DETAIL, synced(), false)));
    }
    all.extend(SYNC.map(|name| (name.to_owned(), record::schema(name))));
    let erased = Some(reference("EraseAffiliateResponse"));
    all.push(("AffiliateErased".to_owned(), envelope(ResultCode::Saved, FOUND_DETAIL, erased, false)));
    all.push(("EraseAffiliateResponse".to_owned(), record::schema("EraseAffiliateResponse")));
    all.push(("VocabulariesFound".to_owned(), found(list_of(reference("VocabularyNames")), false)));
    all.extend(["VocabularyNames", "VocabularyEntry"].map(|name| (name.to_owned(), record::schema(name))));
    all.push(("ChangesFound".to_owned(), found(reference("ListChangesResponse"), false)));
    for (name, data) in [
        ("WebhookFound", reference("Webhook")),
        ("WebhooksFound", list_of(reference("Webhook"))),
        ("WebhookTested", reference("TestWebhookResponse")),
        ("WebhookDeliveriesFound", list_of(reference("WebhookDelivery"))),
    ] {
        all.push((name.to_owned(), found(data, false)));
    }
    for (name, data) in [
        ("WebhookCreated", Some(reference("CreateWebhookResponse"))),
        ("WebhookUpdated", Some(reference("Webhook"))),
        ("WebhookSecretRotated", Some(reference("RotateWebhookSecretResponse"))),
        ("WebhookDeleted", None),
    ] {
        all.push((name.to_owned(), envelope(ResultCode::Saved, FOUND_DETAIL, data, false)));
    }
    all.extend(WEBHOOK.map(|name| (name.to_owned(), record::schema(name))));
    all.push(("AuditFound".to_owned(), found(reference("SearchChangesResponse"), false)));
    let changes = ["ListChangesResponse", "SearchChangesResponse", "Change", "FieldChange"];
    all.extend(changes.map(|name| (name.to_owned(), record::schema(name))));
    all.extend(OVERVIEW.iter().map(|name| ((*name).to_owned(), record::schema(name))));
    all.extend(named_choices().map(|(name, values)| (name.to_owned(), one_of_texts(values))));
    all.extend(input::all());
    for (name, result, keys) in RESULTS {
        let of = format!("{name}Detail");
        all.push(((*name).to_owned(), envelope(*result, &of, None, false)));
        all.push((of, detail(keys)));
    }
    all.push((FOUND_DETAIL.to_owned(), detail(&[])));
    all
}

/// What the result of a sync consists of.
const SYNC: [&str; 4] = ["BatchSyncAffiliatesResponse", "AffiliateSyncResult", "AbsentAffiliate", "FieldViolation"];

/// What responses about webhooks consist of.
const WEBHOOK: [&str; 5] =
    ["Webhook", "CreateWebhookResponse", "RotateWebhookSecretResponse", "TestWebhookResponse", "WebhookDelivery"];

/// What the overview consists of.
const OVERVIEW: [&str; 8] = [
    "Overview",
    "CaseOverview",
    "OpenCasesByRisk",
    "OpenCasesByAge",
    "OverdueCase",
    "UrlOverview",
    "InfractionOverview",
    "OverviewWeek",
];

/// The results of writes: name, code, and the keys of `detail` in addition to the sentence. A key with a question mark can be absent.
const RESULTS: &[(&str, ResultCode, &[&str])] = &[
    ("AffiliateCreated", ResultCode::Saved, &["affiliate_id", "client_affiliate_id"]),
    ("AffiliateValid", ResultCode::Saved, &["client_affiliate_id"]),
    ("AffiliateDuplicate", ResultCode::Duplicate, &["client_affiliate_id"]),
    ("AffiliateInvalidCountry", ResultCode::InvalidCountry, &["client_affiliate_id"]),
    ("AffiliateUpdated", ResultCode::Saved, &["affiliate_id"]),
    ("AffiliateUpdateFailed", ResultCode::UpdateFailed, &["affiliate_id"]),
    ("AffiliateUnknown", ResultCode::NotFound, &["affiliate_id"]),
    ("UrlAdded", ResultCode::Saved, &["url_id"]),
    ("UrlValid", ResultCode::Saved, &[]),
    ("UrlDuplicate", ResultCode::Duplicate, &[]),
    ("UrlReviewed", ResultCode::Saved, &["url_id"]),
    ("CaseOpened", ResultCode::Saved, &["case_id"]),
    ("CaseUpdated", ResultCode::Saved, &["case_id"]),
    ("IncidentSaved", ResultCode::Saved, &["incident_id"]),
    ("IncidentDetached", ResultCode::Saved, &["incident_id?"]),
    ("IncidentInvalid", ResultCode::UpdateFailed, &[]),
    ("IncidentUnknown", ResultCode::NotFound, &[]),
];

/// The name of the detail of every read.
const FOUND_DETAIL: &str = "FoundDetail";

/// The envelope of a read.
fn found(data: Json, has_meta: bool) -> Json {
    envelope(ResultCode::Found, FOUND_DETAIL, Some(data), has_meta)
}

/// An envelope, whose `detail` has a schema of this name: so generated clients have a type for it.
fn envelope(result: ResultCode, detail: &str, data: Option<Json>, has_meta: bool) -> Json {
    let is_ok = matches!(result, ResultCode::Saved | ResultCode::Found);
    let mut properties = vec![
        (
            "code",
            object! { "type": "string", "const": i32::from(result).to_string(), "description": description::result_code(result) },
        ),
        ("status", object! { "type": "string", "const": if is_ok { "ok" } else { "error" } }),
        ("detail", reference(detail)),
    ];
    properties.extend(data.map(|data| ("data", data)));
    properties.extend(has_meta.then(|| ("meta", reference("PageMeta"))));
    closed(properties)
}

fn detail(keys: &[&'static str]) -> Json {
    let of_key = |key: &&'static str| {
        let schema = if *key == "client_affiliate_id" {
            object! { "type": "string", "description": "The client's own identifier, as sent." }
        } else {
            // Of an update, it is the ID that was sent, whatever that was.
            let doc = "ID of the record, assigned by the service.";
            object! { "type": "integer", "format": "int64", "description": doc }
        };
        (key.trim_end_matches('?'), schema)
    };
    let mut properties: Vec<(&str, Json)> = keys.iter().map(of_key).collect();
    let doc = "What happened, in a sentence for people.";
    properties.push(("msg", object! { "type": "string", "minLength": 1, "description": doc }));
    let required = keys.iter().filter(|key| !key.ends_with('?')).chain(&["msg"]).copied().collect::<Vec<_>>();
    closed(properties).with("required", required)
}
