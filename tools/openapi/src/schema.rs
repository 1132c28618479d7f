//! Provides building blocks for schemas.

use compliance_api::{
    catalogue::Vocabulary,
    description::{Field, Message},
};
use docs_pages::{Json, object};
use serde::Serialize;

/// Returns the message with this name.
pub(crate) fn message(name: &str) -> &'static Message {
    Message::of(name).unwrap_or_else(|| panic!("unknown message {name}"))
}

/// Returns a reference to a schema.
pub(crate) fn reference(name: &str) -> Json {
    object! { "$ref": format!("#/components/schemas/{name}") }
}

/// Returns the schema for a list.
pub(crate) fn list_of(items: Json) -> Json {
    object! { "type": "array", "items": items }
}

/// Returns the schema for null.
pub(crate) fn null() -> Json {
    object! { "type": "null" }
}

/// Returns the schema for an integer with this number of bits, within a range.
pub(crate) fn integer(bits: u32, (least, most): (i64, i64)) -> Json {
    object! { "type": "integer", "format": format!("int{bits}"), "minimum": least, "maximum": most }
}

/// Returns the range that a field's rules allow, or its bits.
pub(crate) fn range(bits: u32, rules: &Field) -> (i64, i64) {
    let (least, most) = if bits == 32 { (i32::MIN.into(), i32::MAX.into()) } else { (i64::MIN, i64::MAX) };
    (rules.at_least.unwrap_or(least), rules.at_most.unwrap_or(most))
}

/// Returns a schema that matches any of these schemas.
pub(crate) fn any_of(schemas: impl IntoIterator<Item = Json>) -> Json {
    object! { "anyOf": schemas.into_iter().collect::<Vec<_>>() }
}

/// Returns a schema that also allows null.
pub(crate) fn nullable(mut schema: Json) -> Json {
    match schema.get("type") {
        Some(kind) if schema.get("enum").is_none() => {
            *schema.at("type") = Json::of(&(kind, "null"));
            schema
        }
        _ => any_of([schema, null()]),
    }
}

/// Flag values.
pub(crate) const YES_NO: &[&str] = &["yes", "no"];

/// Returns the value lists that are named in the document. Generated clients contain one type for each list.
pub(crate) fn named_choices() -> [(&'static str, &'static [&'static str]); 3] {
    let status = message("AffiliateInput").field("status");
    [
        ("AffiliateStatus", status.map_or(&[], |field| field.one_of)),
        ("IncidentType", Vocabulary::IncidentType.defaults()),
        ("YesNo", YES_NO),
    ]
}

/// Returns the schema for one of these strings, or a reference to a named schema with the same strings.
pub(crate) fn choice<T: AsRef<str> + Serialize>(values: &[T]) -> Json {
    let is_same = |others: &[&str]| others.iter().copied().eq(values.iter().map(AsRef::as_ref));
    match named_choices().into_iter().find(|(_, others)| is_same(others)) {
        Some((name, _)) => reference(name),
        None => one_of_texts(values),
    }
}

/// Returns the inline schema for one of these strings.
pub(crate) fn one_of_texts(values: &[impl Serialize]) -> Json {
    object! { "type": "string", "enum": values }
}

/// Returns the schema for an object that always contains these properties.
pub(crate) fn closed(properties: Vec<(&str, Json)>) -> Json {
    let required: Vec<&str> = properties.iter().map(|(name, _)| *name).collect();
    object! { "type": "object", "required": required, "properties": Json::object(properties) }
}

/// Returns a sentence with a vocabulary's default names, and optionally their IDs.
pub(crate) fn vocabulary_sentence(vocabulary: Vocabulary, with_ids: bool) -> String {
    let names = vocabulary
        .defaults()
        .iter()
        .enumerate()
        .map(|(index, name)| if with_ids { format!("{} {name}", index + 1) } else { (*name).to_owned() });
    format!(" Every company starts with: {}. It can add its own names.", names.collect::<Vec<_>>().join(", "))
}

/// Returns a vocabulary's default names by ID.
pub(crate) fn names_by_id(vocabulary: Vocabulary) -> Json {
    Json::object(vocabulary.defaults().iter().enumerate().map(|(index, name)| ((index + 1).to_string(), *name)))
}

/// Returns the vocabulary for a filter by ID.
pub(crate) fn vocabulary_of_filter(name: &str) -> Option<Vocabulary> {
    match name {
        "incident_status_id" => Some(Vocabulary::UrlIncidentStatus),
        "case_status_id" => Some(Vocabulary::CaseStatus),
        "sub_status_id" => Some(Vocabulary::CaseSubStatus),
        "risk_level_id" => Some(Vocabulary::RiskLevel),
        "infraction_type_id" => Some(Vocabulary::InfractionType),
        _ => None,
    }
}
