//! Updates cases, including operations that change only the status. An update without differences writes nothing.

use std::{
    ops::RangeInclusive,
    sync::{Arc, LazyLock},
};

use compliance_api::{
    catalogue::Vocabulary,
    error::{Error, Reason},
    record::{Access, Record as _},
    rules::{Violations, check},
    v1::{
        CaseInput, CloseCaseRequest, CloseCaseResponse, ReopenCaseRequest, ReopenCaseResponse, ResolveCaseRequest,
        ResolveCaseResponse, UpdateCaseRequest, UpdateCaseResponse,
    },
};
use prost_types::FieldMask;
use storage::{
    database::Connections,
    error::is_contention,
    statement_context,
    table::{Attribute, Composite, Layouts},
};

use super::{
    case_digests::OpenedWith,
    context::{CompanyWriter, can_retry},
    field_updates::{AFFILIATE_NOT_FOUND, FieldUpdates},
    incidents::{self, Incident},
    names::CompanyNames,
};
use crate::{access::no_violations, cases, record_sql::revisions};

// The SQL statements hard-code these IDs.

const OPEN: i32 = 2;
const RESOLVED: i32 = 5;
/// The case statuses Closed, Rejected, Invalid and Duplicate.
const CLOSED: RangeInclusive<i32> = 6..=9;

/// Case fields that cannot be cleared.
const REQUIRED: [&str; 3] = ["case_status", "created_date", "affiliate_id"];

#[derive(Clone, Debug, Default)]
pub(super) struct CaseUpdate {
    /// The `request_id` of the request that opens the case, or `None` for an update.
    pub(super) request_id: Option<String>,
    pub(super) case: FieldUpdates<CaseInput>,
    /// The incidents of a new case.
    pub(super) incidents: Vec<Incident>,
    /// The digests of a new case's content.
    pub(super) opened_with: OpenedWith,
    /// The ID of the exported case, if it was opened without a request ID.
    pub(super) exported_id: Option<i64>,
}

/// The input type of changes: the columns of a case's fields and derived values.
pub(super) static INPUT: LazyLock<Composite<CaseUpdate>> = LazyLock::new(|| {
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
    /// Converts a validated case. The field paths in violations begin with `prefix`.
    ///
    /// The update writes the fields in `mask`, or all given fields if the mask is absent.
    pub(super) fn new(
        names: &CompanyNames,
        violations: &mut Violations,
        prefix: &str,
        case: CaseInput,
        mask: Option<&FieldMask>,
    ) -> Self {
        let case = FieldUpdates::masked(names, violations, prefix, case, mask, &REQUIRED);
        Self { case, ..Self::default() }
    }

    fn status(id: i32) -> Self {
        let mut change = Self::default();
        change.case.name_ids.insert("case_status_id", id);
        change
    }

    /// Clears absent dates, which the service would otherwise set.
    pub(super) fn keep_dates_as_given(&mut self) {
        let dates = CaseInput::FIELDS.iter().filter(|field| matches!(field.access, Access::Timestamp { .. }));
        let absent = dates.filter(|field| field.is_empty(&self.case.record));
        self.case.cleared.extend(absent.map(|field| field.column.name));
    }
}

struct Updated {
    /// The case's revision after the statement, if the case exists.
    revision: Option<i64>,
    /// Whether the case had a revision that the request accepts.
    as_expected: bool,
    affiliate_found: bool,
    changed: bool,
    affiliate_revision: Option<i64>,
    upline_name: Option<String>,
}

/// The result of an update.
struct Applied {
    changed: bool,
    etag: String,
    affiliate_etag: String,
}

pub(super) async fn update(
    company: CompanyWriter<'_>,
    request: UpdateCaseRequest,
) -> Result<UpdateCaseResponse, Error> {
    let mut violations = check(&request);
    let case = request.case.unwrap_or_default();
    let names = company.names(|names| names.knows_record(&case)).await?;
    let change = CaseUpdate::new(&names, &mut violations, "", case, request.update_mask.as_ref());
    no_violations(violations)?;
    let Applied { changed, etag, affiliate_etag } =
        apply(company, request.id, change, &request.etag, None, None).await?;
    Ok(UpdateCaseResponse { case_id: request.id, changed, etag, affiliate_etag })
}

/// Applies a change if the case's status is among `only` (if given) and not among `not`.
async fn apply(
    company: CompanyWriter<'_>,
    case_id: i64,
    change: CaseUpdate,
    etag: &str,
    only: Option<&[i32]>,
    not: Option<&[i32]>,
) -> Result<Applied, Error> {
    let (changes, revisions) = ([&change], revisions(etag));
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
            statement_context::writer()
        );
        async move { update.fetch_one(&pool).await }
    };
    // After a lost connection, a retry could see the revision that its own first attempt wrote.
    let can_retry = if revisions.is_some() { is_contention } else { can_retry };
    let updated = company.write_in(&company.context.backend.queues.monitoring, can_retry, run).await?;
    let Some(revision) = updated.revision else { return Err(Error::case_not_found(case_id)) };
    let etag = revision.to_string();
    if !updated.as_expected {
        return Err(Error::etag_mismatch("case_id", case_id, &etag));
    }
    if let Some(field) = change.case.affiliate_field().filter(|_| !updated.affiliate_found) {
        return Err(Error::new(Reason::ReferenceNotFound, AFFILIATE_NOT_FOUND).with("field", field));
    }
    let affiliate_revision = updated.affiliate_revision.map(|revision| revision.to_string()).unwrap_or_default();
    let affiliate_etag = cases::affiliate_etag(affiliate_revision, updated.upline_name.as_deref());
    Ok(Applied { changed: updated.changed, etag, affiliate_etag })
}

