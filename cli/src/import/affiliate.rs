//! One affiliate of a file, in any format.

use std::{
    collections::{BTreeMap, HashMap},
    sync::LazyLock,
};

use compliance_api::{
    country,
    record::{FieldSet, Record as _, RecordField, StoredAs},
    rules::{Check as _, check},
    v1::{AffiliateInput, AffiliateSync},
};
use serde_json::Value;

use super::{
    dates::json_day,
    mapping::{Mapping, is_exact, letters},
    row::{Parsed, RowError},
    source::Source,
    table,
};

#[derive(Debug, Default)]
pub(super) struct Affiliate {
    pub(super) input: AffiliateInput,
    /// The fields that the row has, including null fields.
    pub(super) given: FieldSet<AffiliateInput>,
}

impl Affiliate {
    /// Returns the affiliate's name, or an empty text.
    pub(super) fn name(&self) -> &str {
        self.input.affiliate_name.as_deref().unwrap_or_default()
    }

    /// Returns the affiliate as an item of a roster.
    pub(super) fn to_item(&self) -> AffiliateSync {
        AffiliateSync { affiliate: Some(self.input.clone()), update_mask: Some(self.given.to_mask()) }
    }

    /// Returns an item of a roster that changes nothing: the identifier alone.
    pub(super) fn identified(&self) -> AffiliateSync {
        let client_affiliate_id = self.input.client_affiliate_id.clone();
        let affiliate = AffiliateInput { client_affiliate_id, ..AffiliateInput::default() };
        AffiliateSync { affiliate: Some(affiliate), update_mask: None }
    }

    /// Returns an error of a field, with its value.
    pub(super) fn error(&self, field: &str, reason: &str) -> RowError {
        let value = AffiliateInput::field(field).and_then(|field| field.written(&self.input));
        RowError::new(field, &value.unwrap_or_default(), reason)
    }
}

/// An affiliate whose fields are being read.
#[derive(Default)]
pub(super) struct Draft {
    affiliate: Affiliate,
    errors: Vec<RowError>,
}

impl Draft {
    /// Sets a field from its text, or clears it.
    pub(super) fn set(&mut self, field: &'static RecordField<AffiliateInput>, value: Option<String>) {
        let value = match field.column.form {
            StoredAs::CountryCode => value.map(country_code),
            StoredAs::Date => value.map(json_day),
            _ => value,
        };
        self.affiliate.given.insert(field);
        let text = value.clone().unwrap_or_default();
        if !field.set_written(&mut self.affiliate.input, value) {
            self.errors.push(unexpected(field, field.name, &text));
        }
    }

    /// Returns the affiliate, or its errors. Without errors of single fields, it applies the rules of the service.
    pub(super) fn finish(mut self, required: &[&str]) -> Result<Affiliate, Vec<RowError>> {
        if self.errors.is_empty() {
            let Affiliate { input, given } = &mut self.affiliate;
            for field in required.iter().filter_map(|name| AffiliateInput::field(name)) {
                given.insert(field);
            }
            let item = AffiliateSync { affiliate: Some(std::mem::take(input)), update_mask: Some(given.to_mask()) };
            let violations = check(&item);
            *input = item.affiliate.unwrap_or_default();
            self.errors = violations.iter().map(|each| self.affiliate.error(&each.path, &each.message)).collect();
        }
        if self.errors.is_empty() { Ok(self.affiliate) } else { Err(self.errors) }
    }
}

/// Reads the affiliates of a table.
pub(super) fn rows(
    source: &Source,
    mapping: &Mapping,
    options: table::Options,
) -> anyhow::Result<impl Iterator<Item = anyhow::Result<Parsed<Affiliate>>> + use<>> {
    let header = table::header(source)?;
    let (columns, required) = (mapping.columns(header.iter().map(String::as_str))?, mapping.required);
    let is_export =
        columns.iter().flatten().count() == AffiliateInput::FIELDS.len() && header.iter().all(|name| is_exact(name));
    let columns = columns.into_iter().map(|field| AffiliateInput::MESSAGE.field(field?.name)).collect();
    table::rows(source, columns, is_export, options, move |texts| {
        let mut draft = Draft::default();
        for (field, text) in texts {
            if let Some(field) = AffiliateInput::field(field.name) {
                draft.set(field, Some(text));
            }
        }
        draft.finish(required)
    })
}

