//! Generates record fields: columns and value accessors.

use std::fmt::Write as _;

use anyhow::{Context as _, bail, ensure};
use prost_reflect::{Cardinality, DescriptorPool, FieldDescriptor, Kind, MessageDescriptor};

use super::options::{self, flag, text};

/// Number of bits in a field set. Field numbers must be smaller.
const MASK_BITS: u32 = 63;

/// Writes a `Record` implementation for every message with the `table` option.
pub(crate) fn generate(pool: &DescriptorPool) -> anyhow::Result<String> {
    let mut code = String::new();
    for message in pool.all_messages().filter(|message| message.package_name() == "compliance.v1") {
        let table = options::value(pool, &message.options(), "table")?;
        if let Some(table) = table.as_str().filter(|table| !table.is_empty()) {
            write_record(pool, &message, table, &mut code).with_context(|| message.full_name().to_owned())?;
        }
    }
    Ok(code)
}

fn write_record(
    pool: &DescriptorPool,
    message: &MessageDescriptor,
    table: &str,
    code: &mut String,
) -> anyhow::Result<()> {
    let mut fields = String::new();
    for field in message.fields() {
        write_field(pool, &field, table, &mut fields).with_context(|| field.name().to_owned())?;
    }
    writeln!(
        code,
        "impl crate::record::Record for {} {{\n\
         const TABLE: &'static str = {table:?};\n\
         const FIELDS: &'static [crate::record::RecordField<Self>] = &[\n{fields}];\n\
         }}",
        message.name()
    )?;
    Ok(())
}

fn write_field(pool: &DescriptorPool, field: &FieldDescriptor, table: &str, code: &mut String) -> anyhow::Result<()> {
    let column = options::of_field(pool, field, "column")?;
    let Some((access, obvious_type)) = access(field).filter(|_| !flag(&column, "none")) else { return Ok(()) };
    let (name, number) = (field.name(), field.number());
    ensure!(number < MASK_BITS, "the field number {number} must be below {MASK_BITS}: a field set is one bigint");
    let (form, sql_type) = match (options::variant(&column, "form")?.as_str(), text(&column, "vocabulary").as_str()) {
        ("Unspecified", "") => ("Plain".to_owned(), obvious_type),
        ("Unspecified", vocabulary) => (format!("Name(crate::catalogue::Vocabulary::{vocabulary})"), "integer"),
        ("Date", "") => ("Date".to_owned(), "date"),
        ("Revision", "") => ("Revision".to_owned(), "bigint"),
        (country, "") => (country.to_owned(), "smallint"),
        (form, vocabulary) => bail!("set either the form {form} or the vocabulary {vocabulary}, not both"),
    };
    let table = match text(&column, "table") {
        _ if flag(&column, "computed") => String::new(),
        other if other.is_empty() => table.to_owned(),
        other => other,
    };
    let column_name = match text(&column, "name") {
        named if !named.is_empty() => named,
        _ if form.starts_with("Name") => format!("{name}_id"),
        _ => name.to_owned(),
    };
    writeln!(
        code,
        "crate::record::RecordField {{ name: {name:?}, number: {number}, column: crate::record::Column {{ \
         table: {table:?}, name: {column_name:?}, sql_type: {sql_type:?}, form: crate::record::StoredAs::{form} }}, \
         access: crate::record::Access::{access} }},"
    )?;
    Ok(())
}

/// Returns a field's accessor and default column type, or `None` if no single column holds the field.
fn access(field: &FieldDescriptor) -> Option<(String, &'static str)> {
    let name = field.name();
    let optional = field.supports_presence();
    let (value, set) = if optional {
        (format!("record.{name}"), "value")
    } else {
        (format!("Some(record.{name})"), "value.unwrap_or_default()")
    };
    let code = |kind: &str, get: &str, set: &str| {
        format!("{kind} {{ get: |record| {get}, set: |record, value| record.{name} = {set} }}")
    };
    if field.cardinality() == Cardinality::Repeated {
        let texts = || (code("Texts", &format!("&record.{name}"), "value"), "text[]");
        return (field.kind() == Kind::String).then(texts);
    }
    Some(match field.kind() {
        Kind::String if optional => (code("Text", &format!("record.{name}.as_deref()"), set), "text"),
        Kind::String => (code("Text", &format!("Some(&record.{name})"), set), "text"),
        Kind::Int64 => (code("Integer", &value, set), "bigint"),
        Kind::Int32 if optional => (
            code("Integer", &format!("record.{name}.map(i64::from)"), "value.and_then(|value| value.try_into().ok())"),
            "integer",
        ),
        Kind::Bool => (code("Boolean", &value, set), "boolean"),
        Kind::Message(inner) if inner.full_name() == "google.protobuf.Timestamp" => {
            (code("Timestamp", &value, set), "timestamp with time zone")
        }
        _ => return None,
    })
}
