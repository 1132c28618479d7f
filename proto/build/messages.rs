//! Generates static message descriptions: fields with types, rules and comments.

use std::{collections::BTreeMap, fmt::Write as _};

use anyhow::{Context as _, bail};
use heck::{ToShoutySnakeCase as _, ToSnakeCase as _};
use prost_reflect::{
    Cardinality, DescriptorPool, DynamicMessage, EnumDescriptor, FieldDescriptor, FileDescriptor, Kind,
    MessageDescriptor, ReflectMessage as _, Value,
};

use super::{clients, json, options};

/// Enums with descriptions: result codes and error reasons.
const ENUMS: &[&str] = &["ResultCode", "Reason"];

/// Writes descriptions of all messages in requests and partner responses, and of the enums.
pub(crate) fn generate(pool: &DescriptorPool) -> anyhow::Result<String> {
    let mut messages = responses(pool);
    for service in pool.services() {
        for method in service.methods() {
            collect(&method.input(), &mut messages);
        }
    }
    let mut code = String::new();
    for message in messages.values() {
        write_message(pool, message, &mut code).with_context(|| message.full_name().to_owned())?;
    }
    let names: Vec<String> = messages.values().map(|message| format!("&{}", static_name(message))).collect();
    writeln!(code, "pub(crate) const ALL: &[&Message] = &[{}];", names.join(", "))?;
    for name in ENUMS {
        let values = pool
            .get_enum_by_name(&format!("compliance.v1.{name}"))
            .with_context(|| format!("the enum {name} is not declared"))?;
        write_enum(&values, &mut code)?;
    }
    Ok(code)
}

/// Service whose responses contain no records for partners.
const WITHOUT_RECORDS: &str = "MonitoringService";

/// Returns all partner responses and their nested messages, by name.
pub(crate) fn responses(pool: &DescriptorPool) -> BTreeMap<String, MessageDescriptor> {
    let mut messages = BTreeMap::new();
    for service in clients::services(pool).filter(|service| service.name() != WITHOUT_RECORDS) {
        for method in service.methods() {
            collect(&method.output(), &mut messages);
        }
    }
    messages
}

/// Adds a message and its nested messages, by name.
pub(crate) fn collect(message: &MessageDescriptor, messages: &mut BTreeMap<String, MessageDescriptor>) {
    if messages.insert(message.full_name().to_owned(), message.clone()).is_none() {
        for field in message.fields() {
            if let Kind::Message(inner) = field.kind() {
                collect(&inner, messages);
            }
        }
    }
}

/// Returns the name of the static that describes a message.
pub(crate) fn static_name(message: &MessageDescriptor) -> String {
    message.name().to_shouty_snake_case()
}

fn write_message(pool: &DescriptorPool, message: &MessageDescriptor, code: &mut String) -> anyhow::Result<()> {
    let rust = match message.package_name() {
        "google.protobuf" => "::prost_types",
        _ => "crate::v1",
    };
    writeln!(
        code,
        "pub(crate) static {}: Message = Message {{ name: {name:?}, doc: {:?}, size: size_of::<{rust}::{name}>(), \
         fields: &[",
        static_name(message),
        comment(&message.parent_file(), message.path()),
        name = message.name(),
    )?;
    for field in message.fields() {
        write_field(pool, &field, code).with_context(|| field.name().to_owned())?;
    }
    writeln!(code, "] }};")?;
    Ok(())
}

fn write_field(pool: &DescriptorPool, field: &FieldDescriptor, code: &mut String) -> anyhow::Result<()> {
    let kind = match field.kind() {
        Kind::String => "Text".to_owned(),
        Kind::Int64 | Kind::Uint64 => "Integer(64)".to_owned(),
        Kind::Int32 | Kind::Uint32 => "Integer(32)".to_owned(),
        Kind::Bool => "Flag".to_owned(),
        Kind::Enum(kind) => format!("Choice(&{:?})", choices(&kind)),
        Kind::Message(inner) => format!("Message(&{})", static_name(&inner)),
        other => bail!("unsupported kind {other:?}"),
    };
    writeln!(
        code,
        "Field {{ name: {:?}, number: {}, doc: {:?}, kind: Kind::{kind}, is_list: {}, may_be_absent: {}, form: {:?}, headings: &{:?}{} }},",
        field.name(),
        field.number(),
        comment(&field.parent_message().parent_file(), field.path()),
        field.cardinality() == Cardinality::Repeated,
        field.supports_presence(),
        json::form(field).unwrap_or_default(),
        headings(pool, field)?,
        rules(&options::of_field(pool, field, "rules")?)?,
    )?;
    Ok(())
}

