//! Updates, also by operations that change the status alone: a change is written only if it changes something.

use std::sync::Arc;

use compliance_api::{
    catalogue::Vocabulary,
    error::{Error, Reason},
    rules::Violations,
    v1::{
        CloseCaseRequest, CloseCaseResponse, ReopenCaseRequest, ReopenCaseResponse, ResolveCaseRequest,
        ResolveCaseResponse, UpdateCaseRequest, UpdateCaseResponse,
    },
};

use super::case_update::{CLOSED, CaseUpdate, INPUT, OPEN, RESOLVED};
use crate::{
    etag,
    monitoring::{context::CompanyWriter, field_updates::AFFILIATE_NOT_FOUND, names::CompanyNames},
};
use storage::{database::Connections, statement, table::Layouts};

struct Updated {
    /// The case's revision after the statement, if it exists.
    revision: Option<i64>,
    /// Whether it had a revision that the request names, if that names any.
    as_expected: bool,
    affiliate_found: bool,
    changed: bool,
}

/// What became of a change.
struct Applied {
    changed: bool,
    etag: String,
}

pub(in crate::monitoring) async fn update(
    company: CompanyWriter<'_>,
    request: UpdateCaseRequest,
) -> Result<UpdateCaseResponse, Error> {
    let case = request.case.unwrap_or_default();
    let names = company.names(|names| names.knows_record(&case)).await?;
    let mut violations = Violations::new();
    let change = CaseUpdate::new(&names, &mut violations, "", case, request.update_mask.as_ref());
    if !violations.is_empty() {
        return Err(Error::invalid(violations));
    }
    let Applied { changed, etag } = apply(company, request.id, change, &request.etag, None, None).await?;
    Ok(UpdateCaseResponse { case_id: request.id, changed, etag })
}

/// Applies a change to a case whose status is among `only`, if given, and not among `not`.
async fn apply(
    company: CompanyWriter<'_>,
    case_id: i64,
    change: CaseUpdate,
    etag: &str,
    only: Option<&[i32]>,
    not: Option<&[i32]>,
) -> Result<Applied, Error> {
    let (changes, revisions) = ([&change], etag::revisions(etag));
    let run = |pool: Connections, layouts: Arc<Layouts>| {
        let batch = INPUT.batch(&layouts, &changes);
        let update = sqlx::query_file_as!(
            Updated,
            "src/monitoring/cases/update.sql",
            company.id,
            case_id,
            batch as _,
            only,
            not,
            revisions.as_deref(),
            statement::writer()
        );
        async move { update.fetch_one(&pool).await }
    };
    // Once more, a change would find the revision that it has made itself.
    let updated = if revisions.is_some() { company.write_once(run).await? } else { company.write(run).await? };
    let Some(revision) = updated.revision else { return Err(Error::case_not_found(case_id)) };
    let etag = revision.to_string();
    if !updated.as_expected {
        return Err(Error::etag_mismatch("case_id", case_id, &etag));
    }
    if let Some(field) = change.case.affiliate_field().filter(|_| !updated.affiliate_found) {
        return Err(Error::new(Reason::ReferenceNotFound, AFFILIATE_NOT_FOUND).with("field", field));
    }
    Ok(Applied { changed: updated.changed, etag })
}

pub(in crate::monitoring) async fn resolve(
    company: CompanyWriter<'_>,
    request: ResolveCaseRequest,
) -> Result<ResolveCaseResponse, Error> {
    let mut change = CaseUpdate::status(RESOLVED);
    change.case.record.resolved_date = request.resolved_date;
    let Applied { changed, etag } = apply(company, request.id, change, &request.etag, None, Some(&[RESOLVED])).await?;
    Ok(ResolveCaseResponse { case_id: request.id, changed, etag })
}

/// Closes a case, or gives a closed case another status that closes it.
pub(in crate::monitoring) async fn close(
    company: CompanyWriter<'_>,
    request: CloseCaseRequest,
) -> Result<CloseCaseResponse, Error> {
    let name = request.case_status.as_deref().filter(|name| !name.is_empty());
    let status = name.and_then(|name| Vocabulary::CaseStatus.default_id(name));
    let mut change = CaseUpdate::status(status.unwrap_or(*CLOSED.start()));
    change.case.record.closed_date = request.closed_date;
    let not: Vec<i32> = status.map_or_else(|| CLOSED.collect(), |status| vec![status]);
    let Applied { changed, etag } = apply(company, request.id, change, &request.etag, None, Some(&not)).await?;
    Ok(CloseCaseResponse { case_id: request.id, changed, etag })
}

/// Reopens a case that is resolved or closed.
pub(in crate::monitoring) async fn reopen(
    company: CompanyWriter<'_>,
    request: ReopenCaseRequest,
) -> Result<ReopenCaseResponse, Error> {
    let ended = RESOLVED..=*CLOSED.end();
    let name = request.case_status.as_deref().filter(|name| !name.is_empty());
    let is_known = |names: &CompanyNames| name.is_none_or(|name| names.knows(Vocabulary::CaseStatus, name));
    let names = company.names(is_known).await?;
    let mut violations = Violations::new();
    let status = names.resolve(&mut violations, "case_status", Vocabulary::CaseStatus, None, name);
    if status.is_some_and(|status| ended.contains(&status)) {
        violations.report("case_status", |label| format!("The selected {label} does not reopen a case."));
    }
    if !violations.is_empty() {
        return Err(Error::invalid(violations));
    }
    let change = CaseUpdate::status(status.unwrap_or(OPEN));
    let ended: Vec<i32> = ended.collect();
    let Applied { changed, etag } = apply(company, request.id, change, &request.etag, Some(&ended), None).await?;
    Ok(ReopenCaseResponse { case_id: request.id, changed, etag })
}
