//! The results of items.

use compliance_api::{
    error::{NAME_EXISTS, ResultCode},
    record::FieldSet,
    rules::Violations,
    v1::{AffiliateInput, AffiliateSyncResult, FieldViolation, SyncOutcome},
};

use crate::affiliates::input::Input;

fn result(input: &Input, outcome: SyncOutcome, affiliate_id: Option<i64>, msg: &str) -> AffiliateSyncResult {
    let code = if outcome == SyncOutcome::Refused { ResultCode::UpdateFailed } else { ResultCode::Saved };
    AffiliateSyncResult {
        code: code.into(),
        outcome: outcome.into(),
        affiliate_id,
        client_affiliate_id: input.fields.client_affiliate_id.clone(),
        msg: msg.to_owned(),
        ..AffiliateSyncResult::default()
    }
}

pub(super) fn created(input: &Input, id: Option<i64>) -> AffiliateSyncResult {
    result(input, SyncOutcome::Created, id, "Affiliate created.")
}

pub(super) fn updated(input: &Input, id: i64, changed: FieldSet<AffiliateInput>) -> AffiliateSyncResult {
    let changed_fields = changed.iter().map(|field| field.name.to_owned()).collect();
    AffiliateSyncResult { changed_fields, ..result(input, SyncOutcome::Updated, Some(id), "Affiliate updated.") }
}

pub(super) fn unchanged(input: &Input, id: i64) -> AffiliateSyncResult {
    result(input, SyncOutcome::Unchanged, Some(id), "The affiliate is up to date.")
}

fn refused(input: &Input, msg: &str) -> AffiliateSyncResult {
    result(input, SyncOutcome::Refused, None, msg)
}

pub(super) fn invalid(input: &Input, violations: Violations) -> AffiliateSyncResult {
    let refused = refused(input, &violations.summary());
    let violations = violations.into_iter();
    let violations = violations.map(|each| FieldViolation { field: each.path, description: each.message }).collect();
    AffiliateSyncResult { violations, ..refused }
}

/// Several affiliates have the identifier.
pub(super) fn ambiguous(input: &Input, ids: Vec<i64>) -> AffiliateSyncResult {
    let shown = ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let msg = format!("Several affiliates have this identifier: {shown}.");
    AffiliateSyncResult { conflicting_ids: ids, ..refused(input, &msg) }
}

/// Several items have the identifier.
pub(super) fn repeated(input: &Input, positions: Vec<i64>) -> AffiliateSyncResult {
    let shown = positions.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let msg = format!("Several items have this identifier: those at the positions {shown}.");
    AffiliateSyncResult { conflicting_positions: positions, ..refused(input, &msg) }
}

/// Another affiliate has the name.
pub(super) fn name_of_affiliate(input: &Input, holder: i64) -> AffiliateSyncResult {
    let msg = format!("{NAME_EXISTS} It is that of the affiliate {holder}.");
    AffiliateSyncResult { code: ResultCode::Duplicate.into(), conflicting_ids: vec![holder], ..refused(input, &msg) }
}

/// An item before this one has the name.
pub(super) fn name_of_item(input: &Input, first: i64, position: i64) -> AffiliateSyncResult {
    let msg = format!("The items at the positions {first} and {position} have the same affiliate name.");
    AffiliateSyncResult {
        code: ResultCode::Duplicate.into(),
        conflicting_positions: vec![first, position],
        ..refused(input, &msg)
    }
}

/// Other writers have changed the affiliate again and again.
pub(super) fn changed_meanwhile(input: &Input) -> AffiliateSyncResult {
    refused(input, "The affiliate was changed by other requests meanwhile; send the item again.")
}
