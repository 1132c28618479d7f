//! The fields of a case as they are stored.

use compliance_api::{catalogue::Vocabulary, country, rules::Violations, v1::CaseInput};
use time::OffsetDateTime;

use crate::monitoring::{
    faults::{at_most_within, fault},
    names::{Known, Wanted},
    write::{AffiliateRef, NAMED_TWICE, filled, moment},
};

/// Tags of one case, at most.
const MOST_TAGS: usize = 100;

/// Columns that are written, by their bit in a mask, each with its type.
pub(super) const COLUMNS: [(&str, &str); 18] = [
    ("affiliate_id", "bigint"),
    ("tags", "text[]"),
    ("case_status_id", "integer"),
    ("sub_status_id", "integer"),
    ("notice_status_id", "integer"),
    ("risk_level_id", "integer"),
    ("case_country", "smallint"),
    ("case_worker", "text"),
    ("submitter", "text"),
    ("sub_affiliate_id", "text"),
    ("created_date", "timestamptz"),
    ("reviewed_date", "timestamptz"),
    ("resolved_date", "timestamptz"),
    ("first_action_date", "timestamptz"),
    ("flagged_date", "timestamptz"),
    ("follow_up_date", "timestamptz"),
    ("closed_date", "timestamptz"),
    ("last_updated_date", "timestamptz"),
];

/// The bit of a column, as a number; 0 for what is none.
pub(super) fn bit(column: &str) -> i32 {
    COLUMNS.iter().position(|(name, _)| *name == column).map_or(0, |position| 1 << position)
}

/// What is to be written of a case.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields {
    /// Which columns are given: a bit each.
    pub(super) mask: i32,
    pub(super) affiliate: Option<AffiliateRef>,
    pub(super) tags: Vec<String>,
    /// Case status, sub-status, notice status and risk level.
    pub(super) names: [Option<i32>; 4],
    pub(super) country: Option<i16>,
    /// Worker, submitter and sub-affiliate.
    pub(super) texts: [Option<String>; 3],
    /// The dates, in the order of the columns.
    pub(super) moments: [Option<OffsetDateTime>; 8],
}

impl Fields {
    /// Reads a case's fields, whose rules have been checked. `prefix` is where they stand in the item; `mask` names
    /// those that count, by default all that are given.
    pub(super) fn new(
        known: &Known,
        faults: &mut Violations,
        prefix: &str,
        case: CaseInput,
        mask: Option<&[String]>,
    ) -> Self {
        let path = |field: &str| format!("{prefix}{field}");
        let case = masked(case, mask);
        let given = mask.map_or_else(
            || given(&case),
            |mask| mask.iter().map(|path| bit_of_field(path)).fold(0, |all, bit| all | bit),
        );
        at_most_within(faults, MOST_TAGS, &path("tags"), case.tags.len());
        let names =
            NAMES.map(|(field, vocabulary, _)| known.resolve(faults, &path(field), vocabulary, name(&case, field)));
        for (field, empty) in [
            ("case_status", case.case_status.as_deref().is_none_or(str::is_empty)),
            ("created_date", case.created_date.is_none()),
        ] {
            let sent = given & bit_of_field(field) != 0;
            if sent && empty {
                fault(faults, path(field), |label| format!("The {label} field cannot be cleared."));
            }
        }
        let affiliate = AffiliateRef::of(case.affiliate_id, case.client_affiliate_id);
        match &affiliate {
            Err(()) => fault(faults, path("affiliate_id"), |_| NAMED_TWICE.to_owned()),
            Ok(None) if given & bit("affiliate_id") != 0 => {
                fault(faults, path("affiliate_id"), |label| format!("The {label} field cannot be cleared."));
            }
            Ok(_) => {}
        }
        Self {
            mask: given,
            affiliate: affiliate.unwrap_or_default(),
            tags: case.tags,
            names,
            country: case.case_country.as_deref().and_then(country::numeric),
            texts: [filled(case.case_worker), filled(case.submitter), filled(case.sub_affiliate_id)],
            moments: [
                moment(case.created_date.as_ref()),
                moment(case.reviewed_date.as_ref()),
                moment(case.resolved_date.as_ref()),
                moment(case.first_action_date.as_ref()),
                moment(case.flagged_date.as_ref()),
                moment(case.follow_up_date.as_ref()),
                moment(case.closed_date.as_ref()),
                moment(case.last_updated_date.as_ref()),
            ],
        }
    }

