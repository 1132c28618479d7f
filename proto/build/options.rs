//! Reads the options that `rules.proto`, `storage.proto` and `operations.proto` declare.

use anyhow::{Context as _, bail};
use heck::ToUpperCamelCase as _;
use prost_reflect::{
    DescriptorPool, DynamicMessage, EnumDescriptor, FieldDescriptor, Kind, ReflectMessage as _, Value,
};

/// Returns an option's value, or the default of its type.
pub(crate) fn value(pool: &DescriptorPool, options: &DynamicMessage, name: &str) -> anyhow::Result<Value> {
    let option = pool.get_extension_by_name(&format!("compliance.v1.{name}"));
    let option = option.with_context(|| format!("the option {name} is not declared"))?;
    Ok(options.get_extension(&option).into_owned())
}

/// Returns the message in a field's option, or an empty message.
pub(crate) fn of_field(pool: &DescriptorPool, field: &FieldDescriptor, name: &str) -> anyhow::Result<DynamicMessage> {
    match value(pool, &field.options(), name)? {
        Value::Message(message) => Ok(message),
        _ => bail!("the option {name} of {} is not a message", field.full_name()),
    }
}

/// Returns a string in an option, or an empty string.
pub(crate) fn text(option: &DynamicMessage, name: &str) -> String {
    option.get_field_by_name(name).and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

/// Returns a flag in an option.
pub(crate) fn flag(option: &DynamicMessage, name: &str) -> bool {
    option.get_field_by_name(name).and_then(|value| value.as_bool()).unwrap_or_default()
}

/// Returns the Rust name of an enum value in an option: `CountryCode` for `STORED_FORM_COUNTRY_CODE`.
pub(crate) fn variant(option: &DynamicMessage, name: &str) -> anyhow::Result<String> {
    let field = option.descriptor().get_field_by_name(name).with_context(|| format!("{name} is not declared"))?;
    let Kind::Enum(kind) = field.kind() else { bail!("{name} is not an enum") };
    variant_of(&kind, option.get_field(&field).as_enum_number().unwrap_or_default())
}

/// Returns the Rust name of an enum value.
pub(crate) fn variant_of(kind: &EnumDescriptor, number: i32) -> anyhow::Result<String> {
    let value = kind.get_value(number).with_context(|| format!("{} has no value {number}", kind.name()))?;
    let variant = value.name().to_upper_camel_case();
    Ok(variant.strip_prefix(kind.name()).unwrap_or(&variant).to_owned())
}
