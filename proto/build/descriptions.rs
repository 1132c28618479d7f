//! Descriptions of what partners send and receive, for documents about the interface: the comments, types and rules of
//! fields, as constants.

use std::{collections::BTreeMap, fmt::Write as _};

use anyhow::{Context as _, bail};
use prost_reflect::{
    Cardinality, DescriptorPool, EnumDescriptor, FieldDescriptor, FileDescriptor, Kind, MessageDescriptor,
};

use super::{checks, json, options};

/// The services whose operations partners call through a gateway.
const SERVICES: &[&str] = &["AffiliateService", "ComplianceUrlService", "ComplianceCaseService"];

/// The enums whose numbers partners see, or that say why a request is refused.
const ENUMS: &[&str] = &["ResultCode", "Reason"];

/// Writes the descriptions of the services' operations, of all messages within them, and of the enums.
pub(crate) fn generate(pool: &DescriptorPool) -> anyhow::Result<String> {
    let (mut messages, mut operations) = (BTreeMap::new(), String::new());
    for name in SERVICES {
        let service = pool.get_service_by_name(&format!("compliance.v1.{name}")).context("the service is declared")?;
        for method in service.methods() {
            collect(&method.input(), &mut messages);
            collect(&method.output(), &mut messages);
            let doc = comment(&method.parent_file(), method.path());
            writeln!(operations, "(\"{name}/{}\", {doc:?}),", method.name())?;
        }
    }
    let mut code = format!(
        "pub(super) const OPERATIONS: &[(&str, &str)] = &[\n{operations}];\npub(super) const MESSAGES: &[Message] = &[\n"
    );
    for message in messages.values() {
        let doc = comment(&message.parent_file(), message.path());
        writeln!(code, "Message {{ name: {:?}, doc: {doc:?}, fields: &[", message.name())?;
        for field in message.fields() {
            writeln!(code, "{},", describe(pool, &field).with_context(|| field.full_name().to_owned())?)?;
        }
        writeln!(code, "] }},")?;
    }
    writeln!(code, "];")?;
    for name in ENUMS {
        let values = pool.get_enum_by_name(&format!("compliance.v1.{name}")).context("the enum is declared")?;
        write_enum(&values, &mut code)?;
    }
    Ok(code)
}

fn collect(message: &MessageDescriptor, messages: &mut BTreeMap<String, MessageDescriptor>) {
    if message.package_name() != "compliance.v1" || messages.contains_key(message.name()) {
        return;
    }
    messages.insert(message.name().to_owned(), message.clone());
    for field in message.fields() {
        if let Kind::Message(inner) = field.kind() {
            collect(&inner, messages);
        }
    }
}

fn describe(pool: &DescriptorPool, field: &FieldDescriptor) -> anyhow::Result<String> {
    let rules = options::of_field(pool, field, "rules")?;
    let kind = match field.kind() {
        Kind::String => "Kind::Text".to_owned(),
        Kind::Int64 | Kind::Int32 => "Kind::Integer".to_owned(),
        Kind::Bool => "Kind::Flag".to_owned(),
        Kind::Enum(kind) => format!("Kind::Choice({:?})", kind.name()),
        Kind::Message(inner) if inner.full_name() == "google.protobuf.Timestamp" => "Kind::Timestamp".to_owned(),
        Kind::Message(inner) => format!("Kind::Message({:?})", inner.name()),
        other => bail!("no description is known for the kind {other:?}"),
    };
    Ok(format!(
        "Field {{ doc: {:?}, kind: {kind}, is_list: {}, may_be_absent: {}, form: {:?}, rules: {} }}",
        comment(&field.parent_message().parent_file(), field.path()),
        field.cardinality() == Cardinality::Repeated,
        field.supports_presence(),
        json::form(field).unwrap_or_default(),
        // A reference to a constant; here it is a value.
        checks::table(field, &rules)?.trim_start_matches('&'),
    ))
}

/// A function that returns the comment of a value by its number.
fn write_enum(values: &EnumDescriptor, code: &mut String) -> anyhow::Result<()> {
    let function = format!("{}_doc", values.name().to_lowercase().replace("resultcode", "result_code"));
    writeln!(code, "pub(super) const fn {function}(number: i32) -> &'static str {{\nmatch number {{")?;
    for value in values.values() {
        writeln!(code, "{} => {:?},", value.number(), comment(&values.parent_file(), value.path()))?;
    }
    writeln!(code, "_ => \"\",\n}}\n}}")?;
    Ok(())
}

/// The comment above a declaration, as one line.
fn comment(file: &FileDescriptor, path: &[i32]) -> String {
    let locations = file.file_descriptor_proto().source_code_info.iter().flat_map(|info| &info.location);
    let comments = locations.filter(|location| location.path == path).filter_map(|it| it.leading_comments.as_deref());
    comments.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}
