//! Affiliates as a file has them, whichever its form.

use compliance_api::{
    country,
    record::{Access, Field, FieldSet, Record as _, StoredAs},
    rules::check,
    v1::{AffiliateInput, CreateAffiliateRequest},
};

use super::{
    lines::{self, Lines},
    mapping::Mapping,
    report::{Fault, Place},
    source::{Form, Source},
    table::Table,
};

/// One affiliate, and what is wrong with it.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) place: Place,
    pub(super) affiliate: AffiliateInput,
    /// The fields that the row gives, null included.
    pub(super) given: FieldSet<AffiliateInput>,
    pub(super) faults: Vec<Fault>,
}

impl Row {
    pub(super) fn at(place: Place) -> Self {
        Self { place, affiliate: AffiliateInput::default(), given: FieldSet::EMPTY, faults: Vec::new() }
    }

    pub(super) fn with(mut self, fault: Fault) -> Self {
        self.faults.push(fault);
        self
    }

    /// Sets a field from its written form, or clears it.
    pub(super) fn set(&mut self, field: &'static Field<AffiliateInput>, value: Option<String>) {
        let value = if field.column.form == StoredAs::CountryCode { value.map(alpha2) } else { value };
        self.given.insert(field);
        let text = value.clone().unwrap_or_default();
        if !field.set_written(&mut self.affiliate, value) {
            let reason = format!("The {} field must be {}.", field.name.replace('_', " "), field.expected());
            self.faults.push(Fault::new(field.name, &text, reason));
        }
    }

    /// The affiliate's name; empty when it has none.
    pub(super) fn name(&self) -> &str {
        self.affiliate.affiliate_name.as_deref().unwrap_or_default()
    }

    /// A fault of a field, with the value that the row gives it.
    pub(super) fn fault(&self, field: &str, reason: &str) -> Fault {
        let value = AffiliateInput::field(field).and_then(|field| field.written(&self.affiliate));
        Fault::new(field, &value.unwrap_or_default(), reason)
    }

    /// Holds the row to the rules that the service has. One that could not be read has faults enough.
    fn check(&mut self) {
        if !self.faults.is_empty() {
            return;
        }
        let request = CreateAffiliateRequest { affiliate: Some(std::mem::take(&mut self.affiliate)) };
        let violations = check(&request);
        self.affiliate = request.affiliate.unwrap_or_default();
        let faults = violations.iter().map(|violation| self.fault(&violation.path, &violation.message)).collect();
        self.faults = faults;
    }
}

/// Whether a number can be the value of a field; a country may be given by the read form's numeric code.
pub(super) fn takes_number(field: &Field<AffiliateInput>) -> bool {
    field.column.form == StoredAs::CountryCode || matches!(field.access, Access::Integer { .. })
}

/// Whether `true` and `false` can be the value of a field.
pub(super) fn takes_flag(field: &Field<AffiliateInput>) -> bool {
    matches!(field.access, Access::Boolean { .. })
}

/// The code that is written, where the read form's numeric one is given.
fn alpha2(code: String) -> String {
    match code.parse().ok().filter(|_| code.len() <= 3 && code.bytes().all(|byte| byte.is_ascii_digit())) {
        Some(number) => country::alpha2(number).map_or(code, str::to_owned),
        None => code,
    }
}

/// The affiliates of a file, each checked.
pub(super) enum Rows {
    Table(Table),
    Lines(Lines, Mapping),
}

impl Rows {
    pub(super) fn of(source: &Source, form: Form, mapping: Mapping) -> anyhow::Result<Self> {
        Ok(match form {
            Form::Csv => Self::Table(Table::of(source, &mapping)?),
            Form::Ndjson => Self::Lines(Lines::of(source)?, mapping),
        })
    }

    /// The next `most` rows; fewer at the end, and none behind it.
    pub(super) fn batch(&mut self, most: usize) -> anyhow::Result<Vec<Row>> {
        let mut batch = Vec::with_capacity(most);
        while batch.len() < most {
            let row = match self {
                Self::Table(table) => table.next()?,
                Self::Lines(lines, mapping) => {
                    lines.next()?.map(|(place, line)| lines::affiliate(place, line, mapping))
                }
            };
            let Some(mut row) = row else { break };
            row.check();
            batch.push(row);
        }
        Ok(batch)
    }
}

#[cfg(test)]
mod tests {
    use super::alpha2;

    #[test]
    fn either_form_of_a_country_is_understood() {
        assert_eq!(alpha2("840".to_owned()), "US");
        assert_eq!(alpha2("8".to_owned()), "AL");
        for kept in ["us", "DE", "999", "+40", "0840", ""] {
            assert_eq!(alpha2(kept.to_owned()), kept);
        }
    }
}
