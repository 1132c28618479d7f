//! The fields of messages that are records of a table: their columns, and access to their values.

use std::fmt::Write as _;

use anyhow::{Context as _, bail, ensure};
use prost_reflect::{
    Cardinality, DescriptorPool, DynamicMessage, FieldDescriptor, Kind, MessageDescriptor, ReflectMessage as _, Value,
};

/// Field numbers from here on have no bit in a set of fields.
const MASK_BITS: u32 = 63;

/// Writes an implementation of `Record` for every message with the option `table`.
pub(crate) fn generate(pool: &DescriptorPool) -> anyhow::Result<String> {
    let option = pool.get_extension_by_name("compliance.v1.table").context("table is declared")?;
    let mut code = String::new();
    for message in pool.all_messages().filter(|message| message.package_name() == "compliance.v1") {
        let options = message.options();
        let table = options.get_extension(&option);
        match table.as_str() {
            Some(table) if !table.is_empty() => {
                let table = table.to_owned();
                write_record(pool, &message, &table, &mut code).with_context(|| message.full_name().to_owned())?;
            }
            _ => {}
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
         const FIELDS: &'static [crate::record::Field<Self>] = &[\n{fields}];\n\
         }}",
        message.name()
    )?;
    Ok(())
}

fn write_field(pool: &DescriptorPool, field: &FieldDescriptor, table: &str, code: &mut String) -> anyhow::Result<()> {
    let column = Column::of(pool, field)?;
    let Some((access, obvious_type)) = access(field) else { return Ok(()) };
    if column.none {
        return Ok(());
    }
    let (name, number) = (field.name(), field.number());
    ensure!(number < MASK_BITS, "the field numbers of a record are below {MASK_BITS}: a set of them is one bigint");
    let (form, sql_type) = match (column.form.as_str(), column.vocabulary.as_str()) {
        ("" | "STORED_FORM_UNSPECIFIED", "") => ("Plain".to_owned(), obvious_type),
        ("STORED_FORM_DATE", "") => ("Date".to_owned(), "date"),
        ("STORED_FORM_COUNTRY_CODE", "") => ("CountryCode".to_owned(), "smallint"),
        ("STORED_FORM_COUNTRY_NUMBER", "") => ("CountryNumber".to_owned(), "smallint"),
        ("STORED_FORM_COUNTRY_NAME", "") => ("CountryName".to_owned(), "smallint"),
        ("" | "STORED_FORM_UNSPECIFIED", vocabulary) => {
            (format!("Name(crate::catalogue::Vocabulary::{vocabulary})"), "integer")
        }
        (form, vocabulary) => bail!("both the form {form} and the vocabulary {vocabulary} are given"),
    };
    let table = match (column.computed, column.table.as_str()) {
        (true, _) => "",
        (false, "") => table,
        (false, other) => other,
    };
    let default_name = if column.vocabulary.is_empty() { name.to_owned() } else { format!("{name}_id") };
    let column_name = if column.name.is_empty() { default_name } else { column.name };
    writeln!(
        code,
        "crate::record::Field {{ name: {name:?}, number: {number}, column: crate::record::Column {{ \
         table: {table:?}, name: {column_name:?}, sql_type: {sql_type:?}, form: crate::record::StoredAs::{form} }}, \
         access: crate::record::Access::{access} }},"
    )?;
    Ok(())
}

/// The access to a field's value, and the type that its column has if nothing else is said. `None` for a field that
/// no single column holds.
fn access(field: &FieldDescriptor) -> Option<(String, &'static str)> {
    let name = field.name();
    let optional = field.supports_presence();
    let code = |kind: &str, get: &str, set: &str| {
        format!("{kind} {{ get: |record| {get}, set: |record, value| record.{name} = {set} }}")
    };
    if field.cardinality() == Cardinality::Repeated {
        let texts = || (code("Texts", &format!("&record.{name}"), "value"), "text[]");
        return (field.kind() == Kind::String).then(texts);
    }
    Some(match field.kind() {
        Kind::String if optional => (code("Text", &format!("record.{name}.as_deref()"), "value"), "text"),
        Kind::String => (code("Text", &format!("Some(&record.{name})"), "value.unwrap_or_default()"), "text"),
        Kind::Int64 if optional => (code("Integer", &format!("record.{name}"), "value"), "bigint"),
        Kind::Int64 => (code("Integer", &format!("Some(record.{name})"), "value.unwrap_or_default()"), "bigint"),
        Kind::Int32 if optional => (
            code("Integer", &format!("record.{name}.map(i64::from)"), "value.and_then(|value| value.try_into().ok())"),
            "integer",
        ),
        Kind::Bool if optional => (code("Boolean", &format!("record.{name}"), "value"), "boolean"),
        Kind::Bool => (code("Boolean", &format!("Some(record.{name})"), "value.unwrap_or_default()"), "boolean"),
        Kind::Message(inner) if inner.full_name() == "google.protobuf.Timestamp" => {
            (code("Timestamp", &format!("record.{name}"), "value"), "timestamp with time zone")
        }
        _ => return None,
    })
}

/// The option `column` of one field.
#[derive(Default)]
struct Column {
    name: String,
    table: String,
    form: String,
    vocabulary: String,
    computed: bool,
    none: bool,
}

impl Column {
    fn of(pool: &DescriptorPool, field: &FieldDescriptor) -> anyhow::Result<Self> {
        let option = pool.get_extension_by_name("compliance.v1.column").context("column is declared")?;
        let options = field.options();
        if !options.has_extension(&option) {
            return Ok(Self::default());
        }
        let Value::Message(message) = options.get_extension(&option).into_owned() else {
            bail!("the column of {} is not a message", field.full_name());
        };
        Ok(Self {
            name: text(&message, "name"),
            table: text(&message, "table"),
            form: enum_name(&message, "form"),
            vocabulary: text(&message, "vocabulary"),
            computed: flag(&message, "computed"),
            none: flag(&message, "none"),
        })
    }
}

fn text(message: &DynamicMessage, name: &str) -> String {
    message.get_field_by_name(name).and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

fn flag(message: &DynamicMessage, name: &str) -> bool {
    message.get_field_by_name(name).and_then(|value| value.as_bool()).unwrap_or_default()
}

fn enum_name(message: &DynamicMessage, name: &str) -> String {
    let Some(field) = message.descriptor().get_field_by_name(name) else { return String::new() };
    let (Kind::Enum(kind), Some(number)) = (field.kind(), message.get_field(&field).as_enum_number()) else {
        return String::new();
    };
    kind.get_value(number).map(|value| value.name().to_owned()).unwrap_or_default()
}
