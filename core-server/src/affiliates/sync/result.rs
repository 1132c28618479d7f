//! The results of items.

use compliance_api::{
    error::{NAME_EXISTS, ResultCode},
    rules::Violations,
    v1::{AffiliateSyncResult, FieldViolation, SyncOutcome},
};

use super::{item::RosterUpdate, names::Taken};
use crate::affiliates::{in_order::NAME, input::Input};

fn saved_as(input: &Input, outcome: SyncOutcome, affiliate_id: Option<i64>, msg: &str) -> AffiliateSyncResult {
    AffiliateSyncResult {
        code: ResultCode::Saved.into(),
        outcome: outcome.into(),
        affiliate_id,
        client_affiliate_id: input.fields.client_affiliate_id.clone(),
        msg: msg.to_owned(),
        ..AffiliateSyncResult::default()
    }
}

/// The result of a saved item. `id` is the ID of a new affiliate.
pub(super) fn saved(change: &RosterUpdate<'_>, id: Option<i64>) -> AffiliateSyncResult {
    if change.id().is_none() {
        return saved_as(change.input, SyncOutcome::Created, id, "Affiliate created.");
    }
    let changed_fields = change.fields().iter().map(|field| field.name.to_owned()).collect();
    let updated = saved_as(change.input, SyncOutcome::Updated, change.id(), "Affiliate updated.");
    AffiliateSyncResult { changed_fields, ..updated }
}

pub(super) fn unchanged(input: &Input, id: i64) -> AffiliateSyncResult {
    saved_as(input, SyncOutcome::Unchanged, Some(id), "The affiliate is up to date.")
}

fn refused(input: &Input, code: ResultCode, msg: &str) -> AffiliateSyncResult {
    AffiliateSyncResult { code: code.into(), ..saved_as(input, SyncOutcome::Refused, None, msg) }
}

pub(super) fn invalid(input: &Input, violations: Violations) -> AffiliateSyncResult {
    let refused = refused(input, ResultCode::UpdateFailed, &violations.summary());
    let violations = violations.into_iter();
    let violations = violations.map(|each| FieldViolation { field: each.path, description: each.message }).collect();
    AffiliateSyncResult { violations, ..refused }
}

/// A new affiliate needs a name.
pub(super) fn without_name(input: &Input) -> AffiliateSyncResult {
    let mut violations = Violations::new();
    violations.required(NAME);
    invalid(input, violations)
}

/// Several affiliates have the identifier.
pub(super) fn ambiguous(input: &Input, ids: Vec<i64>) -> AffiliateSyncResult {
    let msg = format!("Several affiliates have this identifier: {}.", listed(&ids));
    AffiliateSyncResult { conflicting_ids: ids, ..refused(input, ResultCode::UpdateFailed, &msg) }
}

/// Several items have the identifier.
pub(super) fn repeated(input: &Input, positions: Vec<i64>) -> AffiliateSyncResult {
    let msg = format!("Several items have this identifier, at positions {}.", listed(&positions));
    AffiliateSyncResult { conflicting_positions: positions, ..refused(input, ResultCode::UpdateFailed, &msg) }
}

fn listed(numbers: &[i64]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

pub(super) fn name_taken(RosterUpdate { input, position, .. }: &RosterUpdate<'_>, taken: Taken) -> AffiliateSyncResult {
    let (conflicting_ids, conflicting_positions, msg) = match taken {
        Taken::ByAffiliate(id) => (vec![id], Vec::new(), format!("{NAME_EXISTS} Its ID is {id}.")),
        Taken::ByItem(first) => {
            let msg = format!("The items at positions {first} and {position} have the same affiliate name.");
            (Vec::new(), vec![first, *position], msg)
        }
    };
    let refused = refused(input, ResultCode::Duplicate, &msg);
    AffiliateSyncResult { conflicting_ids, conflicting_positions, ..refused }
}

/// Other writers have changed the affiliate at every attempt.
pub(super) fn changed_meanwhile(input: &Input) -> AffiliateSyncResult {
    let msg = "Other requests changed the affiliate during the sync. Send the item again.";
    refused(input, ResultCode::UpdateFailed, msg)
}
