//! The fields of a case to be opened, or the changes to one, as they are stored.

use std::sync::LazyLock;

use compliance_api::{
    record::{Access, Field, FieldSet, Record as _, StoredAs},
    rules::Violations,
    v1::CaseInput,
};
use prost_types::{FieldMask, Timestamp};

use crate::{
    monitoring::{
        affiliate_ref::{AffiliateRef, Ambiguous},
        incidents::{self, Incident},
        names::{CompanyNames, NameIds},
        rejection::{check_count_within, violate},
    },
    table::{Attribute, Composite},
};

/// Tags of one case.
const MAX_TAGS: usize = 100;

/// What is to be written of a case.
#[derive(Clone, Debug, Default)]
pub(super) struct Change {
    /// What the opener calls the case; none in an update.
    pub(super) request_id: Option<String>,
    case: CaseInput,
    /// The columns that become null.
    cleared: Vec<String>,
    name_ids: NameIds,
    pub(super) affiliate: Option<AffiliateRef>,
    /// The incidents that a case is opened with.
    pub(super) incidents: Vec<Incident>,
}

/// The input type of changes: the columns of a case's fields, and what is derived from them.
pub(super) static INPUT: LazyLock<Composite<Change>> = LazyLock::new(|| {
    let fields = CaseInput::FIELDS.iter().filter_map(|field| match (field.column.form, field.access) {
        _ if is_affiliate(field) => None,
        (StoredAs::Name(_), _) => {
            Some(Attribute::scalar(field.column.name, |change: &Change| change.name_ids.get(field.column.name)))
        }
        // An empty list is no change unless it is cleared.
        (_, Access::Texts { get, .. }) => Some(Attribute::texts(field.column.name, move |change: &Change| {
            Some(get(&change.case)).filter(|texts| !texts.is_empty())
        })),
        _ => Attribute::field(field, |change: &Change| &change.case),
    });
    let derived = [
        Attribute::text("request_id", |change: &Change| change.request_id.as_deref()),
        Attribute::texts("cleared", |change: &Change| Some(&change.cleared[..]).filter(|cleared| !cleared.is_empty())),
        Attribute::scalar("affiliate_id", |change: &Change| change.affiliate.as_ref().and_then(AffiliateRef::id)),
        Attribute::text("client_affiliate_id", |change: &Change| {
            change.affiliate.as_ref().and_then(AffiliateRef::client_id)
        }),
        Attribute::composites("incidents", &incidents::INPUT, |change: &Change| &change.incidents),
    ];
    Composite::new("case_input", fields.chain(derived))
});

impl Change {
    /// Reads the fields of a case, whose rules have been checked. Only those that `mask` names are written; without a
    /// mask, those that are given. The paths of the fields begin with `prefix`.
    pub(super) fn new(
        names: &CompanyNames,
        violations: &mut Violations,
        prefix: &str,
        mut case: CaseInput,
        mask: Option<&FieldMask>,
    ) -> Self {
        let written = mask.map_or_else(|| FieldSet::given(&case), FieldSet::of_mask);
        for field in CaseInput::FIELDS.iter().filter(|field| !written.contains(field)) {
            clear(field, &mut case);
        }
        check_count_within(violations, MAX_TAGS, &format!("{prefix}tags"), case.tags.len());
        let name_ids = names.resolve_record(violations, prefix, &case);
        let affiliate = AffiliateRef::of(case.affiliate_id, case.client_affiliate_id.clone());
        let mut cannot_clear = |field: &str| {
            violate(violations, format!("{prefix}{field}"), |label| format!("The {label} field cannot be cleared."));
        };
        let mut cleared = Vec::new();
        for field in written.iter().filter(|field| !is_affiliate(field) && is_empty(field, &case)) {
            match field.name {
                "case_status" | "created_date" => cannot_clear(field.name),
                _ => cleared.push(field.column.name.to_owned()),
            }
        }
        match &affiliate {
            Err(Ambiguous) => {
                violate(violations, format!("{prefix}affiliate_id"), |_| Ambiguous::MESSAGE.to_owned());
            }
            Ok(None) if written.iter().any(is_affiliate) => cannot_clear("affiliate_id"),
            Ok(_) => {}
        }
        let affiliate = affiliate.unwrap_or_default();
        Self { request_id: None, case, cleared, name_ids, affiliate, incidents: Vec::new() }
    }

    /// Nothing but a case status.
    pub(super) fn status(id: i32) -> Self {
        let mut change = Self::default();
        change.name_ids.set("case_status_id", Some(id));
        change
    }

    /// With a resolution date, if one is given.
    pub(super) fn resolved_date(mut self, date: Option<Timestamp>) -> Self {
        self.case.resolved_date = date;
        self
    }

    /// With a closing date, if one is given.
    pub(super) fn closed_date(mut self, date: Option<Timestamp>) -> Self {
        self.case.closed_date = date;
        self
    }

    /// Clears the dates that are not given, so that the service does not set them.
    pub(super) fn keep_dates_as_given(&mut self) {
        let dates = CaseInput::FIELDS.iter().filter(|field| matches!(field.access, Access::Timestamp { .. }));
        let absent = dates.filter(|field| !field.is_given(&self.case));
        self.cleared.extend(absent.map(|field| field.column.name.to_owned()));
    }
}

/// Whether a field refers to the affiliate.
fn is_affiliate(field: &Field<CaseInput>) -> bool {
    matches!(field.name, "affiliate_id" | "client_affiliate_id")
}

/// Whether a field has no value, or an empty text.
fn is_empty(field: &Field<CaseInput>, case: &CaseInput) -> bool {
    match field.access {
        Access::Text { get, .. } => get(case).is_none_or(str::is_empty),
        _ => !field.is_given(case),
    }
}

fn clear(field: &Field<CaseInput>, case: &mut CaseInput) {
    match field.access {
        Access::Text { set, .. } => set(case, None),
        Access::Integer { set, .. } => set(case, None),
        Access::Boolean { set, .. } => set(case, None),
        Access::Timestamp { set, .. } => set(case, None),
        Access::Texts { set, .. } => set(case, Vec::new()),
    }
}
