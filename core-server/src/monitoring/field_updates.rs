//! The record fields that an item writes, with resolved name IDs and cleared columns.

use compliance_api::{
    record::{FieldSet, Record, StoredAs},
    rules::Violations,
};

use prost_types::FieldMask;
use storage::table::Attribute;

use super::names::{CompanyNames, NameIds};

/// The message for an unknown affiliate.
pub(super) const AFFILIATE_NOT_FOUND: &str = "No affiliate of the company has this identifier.";

/// The fields that refer to the affiliate. Both write the same column.
const AFFILIATE: [&str; 2] = ["client_affiliate_id", AFFILIATE_COLUMN];
const AFFILIATE_COLUMN: &str = "affiliate_id";

#[derive(Clone, Debug, Default)]
pub(super) struct FieldUpdates<R: Record> {
    pub(super) record: R,
    /// The given and cleared fields.
    pub(super) written: FieldSet<R>,
    /// The IDs of the record's names.
    pub(super) name_ids: NameIds,
    /// The columns to set to null.
    pub(super) cleared: Vec<&'static str>,
}

impl<R: Record> FieldUpdates<R> {
    /// Converts a validated record whose `written` fields an item writes. The field paths in violations begin with `prefix`.
    pub(super) fn new(
        names: &CompanyNames,
        violations: &mut Violations,
        prefix: &str,
        record: R,
        written: FieldSet<R>,
    ) -> Self {
        let name_ids = names.resolve_record(violations, prefix, &record);
        if AFFILIATE.iter().all(|name| is_given(&record, name)) {
            let message = "Specify either affiliate_id or client_affiliate_id, not both.";
            violations.report(format!("{prefix}{AFFILIATE_COLUMN}"), |_| message.to_owned());
        }
        let mut changes = Self { record, written, name_ids, cleared: Vec::new() };
        changes.set_cleared();
        changes
    }

    /// Converts the fields in `mask`, or all given fields if the mask is absent. The `required` fields cannot be cleared.
    pub(super) fn masked(
        names: &CompanyNames,
        violations: &mut Violations,
        prefix: &str,
        mut record: R,
        mask: Option<&FieldMask>,
        required: &[&str],
    ) -> Self {
        let written = mask.map_or_else(|| FieldSet::given(&record), FieldSet::of_mask);
        for field in R::FIELDS.iter().filter(|field| !written.contains(field)) {
            field.clear(&mut record);
        }
        let changes = Self::new(names, violations, prefix, record, written);
        for name in required {
            if R::field(name).is_some_and(|field| changes.cleared.contains(&field.column.name)) {
                violations.report(format!("{prefix}{name}"), |label| format!("The {label} field cannot be cleared."));
            }
        }
        changes
    }

    /// Finds the columns to set to null: the columns of written fields without a value.
    fn set_cleared(&mut self) {
        let affiliate = self.affiliate_field();
        let cleared = self.written.iter().filter_map(|field| {
            if is_affiliate(field.name) {
                affiliate.is_none().then_some(AFFILIATE_COLUMN)
            } else {
                field.is_empty(&self.record).then_some(field.column.name)
            }
        });
        self.cleared = cleared.collect();
    }

    /// Merges later changes to the same record.
    pub(super) fn merge(&mut self, later: &Self) {
        if later.written.iter().any(|field| is_affiliate(field.name)) {
            // A field that sets or clears the affiliate replaces both fields.
            for field in R::FIELDS.iter().filter(|field| is_affiliate(field.name)) {
                field.clear(&mut self.record);
            }
        }
        for field in later.written.iter() {
            // A written value is always valid.
            let _ = field.set_written(&mut self.record, field.written(&later.record).map(Into::into));
            self.name_ids.remove(field.column.name);
            self.written.insert(field);
        }
        self.name_ids.extend(&later.name_ids);
        self.set_cleared();
    }

    /// Returns the given field that refers to the affiliate, if any.
    pub(super) fn affiliate_field(&self) -> Option<&'static str> {
        AFFILIATE.into_iter().find(|name| is_given(&self.record, name))
    }

    /// Returns the attributes of an input type that includes the changes.
    pub(super) fn attributes<T: 'static>(changes: fn(&T) -> &Self) -> impl Iterator<Item = Attribute<T>> {
        let fields = R::FIELDS.iter().filter_map(move |field| match field.column.form {
            StoredAs::Name(_) => {
                let id = move |value: &T| changes(value).name_ids.get(field.column.name).copied();
                Some(Attribute::scalar(field.column.name, id))
            }
            _ => Attribute::field(field, move |value| &changes(value).record),
        });
        let cleared = Attribute::borrowed("cleared", move |value| {
            Some(&changes(value).cleared[..]).filter(|cleared| !cleared.is_empty())
        });
        fields.chain([cleared])
    }
}

/// Returns whether a field refers to the affiliate.
pub(super) fn is_affiliate(field: &str) -> bool {
    AFFILIATE.contains(&field)
}

fn is_given<R: Record>(record: &R, name: &str) -> bool {
    R::field(name).is_some_and(|field| !field.is_empty(record))
}
