//! Changes of the status that have an operation of their own.

use compliance_api::{
    catalogue::Vocabulary,
    error::Error,
    rules::Violations,
    v1::{
        CloseCaseRequest, CloseCaseResponse, ReopenCaseRequest, ReopenCaseResponse, ResolveCaseRequest,
        ResolveCaseResponse,
    },
};

use super::{
    CLOSED, OPEN, RESOLVED,
    change::Change,
    update::{Condition, apply},
};
use crate::monitoring::{context::Context, names::NameRef};

/// Resolves a case.
pub(in crate::monitoring) async fn resolve(
    context: &Context,
    company_id: i64,
    request: ResolveCaseRequest,
) -> Result<ResolveCaseResponse, Error> {
    let mut change = Change::status(RESOLVED);
    change.case.record.resolved_date = request.resolved_date;
    let condition = Condition { not: Some(vec![RESOLVED]), ..Condition::default() };
    let changed = apply(context, company_id, request.id, change, condition).await?;
    Ok(ResolveCaseResponse { case_id: request.id, changed })
}

/// Closes a case, or gives a closed case another status that closes it.
pub(in crate::monitoring) async fn close(
    context: &Context,
    company_id: i64,
    request: CloseCaseRequest,
) -> Result<CloseCaseResponse, Error> {
    let name = request.case_status.as_deref().filter(|name| !name.is_empty());
    let status = name.and_then(|name| Vocabulary::CaseStatus.default_id(name));
    let mut change = Change::status(status.unwrap_or(*CLOSED.start()));
    change.case.record.closed_date = request.closed_date;
    let not = status.map_or_else(|| CLOSED.collect(), |status| vec![status]);
    let condition = Condition { not: Some(not), ..Condition::default() };
    let changed = apply(context, company_id, request.id, change, condition).await?;
    Ok(CloseCaseResponse { case_id: request.id, changed })
}

/// Reopens a case that is resolved or closed.
pub(in crate::monitoring) async fn reopen(
    context: &Context,
    company_id: i64,
    request: ReopenCaseRequest,
) -> Result<ReopenCaseResponse, Error> {
    let ended = RESOLVED..=*CLOSED.end();
    let name = request.case_status.as_deref().filter(|name| !name.is_empty());
    let used = name.map(|name| NameRef::Name(Vocabulary::CaseStatus, name)).into_iter();
    let names = context.names.of(company_id, used).await?;
    let mut violations = Violations::new();
    let status = names.resolve(&mut violations, "case_status", Vocabulary::CaseStatus, None, name);
    if status.is_some_and(|status| ended.contains(&status)) {
        violations.report("case_status", |label| format!("The selected {label} does not reopen a case."));
    }
    if !violations.is_empty() {
        return Err(Error::invalid(violations));
    }
    let change = Change::status(status.unwrap_or(OPEN));
    let condition = Condition { only: Some(ended.collect()), ..Condition::default() };
    let changed = apply(context, company_id, request.id, change, condition).await?;
    Ok(ReopenCaseResponse { case_id: request.id, changed })
}
