//! Builds request messages from JSON with the names of the contract.

use compliance_api::v1::CaseInput;
use prost::Message as _;
use prost_reflect::{DynamicMessage, FieldDescriptor, Kind, MessageDescriptor, ReflectMessage as _, Value as Field};
use serde_json::{Map, Value, json};

use super::rules::is_flattened;

/// Encodes a request.
pub(crate) fn request(message: MessageDescriptor, json: &str) -> Vec<u8> {
    let json: Value = serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {json}"));
    let mut message = DynamicMessage::new(message);
    fill(&mut message, json.as_object().unwrap());
    message.encode_to_vec()
}

/// Sets a message's fields from JSON, and ignores unknown keys.
///
/// The fields of a flattened or updated message stand beside the other fields, and an update mask lists them.
pub(crate) fn fill(message: &mut DynamicMessage, json: &Map<String, Value>) {
    let descriptor = message.descriptor();
    let mask = descriptor.get_field_by_name("update_mask");
    let is_nested = |field: &FieldDescriptor| is_flattened(field) || mask.is_some() && is_message(&field.kind());
    let (mut own, mut nested) = (Map::new(), Map::new());
    for (name, value) in json {
        let fields = if descriptor.get_field_by_name(name).is_some() { &mut own } else { &mut nested };
        fields.insert(name.clone(), value.clone());
    }
    for (name, value) in own.iter().filter(|(_, value)| !value.is_null()) {
        let field = descriptor.get_field_by_name(name).unwrap();
        let value = match value {
            Value::Array(items) => Field::List(items.iter().map(|item| value_of(&field.kind(), item)).collect()),
            Value::String(text) if field.is_list() => {
                Field::List(text.split(',').map(|item| value_of(&field.kind(), &json!(item))).collect())
            }
            value => value_of(&field.kind(), value),
        };
        message.set_field(&field, value);
    }
    let Some(field) = descriptor.fields().find(is_nested) else { return };
    let Kind::Message(inner) = field.kind() else { unreachable!() };
    let names = nested.keys().filter(|name| inner.get_field_by_name(name).is_some());
    if let Some(mask) = mask {
        let Kind::Message(mask_type) = mask.kind() else { unreachable!() };
        let mut paths = DynamicMessage::new(mask_type);
        paths.set_field_by_name("paths", Field::List(names.map(|name| Field::String(name.clone())).collect()));
        message.set_field(&mask, Field::Message(paths));
    }
    message.set_field(&field, filled(inner, &nested));
}

fn filled(message: MessageDescriptor, json: &Map<String, Value>) -> Field {
    let mut message = DynamicMessage::new(message);
    fill(&mut message, json);
    Field::Message(message)
}

/// Returns whether a field is a message of the contract.
fn is_message(kind: &Kind) -> bool {
    matches!(kind, Kind::Message(message) if message.full_name().starts_with("compliance."))
}

/// Returns a field's value from JSON.
pub(crate) fn value_of(kind: &Kind, value: &Value) -> Field {
    let text = value.as_str().unwrap_or_default();
    let found = match kind {
        Kind::String => value.as_str().map(|text| Field::String(text.to_owned())),
        Kind::Uint32 => value.as_u64().map(|number| Field::U32(number as u32)),
        Kind::Int64 => value.as_i64().or_else(|| text.parse().ok()).map(Field::I64),
        Kind::Bool => Some(Field::Bool(value == true || text == "yes")),
        Kind::Enum(values) => {
            let unspecified = values.default_value().name().to_owned();
            let name = unspecified.replace("UNSPECIFIED", &text.to_uppercase().replace(' ', "_"));
            values.get_value_by_name(&name).map(|value| Field::EnumNumber(value.number()))
        }
        Kind::Message(message) if is_message(kind) => Some(filled(message.clone(), value.as_object().unwrap())),
        Kind::Message(timestamp) => {
            // The contract's own messages read every documented format.
            let case: CaseInput = serde_json::from_value(json!({"created_date": value})).unwrap();
            let encoded = case.created_date.unwrap().encode_to_vec();
            Some(Field::Message(DynamicMessage::decode(timestamp.clone(), &*encoded).unwrap()))
        }
        _ => None,
    };
    found.unwrap_or_else(|| panic!("gRPC cannot express {value} as {kind:?}"))
}
