//! What is written of a case.

use std::{ops::RangeInclusive, sync::LazyLock};

use compliance_api::{
    record::{Access, FieldSet, Record as _},
    rules::Violations,
    v1::CaseInput,
};
use prost_types::FieldMask;

use super::opened_with::OpenedWith;
use crate::monitoring::{
    field_updates::FieldUpdates,
    incidents::{self, Incident},
    names::CompanyNames,
};
use storage::table::{Attribute, Composite};

// The statements contain these IDs as numbers.

pub(super) const OPEN: i32 = 2;
pub(super) const RESOLVED: i32 = 5;
/// The case statuses Closed, Rejected, Invalid and Duplicate.
pub(super) const CLOSED: RangeInclusive<i32> = 6..=9;

/// The columns of a case that cannot become null, and their fields.
const REQUIRED: [(&str, &str); 3] =
    [("case_status_id", "case_status"), ("created_date", "created_date"), ("affiliate_id", "affiliate_id")];

#[derive(Clone, Debug, Default)]
pub(in crate::monitoring) struct CaseUpdate {
    /// What the opener calls the case; none in an update.
    pub(super) request_id: Option<String>,
    pub(super) case: FieldUpdates<CaseInput>,
    /// The incidents that a case is opened with.
    pub(super) incidents: Vec<Incident>,
    /// What a case is opened with, field by field.
    pub(super) opened_with: OpenedWith,
    /// ID of the exported case, if that case was opened without a request ID.
    pub(super) exported_id: Option<i64>,
}

/// The input type of changes: the columns of a case's fields, and what is derived from them.
pub(in crate::monitoring) static INPUT: LazyLock<Composite<CaseUpdate>> = LazyLock::new(|| {
    let own = [
        Attribute::borrowed("request_id", |change: &CaseUpdate| change.request_id.as_deref()),
        Attribute::borrowed("opened_with", |change: &CaseUpdate| {
            Some(change.opened_with.as_bytes()).filter(|digests| !digests.is_empty())
        }),
        Attribute::composites("incidents", &incidents::INPUT, |change: &CaseUpdate| &change.incidents),
    ];
    Composite::new("case_input", FieldUpdates::attributes(|change: &CaseUpdate| &change.case).chain(own))
});

impl CaseUpdate {
    /// Reads the fields of a case, whose rules have been checked. Only fields that `mask` names are written; without a
    /// mask, all given fields. The paths of the fields begin with `prefix`.
    pub(super) fn new(
        names: &CompanyNames,
        violations: &mut Violations,
        prefix: &str,
        mut case: CaseInput,
        mask: Option<&FieldMask>,
    ) -> Self {
        let written = mask.map_or_else(|| FieldSet::given(&case), FieldSet::of_mask);
        for field in CaseInput::FIELDS.iter().filter(|field| !written.contains(field)) {
            field.clear(&mut case);
        }
        let case = FieldUpdates::new(names, violations, prefix, case, written);
        for (_, field) in REQUIRED.iter().filter(|(column, _)| case.cleared.contains(column)) {
            violations.report(format!("{prefix}{field}"), |label| format!("The {label} field cannot be cleared."));
        }
        Self { case, ..Self::default() }
    }

    pub(super) fn status(id: i32) -> Self {
        let mut change = Self::default();
        change.case.name_ids.insert("case_status_id", id);
        change
    }

    /// Clears the dates that are not given, so that the service does not set them.
    pub(super) fn keep_dates_as_given(&mut self) {
        let dates = CaseInput::FIELDS.iter().filter(|field| matches!(field.access, Access::Timestamp { .. }));
        let absent = dates.filter(|field| field.is_empty(&self.case.record));
        self.case.cleared.extend(absent.map(|field| field.column.name));
    }
}

#[cfg(test)]
mod tests {
    use compliance_api::catalogue::Vocabulary::{CaseStatus, RiskLevel};

    use super::{CLOSED, OPEN, RESOLVED};

    #[test]
    fn ids_in_statements_are_those_of_the_catalogue() {
        let statuses = [1, OPEN, RESOLVED, *CLOSED.start(), *CLOSED.end()];
        let names = statuses.map(|id| CaseStatus.default_name(id).unwrap());
        assert_eq!(names, ["New", "Open", "Resolved", "Closed", "Duplicate"]);
        assert_eq!([3, 4].map(|id| RiskLevel.default_name(id).unwrap()), ["High", "Critical"]);
    }
}