pub(super) async fn resolve(
    company: CompanyWriter<'_>,
    request: ResolveCaseRequest,
) -> Result<ResolveCaseResponse, Error> {
    let mut change = CaseUpdate::status(RESOLVED);
    change.case.record.resolved_date = request.resolved_date;
    let Applied { changed, etag, affiliate_etag } =
        apply(company, request.id, change, &request.etag, None, Some(&[RESOLVED])).await?;
    Ok(ResolveCaseResponse { case_id: request.id, changed, etag, affiliate_etag })
}

/// Closes a case, or changes a closed case to a different closed status.
pub(super) async fn close(company: CompanyWriter<'_>, request: CloseCaseRequest) -> Result<CloseCaseResponse, Error> {
    let name = request.case_status.as_deref().filter(|name| !name.is_empty());
    let status = name.and_then(|name| Vocabulary::CaseStatus.default_id(name));
    let mut change = CaseUpdate::status(status.unwrap_or(*CLOSED.start()));
    change.case.record.closed_date = request.closed_date;
    let not: Vec<i32> = status.map_or_else(|| CLOSED.collect(), |status| vec![status]);
    let Applied { changed, etag, affiliate_etag } =
        apply(company, request.id, change, &request.etag, None, Some(&not)).await?;
    Ok(CloseCaseResponse { case_id: request.id, changed, etag, affiliate_etag })
}

/// Reopens a resolved or closed case.
pub(super) async fn reopen(
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
        let ended: Vec<&str> = ended.clone().filter_map(|id| Vocabulary::CaseStatus.default_name(id)).collect();
        let ended = ended.join(", ");
        violations.report("case_status", |label| {
            format!("The selected {label} does not reopen a case. It must not be one of: {ended}.")
        });
    }
    no_violations(violations)?;
    let change = CaseUpdate::status(status.unwrap_or(OPEN));
    let ended: Vec<i32> = ended.collect();
    let Applied { changed, etag, affiliate_etag } =
        apply(company, request.id, change, &request.etag, Some(&ended), None).await?;
    Ok(ReopenCaseResponse { case_id: request.id, changed, etag, affiliate_etag })
}

#[cfg(test)]
mod tests {
    use compliance_api::catalogue::Vocabulary::{CaseStatus, RiskLevel};

    use super::{CLOSED, OPEN, RESOLVED};

    #[test]
    fn hard_coded_ids_match_the_catalogue() {
        let statuses = [1, OPEN, RESOLVED, *CLOSED.start(), *CLOSED.end()];
        let names = statuses.map(|id| CaseStatus.default_name(id).unwrap());
        assert_eq!(names, ["New", "Open", "Resolved", "Closed", "Duplicate"]);
        assert_eq!([3, 4].map(|id| RiskLevel.default_name(id).unwrap()), ["High", "Critical"]);
    }
}