/// Reads the affiliate of a line of NDJSON. Keys are field names of the write form or the read form. Null clears a
/// field.
pub(super) fn parse(line: &[u8], mapping: &Mapping) -> Result<Affiliate, Vec<RowError>> {
    let object = match serde_json::from_slice(line) {
        Ok(Value::Object(object)) => object,
        Ok(_) => return Err(RowError::of_row("The line is not a JSON object.")),
        Err(error) => return Err(RowError::of_row(format!("The line is not JSON: {error}."))),
    };
    mapping.report_read_only(&object.keys().map(String::as_str).collect::<Vec<_>>());
    let mut draft = Draft::default();
    for (key, value) in object {
        let Some(target) = mapping.target(&key) else {
            let reason = format!("The field is unknown; to ignore it, use --map \"{key}=\".");
            draft.errors.push(RowError::new(&key, &value.to_string(), reason));
            continue;
        };
        let Some(field) = target else { continue };
        if draft.affiliate.given.contains(field) {
            let reason = format!("The line has the field {} twice, under two names.", field.name);
            draft.errors.push(RowError::new(&key, "", reason));
            continue;
        }
        match value {
            Value::Null => draft.set(field, None),
            Value::String(text) => draft.set(field, Some(text)),
            Value::Number(code) if field.column.form == StoredAs::CountryCode => {
                draft.set(field, Some(code.to_string()));
            }
            other => draft.errors.push(unexpected(field, &key, &other.to_string())),
        }
    }
    draft.finish(mapping.required)
}

/// Returns the error of a value that does not fit a field. `name` is the field's name in the file.
fn unexpected(field: &RecordField<AffiliateInput>, name: &str, value: &str) -> RowError {
    RowError::new(name, value, format!("The {} field must be {}.", name.replace('_', " "), field.expected()))
}

/// Alpha-2 codes by the letters of country names. All readers of spreadsheets use the same names.
static COUNTRIES: LazyLock<HashMap<String, String>> = LazyLock::new(|| {
    let json = include_str!("../../../client/python/src/affiliate_compliance/country_names.json");
    let names: BTreeMap<String, Vec<String>> = serde_json::from_str(json).unwrap_or_default();
    names
        .into_iter()
        .flat_map(|(code, names)| names.into_iter().map(move |name| (letters(&name), code.clone())))
        .collect()
});

/// Returns the alpha-2 code for a numeric code or an English name. Any other text is returned unchanged.
fn country_code(text: String) -> String {
    let number = text.parse().ok().filter(|_| text.len() <= 3 && text.bytes().all(|byte| byte.is_ascii_digit()));
    let code = match number {
        Some(number) => country::alpha2(number),
        None => COUNTRIES.get(&letters(&text)).map(String::as_str),
    };
    code.map_or(text, str::to_owned)
}

#[cfg(test)]
mod tests {
    use compliance_api::country;

    use super::{COUNTRIES, country_code};

    #[test]
    fn a_country_is_given_by_either_code_or_by_name() {
        for (text, code) in [("840", "US"), ("8", "AL"), ("Germany", "DE"), ("CÔTE D’IVOIRE", "CI"), ("Viet Nam", "VN")]
        {
            assert_eq!(country_code(text.to_owned()), code);
        }
        for text in ["us", "DE", "999", "+40", "0840", "Atlantis", ""] {
            assert_eq!(country_code(text.to_owned()), text);
        }
    }

    #[test]
    fn every_country_of_the_standard_has_its_short_name() {
        for code in country::codes() {
            let name = country::numeric(code).and_then(country::name).unwrap();
            assert_eq!(country_code(name.to_owned()), code);
        }
        assert!(COUNTRIES.values().all(|code| country::numeric(code).is_some()));
        // Each name has one country.
        let json = include_str!("../../../client/python/src/affiliate_compliance/country_names.json");
        assert_eq!(json.matches('"').count() / 2, COUNTRIES.len() + country::codes().len());
    }
}
