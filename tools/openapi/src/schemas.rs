//! Generates the named schemas of records, bodies and envelopes from the contract.

use compliance_api::{
    description::{self, Kind, Message},
    error::ResultCode,
};
use docs_pages::{Json, object};

use crate::{
    input, record,
    route::named,
    schema::{closed, message, named_choices, one_of_texts, reference},
};

/// Envelopes with data: name, result, and the message in `data`. Brackets mean a list.
const ENVELOPES: [(&str, ResultCode, &str); 22] = [
    ("AffiliateFound", ResultCode::Found, "Affiliate"),
    ("AffiliateList", ResultCode::Found, "[Affiliate]"),
    ("UrlFound", ResultCode::Found, "ComplianceUrl"),
    ("UrlList", ResultCode::Found, "[ComplianceUrl]"),
    ("CaseFound", ResultCode::Found, "ComplianceCase"),
    ("CaseList", ResultCode::Found, "[ComplianceCase]"),
    ("UrlsFound", ResultCode::Found, "[ComplianceUrl]"),
    ("OverviewFound", ResultCode::Found, "Overview"),
    ("AffiliatesSynced", ResultCode::Saved, "BatchSyncAffiliatesResponse"),
    ("AffiliatesPartlySynced", ResultCode::UpdateFailed, "BatchSyncAffiliatesResponse"),
    ("AffiliateErased", ResultCode::Saved, "EraseAffiliateResponse"),
    ("VocabulariesFound", ResultCode::Found, "[VocabularyNames]"),
    ("ChangesFound", ResultCode::Found, "ListChangesResponse"),
    ("WebhookFound", ResultCode::Found, "Webhook"),
    ("WebhooksFound", ResultCode::Found, "[Webhook]"),
    ("WebhookTested", ResultCode::Found, "TestWebhookResponse"),
    ("WebhookDeliveriesFound", ResultCode::Found, "[WebhookDelivery]"),
    ("WebhookCreated", ResultCode::Saved, "CreateWebhookResponse"),
    ("WebhookUpdated", ResultCode::Saved, "Webhook"),
    ("WebhookSecretRotated", ResultCode::Saved, "RotateWebhookSecretResponse"),
    ("WebhookDeleted", ResultCode::Saved, ""),
    ("AuditFound", ResultCode::Found, "SearchChangesResponse"),
];

/// The envelopes with `meta`.
const PAGES: [&str; 2] = ["UrlList", "CaseList"];
/// Envelope for either a page, with `meta`, or all records.
const PAGE_OR_ALL: &str = "AffiliateList";

/// Returns all schemas.
pub(crate) fn all() -> Vec<(String, Json)> {
    let mut all = Vec::new();
    add_records(message("PageMeta"), &mut all);
    for (name, result, data) in ENVELOPES {
        let data = (!data.is_empty()).then(|| {
            add_records(message(data.trim_matches(['[', ']'])), &mut all);
            named(data)
        });
        let has_meta = PAGES.contains(&name) || name == PAGE_OR_ALL;
        let mut schema = envelope(result, FOUND_DETAIL, data, has_meta);
        if name == PAGE_OR_ALL {
            schema = schema.with("required", vec!["code", "status", "detail", "data"]);
        }
        all.push((name.to_owned(), schema));
    }
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

/// Adds the schema of a message and its nested messages.
fn add_records(message: &Message, all: &mut Vec<(String, Json)>) {
    if all.iter().any(|(name, _)| name == message.name) || message.name == "Timestamp" {
        return;
    }
    all.push((message.name.to_owned(), record::schema(message.name)));
    for field in message.fields {
        if let Kind::Message(inner) = field.kind {
            add_records(inner, all);
        }
    }
}

/// Results of writes: name, code, and the keys of `detail` other than `msg`. Keys with a question mark are optional.
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

/// Schema of a `detail` that contains only `msg`.
const FOUND_DETAIL: &str = "FoundDetail";

/// Returns an envelope. `detail` is the name of a schema, for which generated clients contain a type.
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
            object! { "type": "string", "description": "The company's own identifier, as sent." }
        } else {
            // No minimum, because an update's result contains the ID as sent.
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
