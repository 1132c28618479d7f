//! The JSON form of the messages that partners read: field names and order are the declaration's.

use prost_reflect::{Cardinality, DescriptorPool, FieldDescriptor, Kind};
use tonic_prost_build::Builder;

/// Messages that are written out as they stand; everything they hold is, too.
const SERIALISED: &[&str] = &["Affiliate", "ComplianceUrl", "Infraction", "ComplianceCase", "Incident", "PageMeta"];

/// Adds serde attributes to the messages of [`SERIALISED`].
pub(crate) fn attributes(mut builder: Builder, pool: &DescriptorPool) -> Builder {
    for name in SERIALISED {
        let path = format!("compliance.v1.{name}");
        builder = builder.type_attribute(&path, "#[derive(serde::Serialize)]");
        let Some(message) = pool.get_message_by_name(&path) else { panic!("{path} is not declared") };
        for field in message.fields() {
            if let Some(with) = form(&field) {
                let with = format!("#[serde(serialize_with = \"crate::json::{with}\")]");
                builder = builder.field_attribute(format!("{path}.{}", field.name()), with);
            }
        }
    }
    builder
}

/// The function that writes a field whose documented form is not serde's own.
fn form(field: &FieldDescriptor) -> Option<&'static str> {
    match (field.kind(), field.cardinality()) {
        (_, Cardinality::Repeated) => None,
        (Kind::Message(message), _) if message.full_name() == "google.protobuf.Timestamp" => Some("datetime"),
        (Kind::Enum(kind), _) if kind.name() == "IncidentType" => Some("incident_type"),
        (Kind::Bool, _) if field.supports_presence() => Some("yes_no_or_null"),
        (Kind::Bool, _) => Some("yes_no"),
        _ => None,
    }
}
