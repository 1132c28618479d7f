//! One affiliate of a file, whatever its format.

use compliance_api::{
    country,
    record::{Access, Field, FieldSet, Record as _, StoredAs},
    rules::check,
    v1::{AffiliateInput, CreateAffiliateRequest},
};

use super::report::{Position, RowError};

/// One affiliate and its errors.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) position: Position,
    pub(super) affiliate: AffiliateInput,
    /// The fields that the row gives, including those that it sets to null.
    pub(super) given: FieldSet<AffiliateInput>,
    pub(super) errors: Vec<RowError>,
}

impl Row {
    pub(super) fn at(position: Position) -> Self {
        Self { position, affiliate: AffiliateInput::default(), given: FieldSet::EMPTY, errors: Vec::new() }
    }

    pub(super) fn with(mut self, error: RowError) -> Self {
        self.errors.push(error);
        self
    }

    /// Sets a field from its written form, or clears it.
    pub(super) fn set(&mut self, field: &'static Field<AffiliateInput>, value: Option<String>) {
        let value = if field.column.form == StoredAs::CountryCode { value.map(alpha2) } else { value };
        self.given.insert(field);
        let text = value.clone().unwrap_or_default();
        if !field.set_written(&mut self.affiliate, value) {
            let reason = format!("The {} field must be {}.", field.name.replace('_', " "), field.expected());
            self.errors.push(RowError::new(field.name, &text, reason));
        }
    }

    /// The affiliate's name, or an empty text.
    pub(super) fn name(&self) -> &str {
        self.affiliate.affiliate_name.as_deref().unwrap_or_default()
    }

    /// An error of a field, with its value.
    pub(super) fn error(&self, field: &str, reason: &str) -> RowError {
        let value = AffiliateInput::field(field).and_then(|field| field.written(&self.affiliate));
        RowError::new(field, &value.unwrap_or_default(), reason)
    }

    /// Validates the row by the rules of the service unless it has errors already.
    pub(super) fn check(&mut self) {
        if !self.errors.is_empty() {
            return;
        }
        let request = CreateAffiliateRequest { affiliate: Some(std::mem::take(&mut self.affiliate)) };
        let violations = check(&request);
        self.affiliate = request.affiliate.unwrap_or_default();
        let errors = violations.iter().map(|violation| self.error(&violation.path, &violation.message)).collect();
        self.errors = errors;
    }
}

/// Whether a number can be the value of a field; a country may be given by its numeric code.
pub(super) fn takes_number(field: &Field<AffiliateInput>) -> bool {
    field.column.form == StoredAs::CountryCode || matches!(field.access, Access::Integer { .. })
}

/// Whether `true` and `false` can be the value of a field.
pub(super) fn takes_flag(field: &Field<AffiliateInput>) -> bool {
    matches!(field.access, Access::Boolean { .. })
}

/// The alpha-2 code of a country that is given by its numeric code.
fn alpha2(code: String) -> String {
    match code.parse().ok().filter(|_| code.len() <= 3 && code.bytes().all(|byte| byte.is_ascii_digit())) {
        Some(number) => country::alpha2(number).map_or(code, str::to_owned),
        None => code,
    }
}

#[cfg(test)]
mod tests {
    use super::alpha2;

    #[test]
    fn a_country_may_be_given_by_either_code() {
        assert_eq!(alpha2("840".to_owned()), "US");
        assert_eq!(alpha2("8".to_owned()), "AL");
        for kept in ["us", "DE", "999", "+40", "0840", ""] {
            assert_eq!(alpha2(kept.to_owned()), kept);
        }
    }
}
