//! Generates serde attributes for partner responses and record files.

use prost_reflect::{Cardinality, DescriptorPool, FieldDescriptor, Kind, MessageDescriptor};
use tonic_prost_build::Builder;

use super::{checks, messages};

/// Messages in record files, including nested messages.
const RECORDS: &[&str] = &["UrlObservation", "InfractionInput", "OpenCaseRequest", "CaseInput", "IncidentInput"];

/// Form of a field that JSON omits, because partners receive it as a header.
const OMITTED: &str = "omitted";

/// Adds serde attributes to partner responses and to [`RECORDS`].
pub(crate) fn attributes(mut builder: Builder, pool: &DescriptorPool) -> Builder {
    let responses = messages::responses(pool).into_values().filter(checks::is_ours);
    let is_record = |message: &MessageDescriptor| RECORDS.contains(&message.name());
    for message in responses.chain(pool.all_messages().filter(is_record)) {
        let (path, is_record) = (message.full_name(), is_record(&message));
        builder = builder.type_attribute(path, "#[derive(serde::Serialize)]");
        if is_record {
            builder =
                builder.type_attribute(path, "#[derive(serde::Deserialize)] #[serde(default, deny_unknown_fields)]");
        }
        for field in message.fields() {
            let form = if is_record {
                Some(record_form(&field).to_owned())
            } else {
                form(&field).map(|with| match with {
                    OMITTED => "skip".to_owned(),
                    with => format!("serialize_with = \"crate::json::{with}\""),
                })
            };
            if let Some(form) = form {
                builder = builder.field_attribute(format!("{path}.{}", field.name()), format!("#[serde({form})]"));
            }
        }
    }
    builder
}

/// Returns the function that serializes a field, or `None` for serde's default.
pub(crate) fn form(field: &FieldDescriptor) -> Option<&'static str> {
    match (field.kind(), field.cardinality()) {
        (_, Cardinality::Repeated) => None,
        (Kind::Message(message), _) if message.full_name() == "google.protobuf.Timestamp" => Some("datetime"),
        (Kind::Enum(kind), _) if kind.name() == "IncidentType" => Some("incident_type"),
        (Kind::Enum(kind), _) if kind.name() == "VocabularyKind" => Some("vocabulary"),
        (Kind::Enum(kind), _) if kind.name() == "ResultCode" => Some("result_code"),
        (Kind::Enum(kind), _) if kind.name() == "SyncOutcome" => Some("sync_outcome"),
        (Kind::Bool, _) => Some("yes_no"),
        (Kind::String, _) if field.name().ends_with("etag") => Some(OMITTED),
        _ => None,
    }
}

/// Returns the serde attributes of a record field. Reading accepts null; writing omits absent fields.
fn record_form(field: &FieldDescriptor) -> &'static str {
    match (field.kind(), field.cardinality()) {
        (_, Cardinality::Repeated) => {
            "skip_serializing_if = \"Vec::is_empty\", deserialize_with = \"crate::json::records::list\""
        }
        (Kind::Message(message), _) if message.full_name() == "google.protobuf.Timestamp" => {
            "skip_serializing_if = \"Option::is_none\", serialize_with = \"crate::json::datetime\", \
             deserialize_with = \"crate::json::records::timestamp\""
        }
        (Kind::Enum(kind), _) if kind.name() == "IncidentType" => {
            "serialize_with = \"crate::json::incident_type\", deserialize_with = \"crate::json::records::incident_type\""
        }
        (Kind::Bool, _) => {
            "skip_serializing_if = \"Option::is_none\", deserialize_with = \"crate::json::records::flag\""
        }
        _ if field.supports_presence() => "skip_serializing_if = \"Option::is_none\"",
        (kind, _) => panic!("unsupported kind {kind:?} of the field {}", field.name()),
    }
}
