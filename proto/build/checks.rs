//! The checks of the rules that stand beside the fields: one `Check` a message that a request holds.

use std::{collections::BTreeMap, fmt::Write as _};

use anyhow::{Context as _, bail, ensure};
use prost_reflect::{
    Cardinality, DescriptorPool, DynamicMessage, FieldDescriptor, Kind, MessageDescriptor, ReflectMessage as _, Value,
};

use super::options::{self, flag};

/// Requests whose fields cannot have rules: the operations that this one names check what it holds.
const UNCHECKED: &[&str] = &["BatchReadRequest"];

/// Writes an implementation of `Check` for every request and every message within one.
pub(crate) fn generate(pool: &DescriptorPool) -> anyhow::Result<String> {
    let mut within = BTreeMap::new();
    for message in pool.all_messages() {
        if UNCHECKED.contains(&message.name()) {
            for field in message.fields() {
                let rules = options::of_field(pool, &field, "rules")?;
                ensure!(rules.fields().next().is_none(), "{} has rules that are never checked", field.full_name());
            }
        } else if message.package_name() == "compliance.v1" && message.name().ends_with("Request") {
            collect(&message, &mut within);
        }
    }
    let mut code = String::new();
    for message in within.values() {
        write_check(pool, message, &mut code).with_context(|| message.full_name().to_owned())?;
    }
    Ok(code)
}

fn collect(message: &MessageDescriptor, within: &mut BTreeMap<String, MessageDescriptor>) {
    if message.package_name() != "compliance.v1" || within.insert(message.name().to_owned(), message.clone()).is_some()
    {
        return;
    }
    for field in message.fields() {
        if let Kind::Message(inner) = field.kind() {
            collect(&inner, within);
        }
    }
}

fn write_check(pool: &DescriptorPool, message: &MessageDescriptor, code: &mut String) -> anyhow::Result<()> {
    let mut statements = String::new();
    let has_mask = message.fields().any(|field| field.name() == "update_mask");
    for field in message.fields() {
        write_field(pool, &field, has_mask, &mut statements)?;
    }
    let checker = if statements.is_empty() { "_" } else { "checker" };
    writeln!(
        code,
        "impl crate::rules::Check for {} {{\n\
         const NAMES: &'static [&'static str] = &{:?};\n\
         fn check(&self, {checker}: &mut crate::rules::Checker) {{\n{statements}}}\n}}",
        message.name(),
        message.fields().map(|field| field.name().to_owned()).collect::<Vec<_>>(),
    )?;
    Ok(())
}

fn write_field(
    pool: &DescriptorPool,
    field: &FieldDescriptor,
    has_mask: bool,
    code: &mut String,
) -> anyhow::Result<()> {
    let rules = options::of_field(pool, field, "rules")?;
    let (name, table) = (field.name(), table(field, &rules)?);
    let value = if field.supports_presence() { format!("self.{name}") } else { format!("Some(self.{name})") };
    let list = field.cardinality() == Cardinality::Repeated;
    let check = match field.kind() {
        Kind::String if list => format!("texts({table}, &self.{name})"),
        Kind::String if field.supports_presence() => format!("text({table}, self.{name}.as_deref())"),
        Kind::String => format!("text({table}, Some(self.{name}.as_str()))"),
        Kind::Int64 if list => format!("items({table}, self.{name}.len())"),
        Kind::Int64 => format!("number({table}, {value})"),
        Kind::Enum(kind) if !list => {
            let kind = kind.name();
            format!("choice({table}, {value}.is_some_and(|it| it != 0), {value}.is_none_or({kind}::is_valid))")
        }
        Kind::Message(inner) if inner.full_name() == "google.protobuf.Timestamp" => {
            format!("time({table}, self.{name}.as_ref())")
        }
        Kind::Message(inner) if inner.package_name() != "compliance.v1" => return Ok(()),
        Kind::Message(_) if flag(&rules, "items_alone") => format!("items({table}, self.{name}.len())"),
        Kind::Message(_) if list => format!("list({table}, &self.{name})"),
        Kind::Message(_) if has_mask => format!("masked(self.update_mask.as_ref(), self.{name}.as_ref())"),
        Kind::Message(_) if flag(&rules, "flatten") => {
            format!("flat({}, self.{name}.as_ref())", flag(&rules, "required"))
        }
        Kind::Message(_) => format!("nested({table}, self.{name}.as_ref())"),
        Kind::Bool if flag(&rules, "required") => format!("choice({table}, {value}.is_some(), true)"),
        Kind::Bool => return Ok(()),
        other => bail!("no check is known for the kind {other:?} of the field {name}"),
    };
    writeln!(code, "checker.{check};")?;
    Ok(())
}

/// The rules of a field as a constant of the generated code.
pub(crate) fn table(field: &FieldDescriptor, rules: &DynamicMessage) -> anyhow::Result<String> {
    let mut table = format!("&crate::rules::FieldRules {{ name: {:?}, number: {}", field.name(), field.number());
    for rule in rules.descriptor().fields() {
        if ["flatten", "items_alone"].contains(&rule.name()) {
            // They decide which check is generated.
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
            value => bail!("no constant is known for {} = {value:?}", rule.name()),
        };
        write!(table, ", {}: {value}", rule.name())?;
    }
    Ok(table + " }")
}
