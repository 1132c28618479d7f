//! The observations of one URL as a row.

use std::sync::LazyLock;

use compliance_api::{
    record::{Access, Field, FieldSet, Record as _, StoredAs},
    rules::{Violations, check},
    v1::UrlObservation,
};

use crate::{
    monitoring::{
        affiliate_ref::{AffiliateRef, Ambiguous},
        infractions::{self, Infraction},
        names::{CompanyNames, NameIds},
        rejection::{Rejection, check_count_within, violate},
    },
    table::{Attribute, Composite},
    urls::identity,
};

/// The field that identifies the URL.
const URL: &str = "url";
/// Infractions within one observation.
const MAX_INFRACTIONS: usize = 100;

/// What is to be written of one URL.
#[derive(Debug)]
pub(in crate::monitoring) struct Row {
    /// The hash of the normalised URL.
    pub(super) hash: [u8; 32],
    domain: Option<String>,
    observation: UrlObservation,
    /// The fields that are written: those that are given and those that are cleared.
    written: FieldSet<UrlObservation>,
    /// The columns that become null.
    cleared: Vec<String>,
    name_ids: NameIds,
    pub(super) affiliate: Option<AffiliateRef>,
    infractions: Vec<Infraction>,
    /// The indexes of the items that the row combines.
    pub(super) items: Vec<usize>,
}

/// The input type of rows: the columns of an observation's fields, and what is derived from them.
pub(super) static INPUT: LazyLock<Composite<Row>> = LazyLock::new(|| {
    let fields = UrlObservation::FIELDS.iter().filter_map(|field| match field.column.form {
        _ if is_affiliate(field.name) => None,
        StoredAs::Name(_) => {
            Some(Attribute::scalar(field.column.name, |row: &Row| row.name_ids.get(field.column.name)))
        }
        _ => Attribute::field(field, |row: &Row| &row.observation),
    });
    let derived = [
        Attribute::scalar("position", |row: &Row| row.items.first().map(|item| *item as i64)),
        Attribute::scalar("has_values", |row: &Row| Some(!row.written.is_empty())),
        Attribute::texts("cleared", |row: &Row| Some(&row.cleared[..]).filter(|cleared| !cleared.is_empty())),
        Attribute::bytes("url_hash", |row: &Row| Some(&row.hash[..])),
        Attribute::text("domain", |row: &Row| row.domain.as_deref()),
        Attribute::scalar("affiliate_id", |row: &Row| row.affiliate.as_ref().and_then(AffiliateRef::id)),
        Attribute::text("client_affiliate_id", |row: &Row| row.affiliate.as_ref().and_then(AffiliateRef::client_id)),
        Attribute::composites("infractions", &infractions::INPUT, |row: &Row| &row.infractions),
    ];
    Composite::new("url_observation_input", fields.chain(derived))
});

impl Row {
    /// Checks an observation.
    pub(super) fn new(names: &CompanyNames, item: usize, observation: UrlObservation) -> Result<Self, Rejection> {
        let mut violations = check(&observation);
        let identity = observation.url.as_deref().and_then(identity);
        let written = written(&mut violations, &observation);
        check_count_within(&mut violations, MAX_INFRACTIONS, "infractions", observation.infractions.len());
        let name_ids = names.resolve_record(&mut violations, "", &observation);
        let infractions = Infraction::within(names, &mut violations, &observation.infractions);
        let affiliate = AffiliateRef::of(observation.affiliate_id, observation.client_affiliate_id.clone());
        if affiliate.is_err() {
            violate(&mut violations, "affiliate_id", |_| Ambiguous::MESSAGE.to_owned());
        }
        let (Some((hash, domain)), Ok(affiliate), true) = (identity, affiliate, violations.is_empty()) else {
            return Err(Rejection::invalid(violations));
        };
        let mut row = Self {
            hash,
            domain,
            observation,
            written,
            cleared: Vec::new(),
            name_ids,
            affiliate,
            infractions,
            items: vec![item],
        };
        row.set_cleared();
        Ok(row)
    }

    /// Whether a later row of the same URL can be merged into this one: neither can fail without the other.
    pub(super) fn can_merge(&self, later: &Self) -> bool {
        self.affiliate == later.affiliate
    }

    /// Takes over the fields that a later row of the same URL writes.
    pub(super) fn merge(&mut self, later: Self) {
        for field in later.written.iter() {
            copy(field, &later.observation, &mut self.observation);
            if let StoredAs::Name(_) = field.column.form {
                self.name_ids.set(field.column.name, later.name_ids.get(field.column.name));
            }
            self.written.insert(field);
        }
        self.set_cleared();
        self.infractions.extend(later.infractions);
        self.items.extend(later.items);
    }

    /// Works out which columns become null: those of the fields that are written without a value.
    fn set_cleared(&mut self) {
        let cleared = self.written.iter().filter(|field| match field.access {
            _ if is_affiliate(field.name) => self.affiliate.is_none(),
            Access::Text { get, .. } => get(&self.observation).is_none_or(str::is_empty),
            _ => !field.is_given(&self.observation),
        });
        let column = |field: &Field<_>| if is_affiliate(field.name) { "affiliate_id" } else { field.column.name };
        self.cleared = cleared.map(|field| column(field).to_owned()).collect();
    }
}

/// Whether a field refers to the affiliate. Both that do write the same column.
fn is_affiliate(field: &str) -> bool {
    matches!(field, "affiliate_id" | "client_affiliate_id")
}

/// The fields that an observation writes: those that are given and those that are cleared.
fn written(violations: &mut Violations, observation: &UrlObservation) -> FieldSet<UrlObservation> {
    if observation.incident_status.as_deref() == Some("") {
        violate(violations, "incident_status", |label| format!("The {label} field cannot be cleared."));
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
            violate(violations, name, |label| format!("The {label} field is given and cleared."));
        }
        written.insert(field);
    }
    // A URL keeps the text that it was first written as.
    if let Some(url) = UrlObservation::field(URL) {
        written.remove(url);
    }
    written
}

/// Copies the value of a field.
fn copy(field: &Field<UrlObservation>, from: &UrlObservation, to: &mut UrlObservation) {
    match field.access {
        Access::Text { get, set } => set(to, get(from).map(str::to_owned)),
        Access::Integer { get, set } => set(to, get(from)),
        Access::Boolean { get, set } => set(to, get(from)),
        Access::Timestamp { get, set } => set(to, get(from)),
        Access::Texts { get, set } => set(to, get(from).to_vec()),
    }
}

#[cfg(test)]
mod tests {
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
            match Row::new(&CompanyNames::default(), 0, observation) {
                Ok(row) => {
                    let column = if is_affiliate(field.name) { "affiliate_id" } else { field.column.name };
                    assert_eq!(row.cleared, [column]);
                }
                Err(rejection) => {
                    assert!(["incident_status", "disabled", "discovery_date"].contains(&field.name), "{rejection:?}");
                }
            }
        }
    }
}
