//! The schemas of the document, by name.

use compliance_api::{catalogue::Vocabulary, description, error::ResultCode};

use super::{choice, input, record, refusal::code};
use crate::json::{Json, object};

/// A reference to a schema.
pub(super) fn reference(name: &str) -> Json {
    object! { "$ref": format!("#/components/schemas/{name}") }
}

/// A list of what a schema describes.
pub(super) fn list_of(items: Json) -> Json {
    object! { "type": "array", "items": items }
}

/// No value.
pub(super) fn null() -> Json {
    object! { "type": "null" }
}

/// Any of these schemas.
pub(super) fn any_of(schemas: impl IntoIterator<Item = Json>) -> Json {
    object! { "anyOf": Json::list(schemas) }
}

/// One of these schemas.
pub(super) fn one_of(names: &[&str]) -> Json {
    object! { "oneOf": Json::list(names.iter().map(|name| reference(name))) }
}

/// An error whose code is this.
pub(super) fn error_with(result: ResultCode) -> Json {
    reference("Error").with("properties", object! { "code": object! { "const": code(result) } })
}

/// All schemas, by name.
pub(super) fn all() -> Vec<(String, Json)> {
    let mut all = Vec::new();
    for (name, kind) in [("Affiliate", "Affiliate"), ("ComplianceUrl", "Url"), ("ComplianceCase", "Case")] {
        all.push((name.to_owned(), record::schema(name)));
        all.push((format!("{kind}Found"), found(reference(name), false)));
        all.push((format!("{kind}List"), found(list_of(reference(name)), kind != "Affiliate")));
    }
    for name in ["Infraction", "Incident", "PageMeta"] {
        all.push((name.to_owned(), record::schema(name)));
    }
    all.extend(choice::all());
    all.extend(input::all());
    for (name, result, keys) in RESULTS {
        all.push(((*name).to_owned(), envelope(*result, keys, None, false)));
    }
    all.push(("Error".to_owned(), error()));
    all.push(("ValidationFailure".to_owned(), validation_failure()));
    all
}

/// The results of writes: name, code, and the keys of `detail` beside the sentence.
const RESULTS: &[(&str, ResultCode, &[&str])] = &[
    ("AffiliateCreated", ResultCode::Saved, &["affiliate_id", "client_affiliate_id"]),
    ("AffiliateDuplicate", ResultCode::Duplicate, &["client_affiliate_id"]),
    ("AffiliateInvalidCountry", ResultCode::InvalidCountry, &["client_affiliate_id"]),
    ("AffiliateUpdated", ResultCode::Saved, &["affiliate_id"]),
    ("AffiliateUpdateFailed", ResultCode::UpdateFailed, &["affiliate_id"]),
    ("AffiliateUnknown", ResultCode::NotFound, &["affiliate_id"]),
    ("UrlAdded", ResultCode::Saved, &["url_id"]),
    ("UrlDuplicate", ResultCode::Duplicate, &[]),
];

/// The envelope of a read.
fn found(data: Json, has_meta: bool) -> Json {
    envelope(ResultCode::Found, &[], Some(data), has_meta)
}

fn envelope(result: ResultCode, keys: &[&str], data: Option<Json>, has_meta: bool) -> Json {
    let is_ok = matches!(result, ResultCode::Saved | ResultCode::Found);
    let mut properties = vec![
        ("code", object! { "type": "string", "const": code(result), "description": description::result_code(result) }),
        ("status", object! { "type": "string", "const": if is_ok { "ok" } else { "error" } }),
        ("detail", detail(keys)),
    ];
    properties.extend(data.map(|data| ("data", data)));
    properties.extend(has_meta.then(|| ("meta", reference("PageMeta"))));
    closed(properties)
}

/// An object that always has these properties.
pub(super) fn closed(properties: Vec<(&str, Json)>) -> Json {
    let required = Json::list(properties.iter().map(|(name, _)| *name));
    object! { "type": "object", "required": required, "properties": Json::object(properties) }
}

fn detail(keys: &[&str]) -> Json {
    let of_key = |key: &&'static str| match *key {
        "client_affiliate_id" => {
            (*key, object! { "type": "string", "description": "The client's own identifier, as sent." })
        }
        // Of an update, it is the ID that was sent, whatever that was.
        _ => (
            *key,
            object! {
                "type": "integer",
                "format": "int64",
                "description": "ID of the record, assigned by the service.",
            },
        ),
    };
    let keys: Vec<&'static str> =
        ["affiliate_id", "client_affiliate_id", "url_id"].into_iter().filter(|key| keys.contains(key)).collect();
    let mut properties: Vec<(&str, Json)> = keys.iter().map(of_key).collect();
    properties.push(("msg", message()));
    closed(properties)
}

fn message() -> Json {
    object! { "type": "string", "minLength": 1, "description": "What happened, in a sentence for people." }
}

/// The envelope of an error that has no further keys.
fn error() -> Json {
    let code =
        object! { "type": "string", "description": "The result code; for errors that HTTP defines, the status." };
    let status = object! { "type": "string", "const": "error" };
    closed(vec![("code", code), ("status", status), ("detail", detail(&[]))])
        .with("description", "An error. The sentence is for people; programs read `code`.")
}

fn validation_failure() -> Json {
    let summary = object! {
        "type": "string",
        "minLength": 1,
        "description": "The first message, and how many more there are.",
    };
    let errors = object! {
        "type": "object",
        "description": "Messages by path: `affiliate_name`, `affiliates.3.email_one`, `urls.0`, `per_page`; `body` if the \
                        body is no JSON object. At most 10,000 messages are listed; all are counted.",
        "minProperties": 1,
        "additionalProperties": object! {
            "type": "array",
            "minItems": 1,
            "items": object! { "type": "string", "minLength": 1 },
        },
    };
    closed(vec![("message", summary), ("errors", errors)])
        .with("description", "Every violation of the request. Nothing was saved.")
}

/// The names that a company starts with, as a sentence: with their IDs if these are filters.
pub(super) fn vocabulary_sentence(vocabulary: Vocabulary, with_ids: bool) -> String {
    let names = vocabulary
        .defaults()
        .iter()
        .enumerate()
        .map(|(index, name)| if with_ids { format!("{} {name}", index + 1) } else { (*name).to_owned() });
    format!(" Every company starts with: {}. It may add its own names.", names.collect::<Vec<_>>().join(", "))
}

/// The names that a company starts with, by ID.
pub(super) fn names_by_id(vocabulary: Vocabulary) -> Json {
    Json::object(vocabulary.defaults().iter().enumerate().map(|(index, name)| ((index + 1).to_string(), *name)))
}

/// The vocabulary whose IDs a filter takes.
pub(super) fn vocabulary_of_filter(name: &str) -> Option<Vocabulary> {
    match name {
        "incident_status_id" => Some(Vocabulary::UrlIncidentStatus),
        "case_status_id" => Some(Vocabulary::CaseStatus),
        _ => None,
    }
}