    /// Nothing but a case status.
    pub(super) fn status(id: i32) -> Self {
        Self { mask: bit("case_status_id"), names: [Some(id), None, None, None], ..Self::default() }
    }

    /// With a date, if one is given.
    pub(super) fn date(mut self, column: &str, value: Option<&prost_types::Timestamp>) -> Self {
        let first = bit("created_date").trailing_zeros();
        let nth = bit(column).trailing_zeros().checked_sub(first);
        let slot = nth.and_then(|nth| self.moments.get_mut(nth as usize));
        if let (Some(slot), Some(value)) = (slot, moment(value)) {
            *slot = Some(value);
            self.mask |= bit(column);
        }
        self
    }
}

/// Fields that name an entry of a vocabulary, in the order of [`Fields::names`].
const NAMES: [(&str, Vocabulary, &str); 4] = [
    ("case_status", Vocabulary::CaseStatus, "case_status_id"),
    ("sub_status", Vocabulary::CaseSubStatus, "sub_status_id"),
    ("notice_status", Vocabulary::NoticeStatus, "notice_status_id"),
    ("risk_level", Vocabulary::RiskLevel, "risk_level_id"),
];

fn name<'a>(case: &'a CaseInput, field: &str) -> Option<&'a str> {
    match field {
        "case_status" => case.case_status.as_deref(),
        "sub_status" => case.sub_status.as_deref(),
        "notice_status" => case.notice_status.as_deref(),
        "risk_level" => case.risk_level.as_deref(),
        _ => None,
    }
}

/// The names that a case's fields need.
pub(super) fn wanted(case: &CaseInput) -> impl Iterator<Item = Wanted<'_>> {
    NAMES.into_iter().filter_map(|(field, vocabulary, _)| Some(Wanted::Name(vocabulary, name(case, field)?)))
}

/// The bit of a field's column.
fn bit_of_field(field: &str) -> i32 {
    let column = NAMES.iter().find(|(name, ..)| *name == field).map_or(field, |(_, _, column)| column);
    bit(if column == "client_affiliate_id" { "affiliate_id" } else { column })
}

/// The columns of the fields that are given.
fn given(case: &CaseInput) -> i32 {
    let fields = [
        ("affiliate_id", case.affiliate_id.is_some() || case.client_affiliate_id.is_some()),
        ("tags", !case.tags.is_empty()),
        ("case_status", case.case_status.is_some()),
        ("sub_status", case.sub_status.is_some()),
        ("notice_status", case.notice_status.is_some()),
        ("risk_level", case.risk_level.is_some()),
        ("case_country", case.case_country.is_some()),
        ("case_worker", case.case_worker.is_some()),
        ("submitter", case.submitter.is_some()),
        ("sub_affiliate_id", case.sub_affiliate_id.is_some()),
        ("created_date", case.created_date.is_some()),
        ("reviewed_date", case.reviewed_date.is_some()),
        ("resolved_date", case.resolved_date.is_some()),
        ("first_action_date", case.first_action_date.is_some()),
        ("flagged_date", case.flagged_date.is_some()),
        ("follow_up_date", case.follow_up_date.is_some()),
        ("closed_date", case.closed_date.is_some()),
        ("last_updated_date", case.last_updated_date.is_some()),
    ];
    fields.into_iter().filter(|(_, given)| *given).fold(0, |all, (field, _)| all | bit_of_field(field))
}

/// The case without the fields that a mask does not name.
fn masked(mut case: CaseInput, mask: Option<&[String]>) -> CaseInput {
    let Some(mask) = mask else { return case };
    let out = |field: &str| !mask.iter().any(|path| path == field);
    macro_rules! drop_unnamed {
        ($($field:ident),*) => { $( if out(stringify!($field)) { case.$field = Default::default(); } )* };
    }
    drop_unnamed!(
        client_affiliate_id,
        affiliate_id,
        case_worker,
        tags,
        case_status,
        sub_status,
        submitter,
        notice_status,
        risk_level,
        case_country,
        sub_affiliate_id,
        created_date,
        reviewed_date,
        resolved_date,
        first_action_date,
        flagged_date,
        follow_up_date,
        closed_date,
        last_updated_date
    );
    case
}

#[cfg(test)]
mod tests {
    use compliance_api::rules::Check as _;

    use super::*;

    #[test]
    fn every_field_has_a_column() {
        let all = CaseInput::NAMES.iter().fold(0, |all, field| {
            assert_ne!(bit_of_field(field), 0, "{field}");
            all | bit_of_field(field)
        });
        assert_eq!(all, (1 << COLUMNS.len()) - 1);
    }
}
