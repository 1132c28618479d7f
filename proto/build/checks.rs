//! Generates field rule checks: a `Check` for every request and its nested messages.

use std::{collections::BTreeMap, fmt::Write as _};

use anyhow::{Context as _, bail, ensure};
use prost_reflect::{Cardinality, DescriptorPool, FieldDescriptor, Kind, MessageDescriptor};

use super::{
    messages::{collect, static_name},
    options::{self, flag},
};

/// Requests without their own rules. The requests inside them are checked instead.
const UNCHECKED: &[&str] = &["BatchReadRequest"];

/// Writes a `Check` implementation for every request and its nested messages.
pub(crate) fn generate(pool: &DescriptorPool) -> anyhow::Result<String> {
    let mut within = BTreeMap::new();
    for message in pool.all_messages() {
        if UNCHECKED.contains(&message.name()) {
            for field in message.fields() {
                let rules = options::of_field(pool, &field, "rules")?;
                ensure!(rules.fields().next().is_none(), "{} has rules, but nothing checks them", field.full_name());
            }
        } else if is_ours(&message) && message.name().ends_with("Request") {
            collect(&message, &mut within);
        }
    }
    let mut code = String::new();
    for message in within.values().filter(|message| is_ours(message)) {
        write_check(pool, message, &mut code).with_context(|| message.full_name().to_owned())?;
    }
    Ok(code)
}

pub(crate) fn is_ours(message: &MessageDescriptor) -> bool {
    message.package_name() == "compliance.v1"
}

fn write_check(pool: &DescriptorPool, message: &MessageDescriptor, code: &mut String) -> anyhow::Result<()> {
    let mut statements = String::new();
    let has_mask = message.fields().any(|field| field.name() == "update_mask");
    for (index, field) in message.fields().enumerate() {
        write_field(pool, &field, index, has_mask, &mut statements)?;
    }
    let checker = if statements.is_empty() { "_" } else { "checker" };
    writeln!(
        code,
        "impl crate::rules::Check for {} {{\n\
         const MESSAGE: &'static crate::description::Message = &crate::description::{};\n\
         fn check(&self, {checker}: &mut crate::rules::Checker) {{\n{statements}}}\n}}",
        message.name(),
        static_name(message),
    )?;
    Ok(())
}

fn write_field(
    pool: &DescriptorPool,
    field: &FieldDescriptor,
    index: usize,
    has_mask: bool,
    code: &mut String,
) -> anyhow::Result<()> {
    let rules = options::of_field(pool, field, "rules")?;
    let (name, described) = (field.name(), format!("&Self::MESSAGE.fields[{index}]"));
    let value = if field.supports_presence() { format!("self.{name}") } else { format!("Some(self.{name})") };
    let list = field.cardinality() == Cardinality::Repeated;
    let check = match field.kind() {
        Kind::String if list => format!("texts({described}, &self.{name})"),
        Kind::String if field.supports_presence() => format!("text({name:?}, {described}, self.{name}.as_deref())"),
        Kind::String => format!("text({name:?}, {described}, Some(self.{name}.as_str()))"),
        Kind::Int64 if list => format!("items({described}, self.{name}.len())"),
        Kind::Int64 if !list => format!("number({described}, {value})"),
        Kind::Int32 if !list => format!("number({described}, {value}.map(i64::from))"),
        Kind::Enum(kind) if !list => {
            let kind = kind.name();
            format!("choice({described}, {value}.is_some_and(|it| it != 0), {value}.is_none_or({kind}::is_valid))")
        }
        Kind::Message(inner) if inner.full_name() == "google.protobuf.Timestamp" => {
            format!("time({described}, self.{name}.as_ref())")
        }
        Kind::Message(inner) if !is_ours(&inner) => return Ok(()),
        Kind::Message(_) if flag(&rules, "items_alone") => format!("items_alone({described}, self.{name}.len())"),
        Kind::Message(_) if list => format!("list({described}, &self.{name})"),
        Kind::Message(_) if has_mask => format!("masked(self.update_mask.as_ref(), self.{name}.as_ref())"),
        Kind::Message(_) if flag(&rules, "flatten") => {
            format!("flat({}, self.{name}.as_ref())", flag(&rules, "required"))
        }
        Kind::Message(_) => format!("nested({described}, self.{name}.as_ref())"),
        Kind::Bool if flag(&rules, "required") => format!("choice({described}, {value}.is_some(), true)"),
        Kind::Bool => return Ok(()),
        other => bail!("the field {name} has the unsupported kind {other:?}"),
    };
    match field.kind() {
        // Messages check their own fields.
        Kind::Message(inner) if is_ours(&inner) => writeln!(code, "checker.{check};")?,
        _ => writeln!(code, "if checker.checks({described}) {{ checker.{check}; }}")?,
    }
    let needed = options::text(&rules, "needs");
    if !needed.is_empty() {
        write_needed(field, &needed, code)?;
    }
    Ok(())
}

/// Writes the check for a `needs` rule: the needed field must be present.
fn write_needed(field: &FieldDescriptor, needed: &str, code: &mut String) -> anyhow::Result<()> {
    let name = field.name();
    let (holder, message) = match field.kind() {
        Kind::Message(inner) => (inner.clone(), inner.name().to_owned()),
        _ => (field.parent_message().clone(), "Self".to_owned()),
    };
    let index = holder.fields().position(|other| other.name() == needed);
    let index =
        index.with_context(|| format!("{name} needs {needed}, but {} contains no such field", holder.name()))?;
    let described = format!("&<{message} as crate::rules::Check>::MESSAGE.fields[{index}]");
    if message == "Self" {
        let value = format!("self.{needed}.as_deref()");
        writeln!(code, "if self.{name}.is_some() {{ checker.needs({described}, {value}, \" with {name}\"); }}")?;
    } else {
        let value = format!("self.{name}.as_ref().and_then(|it| it.{needed}.as_deref())");
        writeln!(code, "checker.needs({described}, {value}, \"\");")?;
    }
    Ok(())
}
