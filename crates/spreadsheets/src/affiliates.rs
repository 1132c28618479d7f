//! Reads affiliates from rows and JSON objects.

use std::{
    collections::{BTreeMap, HashMap},
    sync::LazyLock,
};

use compliance_api::{
    country,
    record::{FieldSet, Record as _, StoredAs},
    rules::{Check as _, check},
    v1::{Affiliate, AffiliateInput, AffiliateSync},
};

use crate::{
    dates::iso_day,
    headings::{field_of, is_written_as, letters},
    record::{TableRecord, Target, Values},
    row::{RowError, start_of},
};

/// An affiliate with the fields that a row sets or clears.
#[derive(Debug, Default)]
pub struct AffiliateRow {
    /// Field values.
    pub input: AffiliateInput,
    /// Fields that the row contains, including cleared fields.
    pub given: FieldSet<AffiliateInput>,
}

impl AffiliateRow {
    /// Fields required for every new affiliate.
    pub const REQUIRED: &[&str] = &["client_affiliate_id", "affiliate_name"];

    /// Returns the affiliate as a sync item.
    pub fn to_item(&self) -> AffiliateSync {
        AffiliateSync { affiliate: Some(self.input.clone()), update_mask: Some(self.given.to_mask()) }
    }

    /// Returns an error for a field, including its value.
    pub fn error(&self, field: &str, reason: &str) -> RowError {
        let value = AffiliateInput::field(field).and_then(|field| field.written(&self.input));
        RowError::new(field, &value.unwrap_or_default(), reason)
    }

    /// Applies the service's rules. Adds their errors to the errors of other fields.
    fn check(self, mut errors: Vec<RowError>) -> Result<Self, Vec<RowError>> {
        let is_reported = |path: &str| errors.iter().any(|error| error.field == path);
        let violations = check(&self.to_item());
        let violations = violations.iter().filter(|each| !is_reported(&each.path));
        let of_rules: Vec<_> = violations.map(|each| self.error(&each.path, &each.message)).collect();
        errors.extend(of_rules);
        if errors.is_empty() { Ok(self) } else { Err(errors) }
    }
}

impl TableRecord for AffiliateRow {
    fn target(heading: &str) -> Option<Target> {
        field_of(AffiliateInput::MESSAGE, heading).map(Some).or_else(|| {
            // Responses use different names for some fields, and also contain fields that the service assigns.
            let key = letters(heading);
            let read = Affiliate::FIELDS.iter().find(|field| is_written_as(field.name, &key))?;
            let written = AffiliateInput::FIELDS.iter().find(|field| field.column.name == read.column.name);
            Some(written.and_then(|field| AffiliateInput::MESSAGE.field(field.name)))
        })
    }

    fn fields() -> Vec<&'static str> {
        AffiliateInput::names()
    }

    fn of_values(values: Values, required: &[&str]) -> Result<Self, Vec<RowError>> {
        let (mut row, mut errors) = (Self::default(), Vec::new());
        for (described, value) in values {
            let Some(field) = AffiliateInput::field(described.name) else { continue };
            let value = match field.column.form {
                StoredAs::CountryCode => value.map(country_code),
                StoredAs::Date => value.map(iso_day),
                _ => value.map(|text| allowed_value(described.one_of, text)),
            };
            row.given.insert(field);
            let text = value.clone().unwrap_or_default();
            let is_country = field.column.form == StoredAs::CountryCode;
            if is_country && !text.is_empty() && text.chars().count() != 2 {
                let reason = format!(
                    "{} is not a known country; enter a two-letter code, a number or an English name.",
                    start_of(&text)
                );
                errors.push(RowError::new(field.name, &text, reason));
            } else if !field.set_written(&mut row.input, value) {
                let reason = format!("The {} field must be {}.", field.name.replace('_', " "), field.expected());
                errors.push(RowError::new(field.name, &text, reason));
            }
        }
        required.iter().filter_map(|name| AffiliateInput::field(name)).for_each(|field| row.given.insert(field));
        row.check(errors)
    }

    fn is_export(headings: &[String]) -> bool {
        let is_exact = |name: &String| AffiliateInput::field(name).is_some() || Affiliate::field(name).is_some();
        let named = headings.iter().filter_map(|name| Self::target(name)?).count();
        named == AffiliateInput::FIELDS.len() && headings.iter().all(is_exact)
    }
}

/// Returns the allowed value that differs from the text only in case, as people and spreadsheets write `Active`, or the text.
fn allowed_value(allowed: &[&str], text: String) -> String {
    allowed.iter().find(|value| value.eq_ignore_ascii_case(&text)).map_or(text, |value| (*value).to_owned())
}

/// Alpha-2 codes, keyed by the letters of country names.
static COUNTRIES: LazyLock<HashMap<String, String>> = LazyLock::new(|| {
    let names: BTreeMap<String, Vec<String>> =
        serde_json::from_str(include_str!("country_names.json")).unwrap_or_default();
    names
        .into_iter()
        .flat_map(|(code, names)| names.into_iter().map(move |name| (letters(&name), code.clone())))
        .collect()
});

/// Returns the alpha-2 code for a numeric code or an English name. Returns any other text unchanged.
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
    fn numeric_codes_and_names_become_alpha2_codes() {
        for (text, code) in [("840", "US"), ("8", "AL"), ("Germany", "DE"), ("CÔTE D’IVOIRE", "CI"), ("Viet Nam", "VN")]
        {
            assert_eq!(country_code(text.to_owned()), code);
        }
        for text in ["us", "DE", "999", "+40", "0840", "Atlantis", ""] {
            assert_eq!(country_code(text.to_owned()), text);
        }
    }

    #[test]
    fn every_short_name_maps_to_its_country() {
        for code in country::codes() {
            let name = country::numeric(code).and_then(country::name).unwrap();
            assert_eq!(country_code(name.to_owned()), code);
        }
        assert!(COUNTRIES.values().all(|code| country::numeric(code).is_some()));
        // Each name identifies one country.
        let json = include_str!("country_names.json");
        assert_eq!(json.matches('"').count() / 2, COUNTRIES.len() + country::codes().len());
    }
}
