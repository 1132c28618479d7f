//! The observations of one URL as a row.

use std::{borrow::Cow, sync::LazyLock};

use compliance_api::{
    record::{FieldSet, Record as _},
    rules::Violations,
    v1::UrlObservation,
};
use storage::table::{Attribute, Composite};

use crate::{
    monitoring::{
        field_updates::{FieldUpdates, is_affiliate},
        infractions::{self, Infraction},
        names::CompanyNames,
    },
    urls::identity,
};

/// The field that identifies the URL.
const URL: &str = "url";

#[derive(Debug)]
pub(in crate::monitoring) struct Row {
    /// The hash of the normalized URL.
    pub(super) hash: [u8; 32],
    domain: Option<String>,
    pub(super) observation: FieldUpdates<UrlObservation>,
    pub(super) infractions: Vec<Infraction>,
    /// The indexes of the valid items that the row combines.
    pub(super) items: Vec<usize>,
}

/// The input type of rows: the columns of an observation's fields, and derived values.
pub(in crate::monitoring) static INPUT: LazyLock<Composite<Row>> = LazyLock::new(|| {
    let own = [
        Attribute::scalar("position", |row: &Row| row.items.first().map(|item| *item as i64)),
        Attribute::scalar("has_values", |row: &Row| Some(!row.observation.written.is_empty())),
        Attribute::borrowed("url_hash", |row: &Row| Some(&row.hash[..])),
        Attribute::borrowed("domain", |row: &Row| row.domain.as_deref()),
        Attribute::composites("infractions", &infractions::INPUT, |row: &Row| &row.infractions),
    ];
    Composite::new("url_observation_input", FieldUpdates::attributes(|row: &Row| &row.observation).chain(own))
});

impl Row {
    /// Reads an observation. Its rules were checked.
    pub(super) fn new(names: &CompanyNames, violations: &mut Violations, observation: UrlObservation) -> Self {
        // The rules have reported an invalid URL.
        let (hash, domain) = observation.url.as_deref().and_then(identity).unwrap_or_default();
        let written = written(violations, &observation);
        let observation = FieldUpdates::new(names, violations, "", observation, written);
        let infractions = Infraction::within(names, violations, &observation.record.infractions);
        Self { hash, domain, observation, infractions, items: Vec::new() }
    }

    pub(super) fn affiliate(&self) -> Option<(&'static str, Cow<'_, str>)> {
        let field = self.observation.affiliate_field()?;
        Some((field, UrlObservation::field(field)?.written(&self.observation.record)?))
    }

    /// Adds what a later row of the same URL writes.
    pub(super) fn merge(&mut self, later: Self) {
        self.observation.merge(&later.observation);
        self.infractions.extend(later.infractions);
        self.items.extend(later.items);
    }
}

/// The given fields and the cleared fields of an observation.
fn written(violations: &mut Violations, observation: &UrlObservation) -> FieldSet<UrlObservation> {
    if observation.incident_status.as_deref() == Some("") {
        violations.report("incident_status", |label| format!("The {label} field cannot be cleared."));
    }
    let mut written = FieldSet::given(observation);
    let given = written;
    for name in &observation.clear {
        // The rules have refused names that cannot be cleared.
        let Some(field) = UrlObservation::field(name).filter(|field| field.name != URL) else { continue };
        let both =
            if is_affiliate(name) { given.iter().any(|field| is_affiliate(field.name)) } else { given.contains(field) };
        if both {
            let name = if is_affiliate(name) { "affiliate_id" } else { name };
            violations.report(name, |label| format!("The {label} field must not be both given and cleared."));
        }
        written.insert(field);
    }
    // A URL keeps the text that it was first written as.
    if let Some(url) = UrlObservation::field(URL) {
        written.remove(url);
    }
    written
}

#[cfg(test)]
mod tests {
    use compliance_api::rules::check;

    use super::*;

    #[test]
    fn every_field_that_can_be_cleared_clears_its_column() {
        let fields = UrlObservation::FIELDS.iter().filter(|field| field.name != URL);
        for field in fields {
            let observation = UrlObservation {
                url: Some("https://example.org".to_owned()),
                clear: vec![field.name.to_owned()],
                ..UrlObservation::default()
            };
            let mut violations = check(&observation);
            let row = Row::new(&CompanyNames::default(), &mut violations, observation);
            if violations.is_empty() {
                let column = if is_affiliate(field.name) { "affiliate_id" } else { field.column.name };
                assert_eq!(row.observation.cleared, [column]);
            } else {
                let names = ["incident_status", "disabled", "discovery_date"];
                assert!(names.contains(&field.name), "{violations:?}");
            }
        }
    }
}
