//! Updates: a change is written only if it changes something.

use compliance_api::{
    error::{Error, Reason},
    rules::Violations,
    v1::{UpdateCaseRequest, UpdateCaseResponse},
};

use super::change::{self, Change};
use crate::monitoring::{changes::AFFILIATE_NOT_FOUND, context::Context, names};

/// The statuses that a case must have, and must not have, for a change to happen. By default any.
#[derive(Clone, Debug, Default)]
pub(super) struct Condition {
    pub(super) only: Option<Vec<i32>>,
    pub(super) not: Option<Vec<i32>>,
}

/// What became of the change.
struct Updated {
    case_found: bool,
    affiliate_found: bool,
    changed: bool,
}

/// Changes the fields that are named.
pub(in crate::monitoring) async fn update(
    context: &Context,
    company_id: i64,
    request: UpdateCaseRequest,
) -> Result<UpdateCaseResponse, Error> {
    let case = request.case.unwrap_or_default();
    let names = context.names.of(company_id, names::of_record(&case)).await?;
    let mut violations = Violations::new();
    let change = Change::new(&names, &mut violations, "", case, request.update_mask.as_ref());
    if !violations.is_empty() {
        return Err(Error::invalid(violations));
    }
    let changed = apply(context, company_id, request.id, change, Condition::default()).await?;
    Ok(UpdateCaseResponse { case_id: request.id, changed })
}

/// Applies a change to a case that meets a condition, and returns whether it changed anything. A case that does not meet
/// the condition stays as it is.
pub(super) async fn apply(
    context: &Context,
    company_id: i64,
    case_id: i64,
    change: Change,
    condition: Condition,
) -> Result<bool, Error> {
    let Condition { only, not } = condition;
    let (only, not) = (only.as_deref(), not.as_deref());
    let changes = [&change];
    let updated = context.write(company_id, |pool, layouts| {
        let batch = change::INPUT.batch(&layouts, &changes);
        let update = sqlx::query_file_as!(
            Updated,
            "src/monitoring/cases/update.sql",
            company_id,
            case_id,
            batch as _,
            only,
            not
        );
        async move { update.fetch_one(&pool).await }
    });
    let updated = updated.await?;
    if !updated.case_found {
        return Err(Error::case_not_found(case_id));
    }
    if let Some(field) = change.case.affiliate_field().filter(|_| !updated.affiliate_found) {
        return Err(Error::new(Reason::ReferenceNotFound, AFFILIATE_NOT_FOUND).with("field", field));
    }
    Ok(updated.changed)
}
