//! The JSON forms of messages: of those that partners read, and of those that files of records hold. Field names and
//! order are the declaration's.

use prost_reflect::{Cardinality, DescriptorPool, FieldDescriptor, Kind};
use tonic_prost_build::Builder;

/// Messages that are written out for partners as they stand; everything they hold is, too.
const SERIALISED: &[&str] = &["Affiliate", "ComplianceUrl", "Infraction", "ComplianceCase", "Incident", "PageMeta"];

/// Messages that are read from and written to files of records (`crate::json` describes their form); everything they
/// hold is, too.
const RECORDS: &[&str] = &["UrlObservation", "InfractionInput", "OpenCaseRequest", "CaseInput", "IncidentInput"];

/// Adds serde attributes to the messages of [`SERIALISED`] and [`RECORDS`].
pub(crate) fn attributes(mut builder: Builder, pool: &DescriptorPool) -> Builder {
    for name in SERIALISED {
        builder = message(builder, pool, name, "#[derive(serde::Serialize)]", |field| {
            form(field).map(|with| format!("#[serde(serialize_with = \"crate::json::{with}\")]"))
        });
    }
    for name in RECORDS {
        let derive = "#[derive(serde::Serialize, serde::Deserialize)] #[serde(default, deny_unknown_fields)]";
        builder = message(builder, pool, name, derive, |field| Some(format!("#[serde({})]", record_form(field))));
    }
    builder
}

fn message(
    mut builder: Builder,
    pool: &DescriptorPool,
    name: &str,
    derive: &str,
    form: impl Fn(&FieldDescriptor) -> Option<String>,
) -> Builder {
    let path = format!("compliance.v1.{name}");
    builder = builder.type_attribute(&path, derive);
    let Some(message) = pool.get_message_by_name(&path) else { panic!("{path} is not declared") };
    for field in message.fields() {
        if let Some(attribute) = form(&field) {
            builder = builder.field_attribute(format!("{path}.{}", field.name()), attribute);
        }
    }
    builder
}

/// The function that writes a field whose documented form is not serde's own.
pub(crate) fn form(field: &FieldDescriptor) -> Option<&'static str> {
    match (field.kind(), field.cardinality()) {
        (_, Cardinality::Repeated) => None,
        (Kind::Message(message), _) if message.full_name() == "google.protobuf.Timestamp" => Some("datetime"),
        (Kind::Enum(kind), _) if kind.name() == "IncidentType" => Some("incident_type"),
        (Kind::Bool, _) if field.supports_presence() => Some("yes_no_or_null"),
        (Kind::Bool, _) => Some("yes_no"),
        _ => None,
    }
}

/// How a field of a record is written and read: absent rather than null, but null is understood.
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
        (kind, _) => panic!("no form is known for the kind {kind:?} of the field {}", field.name()),
    }
}
