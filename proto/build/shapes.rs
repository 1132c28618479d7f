//! The shapes of the messages that requests consist of, by which a message is measured before it is decoded.

use std::{collections::BTreeMap, fmt::Write as _};

use anyhow::{Context as _, bail};
use heck::ToShoutySnakeCase as _;
use prost_reflect::{
    Cardinality, DescriptorPool, FieldDescriptor, Kind, MessageDescriptor, MethodDescriptor, Value,
    prost_types::method_options::IdempotencyLevel,
};

use super::options;

/// Writes the shape of every message within a request, and which operation takes which request.
pub(crate) fn generate(pool: &DescriptorPool) -> anyhow::Result<String> {
    let (mut within, mut operations, mut requests) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for service in pool.services() {
        for method in service.methods() {
            let path = format!("/{}/{}", service.full_name(), method.name());
            let operation = operation(pool, &path, &method).with_context(|| method.full_name().to_owned())?;
            operations.insert(path, (method.name().to_shouty_snake_case(), operation));
            requests.insert(method.input().name().to_owned(), method.input());
            collect(&method.input(), &mut within);
        }
    }
    let mut code = String::new();
    for message in within.values() {
        write_shape(pool, message, &mut code).with_context(|| message.full_name().to_owned())?;
    }
    writeln!(code, "impl Operation {{")?;
    for (path, (name, operation)) in &operations {
        writeln!(code, "/// `{path}`\npub const {name}: Self = {operation};")?;
    }
    let names: Vec<String> = operations.values().map(|(name, _)| format!("Self::{name}")).collect();
    // Sorted by path.
    writeln!(code, "pub(super) const ALL: &[Self] = &[{}];\n}}", names.join(", "))?;
    for (name, request) in requests {
        let lists = request.fields().filter(|field| field.cardinality() == Cardinality::Repeated);
        let items: Vec<String> = lists.map(|field| format!("self.{}.len()", field.name())).collect();
        let items = if items.is_empty() { "0".to_owned() } else { items.join(" + ") };
        writeln!(code, "impl Items for crate::v1::{name} {{ fn items(&self) -> usize {{ {items} }} }}")?;
    }
    Ok(code)
}

fn operation(pool: &DescriptorPool, path: &str, method: &MethodDescriptor) -> anyhow::Result<String> {
    let Value::Message(option) = options::value(pool, &method.parent_service().options(), "authorization")? else {
        bail!("the option authorization is not a message")
    };
    let scope = options::text(&option, "scope");
    let authorization = match (options::flag(&option, "open"), scope.as_str()) {
        (true, "") => "Authorization::Open".to_owned(),
        (true, _) => bail!("operations that are open need no scope"),
        (false, "") => "Authorization::Token".to_owned(),
        (false, scope) => format!("Authorization::Scope({scope:?})"),
    };
    let work = options::value(pool, &method.options(), "work")?.as_enum_number().unwrap_or_default();
    let work = match work {
        0 => "Work::ByItems",
        1 => "Work::SingleRead",
        2 => "Work::Page",
        other => bail!("the work {other} is not known"),
    };
    let level = method.options().get_field_by_name("idempotency_level").and_then(|level| level.as_enum_number());
    Ok(format!(
        "Self {{ path: {path:?}, request: &{}, streams: {}, is_read: {}, authorization: {authorization}, work: {work} }}",
        shape_name(&method.input()),
        method.is_client_streaming(),
        level == Some(IdempotencyLevel::NoSideEffects as i32),
    ))
}

fn collect(message: &MessageDescriptor, within: &mut BTreeMap<String, MessageDescriptor>) {
    if within.insert(message.full_name().to_owned(), message.clone()).is_none() {
        for field in message.fields() {
            if let Kind::Message(inner) = field.kind() {
                collect(&inner, within);
            }
        }
    }
}

fn write_shape(pool: &DescriptorPool, message: &MessageDescriptor, code: &mut String) -> anyhow::Result<()> {
    let rust = match message.full_name() {
        "google.protobuf.Timestamp" => "::prost_types::Timestamp".to_owned(),
        "google.protobuf.FieldMask" => "::prost_types::FieldMask".to_owned(),
        _ if message.package_name() == "compliance.v1" => format!("crate::v1::{}", message.name()),
        other => bail!("the Rust type of {other} is not known"),
    };
    let mut fields: Vec<FieldDescriptor> = message.fields().collect();
    fields.sort_by_key(FieldDescriptor::number);
    let fields: Vec<String> = fields.iter().map(|field| field_shape(pool, field)).collect::<anyhow::Result<_>>()?;
    writeln!(
        code,
        "static {}: MessageShape = MessageShape {{ size: size_of::<{rust}>(), fields: &[{}] }};",
        shape_name(message),
        fields.join(", "),
    )?;
    Ok(())
}

fn field_shape(pool: &DescriptorPool, field: &FieldDescriptor) -> anyhow::Result<String> {
    let kind = match field.kind() {
        Kind::String => "Kind::Text".to_owned(),
        Kind::Int32 | Kind::Int64 | Kind::Uint32 | Kind::Uint64 | Kind::Bool | Kind::Enum(_) => {
            "Kind::Varint".to_owned()
        }
        Kind::Message(inner) => format!("Kind::Message(&{})", shape_name(&inner)),
        other => bail!("no shape is known for the kind {other:?} of the field {}", field.name()),
    };
    let rules = options::of_field(pool, field, "rules")?;
    let max_items = rules.get_field_by_name("max_items").and_then(|value| value.as_u32()).filter(|most| *most > 0);
    Ok(format!(
        "FieldShape {{ number: {}, name: {:?}, kind: {kind}, repeated: {}, max_items: {max_items:?} }}",
        field.number(),
        field.name(),
        field.cardinality() == Cardinality::Repeated,
    ))
}

fn shape_name(message: &MessageDescriptor) -> String {
    message.name().to_shouty_snake_case()
}
