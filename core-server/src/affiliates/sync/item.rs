//! Roster items, their comparison with the stored affiliates, and their results.

use std::sync::LazyLock;

use compliance_api::{
    error::{Error, ResultCode},
    record::{FieldSet, Record as _, RecordField},
    rules::{Violations, check},
    v1::{AffiliateInput, AffiliateSync, AffiliateSyncResult, FieldViolation, SyncOutcome},
};
use storage::{
    database::{self, Connections},
    error::from_database,
    template::fill,
};

use crate::affiliates::{
    in_order::NAME,
    input::{INPUT, Input},
};

/// Maximum number of conflicting affiliates listed in a result.
const MAX_CONFLICTS: i64 = 10;

pub(super) const IDENTIFIER: &str = "client_affiliate_id";

/// A roster item.
pub(super) struct Item {
    /// Contains only the fields present in the roster.
    pub(super) input: Input,
    pub(super) violations: Violations,
}

impl Item {
    pub(super) fn new(company_id: i64, mut item: AffiliateSync) -> Self {
        let fields = item.affiliate.get_or_insert_default();
        let mask = item.update_mask.get_or_insert_with(|| FieldSet::given(&*fields).to_mask());
        mask.paths.push(IDENTIFIER.to_owned());
        let mask = FieldSet::of_mask(mask);
        let violations = check(&item);
        let mut fields = item.affiliate.unwrap_or_default();
        for field in AffiliateInput::FIELDS.iter().filter(|field| !mask.contains(field)) {
            field.clear(&mut fields);
        }
        Self { input: Input::new(company_id, 0, fields, mask), violations }
    }
}

/// An item to write, with its state in the database.
pub(super) struct RosterUpdate<'i> {
    /// The index in the batch.
    pub(super) index: usize,
    /// The position in the roster.
    pub(super) position: i64,
    pub(super) input: &'i Input,
    pub(super) found: Found,
}

impl RosterUpdate<'_> {
    /// Returns the affiliate to update, or `None` for a new affiliate.
    pub(super) fn id(&self) -> Option<i64> {
        self.found.ids.first().copied()
    }

    /// Returns the fields that differ or, for a new affiliate, all given fields.
    pub(super) fn fields(&self) -> FieldSet<AffiliateInput> {
        AffiliateInput::FIELDS.iter().filter(|field| self.found.changed & field.bit() != 0).collect()
    }

    /// Returns the affiliate's new name, if it changes.
    pub(super) fn name(&self) -> Option<&str> {
        self.input.fields.affiliate_name.as_deref().filter(|_| self.fields().names(NAME))
    }

    /// Returns the update, which accepts only the stored revision.
    pub(super) fn update(&self) -> Input {
        let Input { company_id, fields, .. } = self.input;
        let update = Input::new(*company_id, self.id().unwrap_or_default(), fields.clone(), self.fields());
        Input { revisions: Some(vec![self.found.revision]), ..update }
    }
}

pub(in crate::affiliates) static COMPARE: LazyLock<&'static str> = LazyLock::new(|| {
    let changed = AffiliateInput::FIELDS.iter().map(|field| {
        let (column, bit) = (field.column.name, field.bit());
        format!("case when i.mask & {bit} <> 0 and i.{column} is distinct from a.{column} then {bit} else 0 end")
    });
    let parts = [
        ("changed", &*changed.collect::<Vec<_>>().join(" | ")),
        ("name_bit", &AffiliateInput::field(NAME).map_or(0, RecordField::bit).to_string()),
        ("most", &MAX_CONFLICTS.to_string()),
    ];
    fill(include_str!("compare.sql"), &parts).leak()
});

/// An item's state in the database.
#[derive(sqlx::FromRow)]
pub(super) struct Found {
    /// The affiliates with the item's identifier.
    pub(super) ids: Vec<i64>,
    /// The affiliate's revision.
    pub(super) revision: i64,
    /// The bits of the fields that differ or, for a new affiliate, of all given fields.
    pub(super) changed: i64,
    /// The affiliate's current name, if it differs.
    pub(super) old_name: Option<String>,
    /// The affiliate that holds the new name, if any.
    pub(super) holder: Option<i64>,
}

/// Returns each item's state in the database, in order.
pub(super) async fn compare(pool: &Connections, company_id: i64, inputs: &[&Input]) -> Result<Vec<Found>, Error> {
    let layouts = pool.layouts();
    let read = async |pool: Connections| {
        let query = sqlx::query_as(*COMPARE).bind(company_id).bind(INPUT.batch(&layouts, inputs));
        query.fetch_all(&pool).await
    };
    database::read(pool, read).await.map_err(from_database)
}

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

/// Returns the result for a saved item. `id` is the new affiliate's ID.
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

pub(super) fn refused(input: &Input, code: ResultCode, msg: &str) -> AffiliateSyncResult {
    AffiliateSyncResult { code: code.into(), ..saved_as(input, SyncOutcome::Refused, None, msg) }
}

pub(super) fn invalid(input: &Input, violations: Violations) -> AffiliateSyncResult {
    let refused = refused(input, ResultCode::UpdateFailed, &violations.summary());
    let violations = violations.into_iter();
    let violations = violations.map(|each| FieldViolation { field: each.path, description: each.message }).collect();
    AffiliateSyncResult { violations, ..refused }
}

/// Returns the result for a new affiliate without a name.
pub(super) fn without_name(input: &Input) -> AffiliateSyncResult {
    let mut violations = Violations::new();
    violations.required(NAME);
    invalid(input, violations)
}

/// Returns the result for an item whose identifier matches several affiliates.
pub(super) fn ambiguous(input: &Input, ids: Vec<i64>) -> AffiliateSyncResult {
    let msg = format!("Several affiliates have this identifier: {}.", listed(&ids));
    AffiliateSyncResult { conflicting_ids: ids, ..refused(input, ResultCode::UpdateFailed, &msg) }
}

/// Returns the result for an item whose identifier appears more than once.
pub(super) fn repeated(input: &Input, positions: Vec<i64>) -> AffiliateSyncResult {
    let msg = format!("Several items have this identifier, at positions {}.", listed(&positions));
    AffiliateSyncResult { conflicting_positions: positions, ..refused(input, ResultCode::UpdateFailed, &msg) }
}

fn listed(numbers: &[i64]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Returns the result for an item whose affiliate changed during every attempt.
pub(super) fn changed_meanwhile(input: &Input) -> AffiliateSyncResult {
    let msg = "Other requests changed the affiliate during the sync. Send the item again.";
    refused(input, ResultCode::UpdateFailed, msg)
}
