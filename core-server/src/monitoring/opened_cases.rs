//! Opens cases. One statement opens any number of cases.

use std::collections::{BTreeSet, HashMap, HashSet};

use compliance_api::{
    error::{Error, Reason},
    rules::Violations,
    v1::{OpenCaseRequest, OpenCaseResponse, ResultCode},
};

use super::{
    case_digests::OpenedWith,
    case_updates::{CaseUpdate, INPUT},
    context::{CompanyWriter, write_all},
    export,
    field_updates::AFFILIATE_NOT_FOUND,
    incidents::{self, Incident},
    infractions::URL_NOT_FOUND,
    items::{Outcome, check_all},
    names::CompanyNames,
};
use storage::statement_context;

/// The message for a request ID that has already opened a case with different content.
const REQUEST_ID_REUSED: &str = "This request_id has already opened a case with other content.";
const WHAT_TO_DO: &str = "Update that case, or use a different request_id.";

struct CaseRow {
    request_id: String,
    case_id: Option<i64>,
    created: bool,
    affiliate_found: bool,
    /// The digests of an existing case's original content, if known.
    opened_with: Option<Vec<u8>>,
    /// The positions of the incidents whose URL was not found.
    missing_urls: Option<Vec<i64>>,
}

pub(super) async fn open_one(company: CompanyWriter<'_>, request: OpenCaseRequest) -> Result<OpenCaseResponse, Error> {
    let opened: Option<Outcome> = open(company, vec![request]).await?.pop();
    let Outcome { code, id, changed: created, violations, msg } = opened.unwrap_or_default();
    match (code, id) {
        (ResultCode::Saved, Some(case_id)) => Ok(OpenCaseResponse { case_id, created }),
        (ResultCode::Duplicate, Some(case_id)) => {
            let fields: Vec<&str> = violations.iter().map(|violation| violation.path.as_str()).collect();
            Err(Error::new(Reason::RequestIdReused, REQUEST_ID_REUSED)
                .with("case_id", case_id)
                .with("fields", fields.join(",")))
        }
        (ResultCode::NotFound, _) => {
            let fields: Vec<&str> = violations.iter().map(|violation| violation.path.as_str()).collect();
            Err(Error::new(Reason::ReferenceNotFound, msg).with("field", fields.join(",")))
        }
        _ => Err(Error::invalid(violations)),
    }
}

pub(super) async fn open<R: From<Outcome>>(
    company: CompanyWriter<'_>,
    requests: Vec<OpenCaseRequest>,
) -> Result<Vec<R>, Error> {
    let is_known = |names: &CompanyNames, request: &OpenCaseRequest| {
        request.case.iter().all(|case| names.knows_record(case)) && incidents::are_known(names, &request.incidents)
    };
    let names = company.names(|names| requests.iter().all(|request| is_known(names, request))).await?;
    let (mut changes, mut request_ids) = (Vec::new(), HashSet::new());
    let (ids, checked) = check_all(requests, |violations, request| {
        let request_id = request.request_id.clone().unwrap_or_default();
        let opened_with = OpenedWith::of(&request);
        let change = read(&names, violations, request);
        // Opens only the first item with each request ID.
        if violations.is_empty() && request_ids.insert(request_id.clone()) {
            changes.push(CaseUpdate { opened_with: opened_with.clone(), ..change });
        }
        (request_id, opened_with)
    });
    let rows = write_all(&changes, async |changes| {
        let opened = company.write(|pool, layouts| {
            let batch = INPUT.batch(&layouts, &changes);
            let exported: Vec<i64> = changes.iter().map(|change| change.exported_id.unwrap_or_default()).collect();
            let open = sqlx::query_file_as!(
                CaseRow,
                "src/monitoring/cases/open.sql",
                company.id,
                batch as _,
                statement_context::writer(),
                &exported
            );
            let incidents = changes.iter().map(|change| change.incidents.len()).sum();
            let pool = pool.creating(changes.len().max(incidents));
            async move { open.fetch_all(&pool).await }
        });
        let opened = opened.await?.into_iter().map(|opened| (opened.request_id.clone(), opened));
        let mut opened: HashMap<String, CaseRow> = opened.collect();
        Ok(changes.iter().map(|change| opened.remove(change.request_id.as_deref()?)).collect())
    });
    let rows = rows.await?;
    let opened: HashMap<&str, _> =
        changes.iter().zip(&rows).map(|opened| (opened.1.request_id.as_str(), opened)).collect();
    let items = ids.iter().map_while(|(request_id, opened_with)| {
        let (change, opened) = opened.get(request_id.as_str())?;
        // Only the first item with each request ID opened the case.
        let created = request_ids.remove(request_id) && opened.created;
        let before = if opened.created { Some(change.opened_with.as_bytes()) } else { opened.opened_with.as_deref() };
        Some((change, opened, created, opened_with, opened_with.differences(before)))
    });
    let items: Vec<_> = items.collect();
    // An export contains cases as they were when exported, not when opened.
    let imported =
        items.iter().filter(|(.., opened_with, differences)| opened_with.is_as_exported() && !differences.is_empty());
    let ids: BTreeSet<i64> = imported.filter_map(|(_, opened, ..)| opened.case_id).collect();
    let mut present: HashMap<i64, OpenedWith> = HashMap::new();
    let take = |id, case| drop(present.insert(id, OpenedWith::of(&case)));
    export::each_case(company, &Vec::from_iter(ids), take).await?;
    checked.join(items.into_iter().map(|(change, opened, created, opened_with, differences)| {
        let Some(id) = opened.case_id else { return not_found(change, opened) };
        let present = present.get(&id).filter(|_| opened_with.is_as_exported());
        let from_present = present.map(|present| opened_with.differences(Some(present.as_bytes())));
        match from_present {
            // Compares with the current or the original case, whichever the request resembles more.
            Some(from_present) if from_present.len() <= differences.len() => {
                existing(id, created, "current case", &from_present)
            }
            _ => existing(id, created, "value set when the case was opened", &differences),
        }
    }))
}