/// Returns a field's alternative headings in files.
fn headings(pool: &DescriptorPool, field: &FieldDescriptor) -> anyhow::Result<Vec<String>> {
    match options::value(pool, &field.options(), "headings")? {
        Value::List(texts) => Ok(texts.iter().filter_map(|text| text.as_str().map(str::to_owned)).collect()),
        _ => bail!("the headings of {} are not a list", field.full_name()),
    }
}

/// Returns an enum's nonzero values: numbers, and names without the enum's prefix.
fn choices(kind: &EnumDescriptor) -> Vec<(i32, String)> {
    let prefix = format!("{}_", kind.name().to_shouty_snake_case());
    let name = |value: &str| value.strip_prefix(&prefix).unwrap_or(value).to_lowercase();
    kind.values().map(|value| (value.number(), name(value.name()))).filter(|(number, _)| *number != 0).collect()
}

/// Returns a field's rules as the remaining members of its description.
fn rules(rules: &DynamicMessage) -> anyhow::Result<String> {
    let mut code = String::new();
    for rule in rules.descriptor().fields() {
        if ["flatten", "items_alone", "needs"].contains(&rule.name()) {
            // These rules only affect the generated check.
            continue;
        }
        let value = match rules.get_field(&rule).as_ref() {
            Value::Bool(value) => value.to_string(),
            Value::EnumNumber(_) => format!("Format::{}", options::variant(rules, rule.name())?),
            Value::List(values) => format!("&{:?}", values.iter().filter_map(Value::as_str).collect::<Vec<_>>()),
            _ if !rules.has_field(&rule) => "None".to_owned(),
            Value::U32(value) => format!("Some({value})"),
            Value::I64(value) => format!("Some({value})"),
            Value::Message(codes) => {
                let code = |name| codes.get_field_by_name(name).and_then(|value| value.as_enum_number());
                let (create, update) = (code("on_create").unwrap_or_default(), code("on_update").unwrap_or_default());
                format!("Some(ItemCodes {{ on_create: {create}, on_update: {update} }})")
            }
            value => bail!("unsupported rule {} = {value:?}", rule.name()),
        };
        write!(code, ", {}: {value}", rule.name())?;
    }
    Ok(code)
}

/// Writes a function that returns the comment of an enum value.
fn write_enum(values: &EnumDescriptor, code: &mut String) -> anyhow::Result<()> {
    let name = values.name();
    let function = name.to_snake_case();
    writeln!(
        code,
        "/// Returns the meaning of a value.\npub const fn {function}(value: crate::v1::{name}) -> &'static str {{\nmatch value as i32 {{"
    )?;
    for value in values.values() {
        writeln!(code, "{} => {:?},", value.number(), comment(&values.parent_file(), value.path()))?;
    }
    writeln!(code, "_ => \"\",\n}}\n}}")?;
    Ok(())
}

/// Returns the comment above a declaration as one line. Table rows and list items keep their own lines.
fn comment(file: &FileDescriptor, path: &[i32]) -> String {
    let locations = file.file_descriptor_proto().source_code_info.iter().flat_map(|info| &info.location);
    let comments = locations.filter(|location| location.path == path).filter_map(|it| it.leading_comments.as_deref());
    let mut text = String::new();
    let (mut in_lines, mut after_gap) = (false, false);
    for line in comments.flat_map(str::lines).map(str::trim) {
        if line.is_empty() {
            after_gap = true;
            continue;
        }
        let begins_line = line.starts_with('|') || line.starts_with("- ");
        let continues_item = in_lines && !begins_line && !after_gap;
        text.push_str(match (text.is_empty(), in_lines, begins_line) {
            (true, ..) => "",
            (_, true, true) => "\n",
            (_, false, false) => " ",
            _ if continues_item => " ",
            _ => "\n\n",
        });
        text.extend(line.split_whitespace().flat_map(|word| [word, " "]));
        text.truncate(text.trim_end().len());
        in_lines = begins_line || continues_item;
        after_gap = false;
    }
    text
}
