//! Opening: one statement for one case or for ten thousand.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use compliance_api::{
    error::{Error, Reason},
    rules::{Violations, check},
    v1::{CaseResult, OpenCaseRequest, OpenCaseResponse, ResultCode},
};

use super::change::{self, Change};
use crate::monitoring::{
    affiliate_ref::{AFFILIATE_NOT_FOUND, AffiliateRef},
    context::{Context, MAX_TRIES},
    incidents::{self, Incident, MAX_INCIDENTS},
    names::{self, CompanyNames},
    rejection::{Rejection, check_count_within, violate},
    values::URL_NOT_FOUND,
};

/// What became of a case.
struct Opened {
    request_id: String,
    case_id: Option<i64>,
    created: bool,
    affiliate_found: bool,
    /// The positions of the incidents whose URL was not found.
    missing_urls: Option<Vec<i64>>,
}

/// Opens one case.
pub(in crate::monitoring) async fn open_one(
    context: &Context,
    company_id: i64,
    request: OpenCaseRequest,
) -> Result<OpenCaseResponse, Error> {
    let result = open(context, company_id, vec![request]).await?.pop().unwrap_or_default();
    match (result.code(), result.case_id) {
        (ResultCode::Saved, Some(case_id)) => Ok(OpenCaseResponse { case_id, created: result.created }),
        (ResultCode::NotFound, _) => {
            let field = result.violations.into_iter().next().map(|violation| violation.field).unwrap_or_default();
            Err(Error::new(Reason::ReferenceNotFound, result.msg).with("field", field))
        }
        _ => {
            let mut violations = Violations::new();
            for violation in result.violations {
                violations.push(violation.field, violation.description, 0, 0);
            }
            Err(Error::invalid(violations))
        }
    }
}

/// Opens cases. Returns one result an item, in the order sent.
pub(in crate::monitoring) async fn open(
    context: &Context,
    company_id: i64,
    requests: Vec<OpenCaseRequest>,
) -> Result<Vec<CaseResult>, Error> {
    let names = resolve_names(context, company_id, &requests).await?;
    let (mut changes, mut request_ids) = (Vec::new(), HashSet::new());
    let items: Vec<Result<String, Rejection>> = requests
        .into_iter()
        .map(|request| {
            let change = checked(&names, request)?;
            let request_id = change.request_id.clone().unwrap_or_default();
            // Of two with the same request ID the first is opened.
            if request_ids.insert(request_id.clone()) {
                changes.push(change);
            }
            Ok(request_id)
        })
        .collect();
    let opened = open_changes(context, company_id, changes).await?;
    let results = items.into_iter().map(|item| match item {
        Ok(request_id) => {
            let (change, opened) = opened.get(&request_id).ok_or_else(Error::internal)?;
            // Only the first item with a request ID opened the case.
            Ok(result(change, opened, request_ids.remove(&request_id)))
        }
        Err(rejection) => Ok(rejected(rejection)),
    });
    results.collect()
}

async fn resolve_names(
    context: &Context,
    company_id: i64,
    requests: &[OpenCaseRequest],
) -> Result<Arc<CompanyNames>, Error> {
    let used = requests.iter().flat_map(|request| {
        request.case.iter().flat_map(names::of_record).chain(request.incidents.iter().map(incidents::names_of))
    });
    let cached = context.names.cached(company_id, used);
    context.names.or_read(company_id, cached).await
}

fn checked(names: &CompanyNames, request: OpenCaseRequest) -> Result<Change, Rejection> {
    let mut violations = check(&request);
    let case = request.case.unwrap_or_default();
    let mut change = Change::new(names, &mut violations, "case.", case, None);
    let is_reported = |path: &str| violations.iter().any(|violation| violation.path == path);
    if change.affiliate.is_none() && !is_reported("case.affiliate_id") && !is_reported("case") {
        violate(&mut violations, "case.client_affiliate_id", |label| format!("The {label} field is required."));
    }
    check_count_within(&mut violations, MAX_INCIDENTS, "incidents", request.incidents.len());
    let incidents = request.incidents.into_iter().enumerate();
    change.incidents = incidents
        .map(|(index, incident)| Incident::new(names, &mut violations, &format!("incidents.{index}."), incident))
        .collect();
    if request.dates_as_given == Some(true) {
        change.keep_dates_as_given();
    }
    change.request_id = request.request_id;
    if violations.is_empty() { Ok(change) } else { Err(Rejection::invalid(violations)) }
}

/// Opens cases of which no two have the same request ID. Returns what became of each, by request ID.
async fn open_changes(
    context: &Context,
    company_id: i64,
    mut changes: Vec<Change>,
) -> Result<HashMap<String, (Change, Opened)>, Error> {
    let mut results = HashMap::new();
    for _ in 0..MAX_TRIES {
        if changes.is_empty() {
            return Ok(results);
        }
        let rows = run(context, company_id, &changes).await?;
        let mut rows: HashMap<String, Opened> = rows.into_iter().map(|row| (row.request_id.clone(), row)).collect();
        let mut rest = Vec::new();
        for change in changes {
            match change.request_id.as_deref().and_then(|request_id| rows.remove_entry(request_id)) {
                Some((request_id, row)) => {
                    results.insert(request_id, (change, row));
                }
                // Another writer has just used the request ID: the next run finds its case.
                None => rest.push(change),
            }
        }
        changes = rest;
    }
    if changes.is_empty() {
        return Ok(results);
    }
    tracing::error!("cases could not be opened in {MAX_TRIES} tries");
    Err(Error::internal())
}

async fn run(context: &Context, company_id: i64, changes: &[Change]) -> Result<Vec<Opened>, Error> {
    let changes: Vec<&Change> = changes.iter().collect();
    context
        .write(|layouts| {
            let batch = change::INPUT.batch(&layouts, &changes);
            sqlx::query_file_as!(Opened, "src/monitoring/cases/open.sql", company_id, batch as _)
                .fetch_all(&context.pool)
        })
        .await
}

fn result(change: &Change, opened: &Opened, is_first: bool) -> CaseResult {
    if let Some(id) = opened.case_id {
        let created = opened.created && is_first;
        let msg = if created { "Case opened." } else { "The case was opened before." };
        return CaseResult {
            code: ResultCode::Saved.into(),
            case_id: Some(id),
            created,
            violations: Vec::new(),
            msg: msg.to_owned(),
        };
    }
    let mut violations = Violations::new();
    if !opened.affiliate_found {
        let field = change.affiliate.as_ref().map_or("client_affiliate_id", AffiliateRef::field);
        violate(&mut violations, format!("case.{field}"), |_| AFFILIATE_NOT_FOUND.to_owned());
    }
    for position in opened.missing_urls.iter().flatten() {
        let index = usize::try_from(position - 1).unwrap_or_default();
        let field = change.incidents.get(index).map_or("url", |incident| incident.content.url_field());
        violate(&mut violations, format!("incidents.{index}.{field}"), |_| URL_NOT_FOUND.to_owned());
    }
    rejected(Rejection::not_found(violations))
}

fn rejected(rejection: Rejection) -> CaseResult {
    let Rejection { code, violations, msg } = rejection;
    CaseResult { code: code.into(), case_id: None, created: false, violations, msg }
}