/// Returns the outcome of an item whose case exists, possibly because this item opened it.
///
/// `compared` names what the request was compared with.
fn existing(id: i64, created: bool, compared: &str, differences: &[String]) -> Outcome {
    if differences.is_empty() {
        return Outcome::saved(id, created, if created { "Case opened." } else { "The case was already opened." });
    }
    let mut violations = Violations::new();
    for path in differences {
        violations
            .report(path.as_str(), |label| format!("The {label} field differs from the {compared}. {WHAT_TO_DO}"));
    }
    Outcome { code: ResultCode::Duplicate, id: Some(id), changed: false, violations, msg: REQUEST_ID_REUSED.to_owned() }
}

fn read(names: &CompanyNames, violations: &mut Violations, request: OpenCaseRequest) -> CaseUpdate {
    let case = request.case.unwrap_or_default();
    let mut change = CaseUpdate::new(names, violations, "case.", case, None);
    let is_reported = |path: &str| violations.iter().any(|violation| violation.path == path);
    if change.case.affiliate_field().is_none() && !is_reported("case.affiliate_id") && !is_reported("case") {
        violations.report("case.client_affiliate_id", |label| {
            format!("The {label} field is required, unless you send case.affiliate_id.")
        });
    }
    let incidents = request.incidents.into_iter().enumerate();
    change.incidents = incidents
        .map(|(index, incident)| Incident::new(names, violations, &format!("incidents.{index}."), incident))
        .collect();
    if request.dates_as_given == Some(true) {
        change.keep_dates_as_given();
        // Only exported cases have a generated request ID.
        change.exported_id = request.request_id.as_deref().and_then(export::case_of);
    }
    change.request_id = request.request_id;
    change
}

fn not_found(change: &CaseUpdate, opened: &CaseRow) -> Outcome {
    let mut violations = Violations::new();
    if !opened.affiliate_found {
        let field = change.case.affiliate_field().unwrap_or("client_affiliate_id");
        violations.report(format!("case.{field}"), |_| AFFILIATE_NOT_FOUND.to_owned());
    }
    for position in opened.missing_urls.iter().flatten() {
        let index = usize::try_from(position - 1).unwrap_or_default();
        let field = change.incidents.get(index).map_or("url", |incident| incident.url_field());
        violations.report(format!("incidents.{index}.{field}"), |_| URL_NOT_FOUND.to_owned());
    }
    Outcome::not_found(violations)
}
