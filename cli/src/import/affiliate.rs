//! Parses one affiliate of a JSON file.

use std::sync::Once;

use compliance_api::{
    record::{Record as _, StoredAs},
    v1::AffiliateInput,
};
use serde_json::Value;
use spreadsheets::{AffiliateRow, Headings, RowError, TableRecord as _, Values};

use super::objects::not_json;

/// Parses an affiliate. Keys are request or response field names, and null clears a field. Warns once about ignored fields.
pub(super) fn parse(
    object: &[u8],
    headings: &Headings,
    required: &[&str],
    warning: &Once,
) -> Result<AffiliateRow, Vec<RowError>> {
    let object = match serde_json::from_slice(object) {
        Ok(Value::Object(object)) => object,
        Ok(_) => return Err(RowError::of_row("The line is not a JSON object.")),
        Err(error) => return Err(RowError::of_row(not_json("record", &error))),
    };
    let is_read_only = |key: &&String| headings.is_read_only::<AffiliateRow>(key);
    let read_only: Vec<&str> = object.keys().filter(is_read_only).map(String::as_str).collect();
    if !read_only.is_empty() {
        warning.call_once(|| tracing::warn!("ignored fields that the service assigns: {}", read_only.join(", ")));
    }
    let (mut values, mut errors) = (Values::new(), Vec::new());
    for (key, value) in object {
        let Some(target) = headings.target::<AffiliateRow>(&key) else {
            let reason = format!("The field is unknown; to ignore it, use --map \"{key}=\".");
            errors.push(RowError::new(&key, &value.to_string(), reason));
            continue;
        };
        let Some(field) = target else { continue };
        if values.iter().any(|(other, _)| other.name == field.name) {
            let reason = format!("The line contains the field {} twice, under two names.", field.name);
            errors.push(RowError::new(&key, "", reason));
            continue;
        }
        let is_country = || AffiliateInput::field(field.name).is_some_and(|it| it.column.form == StoredAs::CountryCode);
        match value {
            Value::Null => values.push((field, None)),
            Value::String(text) => values.push((field, Some(text))),
            Value::Number(code) if is_country() => values.push((field, Some(code.to_string()))),
            other => {
                let reason = format!("The {} field must be a string.", key.replace('_', " "));
                errors.push(RowError::new(&key, &other.to_string(), reason));
            }
        }
    }
    if errors.is_empty() { AffiliateRow::of_values(values, required) } else { Err(errors) }
}
