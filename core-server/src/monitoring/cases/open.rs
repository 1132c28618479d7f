//! Opening: one statement for one case or for ten thousand.

use std::collections::{HashMap, HashSet};

use compliance_api::{
    error::{Error, Reason},
    rules::{Rule, Violations},
    v1::{OpenCaseRequest, OpenCaseResponse, ResultCode},
};

use super::change::{self, Change};
use crate::monitoring::{
    changes::AFFILIATE_NOT_FOUND,
    context::Context,
    incidents::{self, Incident},
    items::{Items, Outcome},
    names::{self, CompanyNames},
    url_ref::URL_NOT_FOUND,
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
    let Outcome { code, id, changed: created, violations, msg } =
        open(context, company_id, vec![request]).await?.pop().unwrap_or_default();
    match (code, id) {
        (ResultCode::Saved, Some(case_id)) => Ok(OpenCaseResponse { case_id, created }),
        (ResultCode::NotFound, _) => {
            let field = violations.iter().next().map(|violation| violation.path.as_str()).unwrap_or_default();
            Err(Error::new(Reason::ReferenceNotFound, msg).with("field", field))
        }
        _ => Err(Error::invalid(violations)),
    }
}

/// Opens cases. Returns one outcome an item, in the order sent.
pub(in crate::monitoring) async fn open(
    context: &Context,
    company_id: i64,
    requests: Vec<OpenCaseRequest>,
) -> Result<Vec<Outcome>, Error> {
    let used = requests.iter().flat_map(|request| {
        request.case.iter().flat_map(names::of_record).chain(request.incidents.iter().map(incidents::names_of))
    });
    let names = context.names.of(company_id, used).await?;
    let (mut changes, mut request_ids) = (Vec::new(), HashSet::new());
    let items = Items::check(requests, |violations, request| {
        let request_id = request.request_id.clone().unwrap_or_default();
        let change = read(&names, violations, request);
        // Of two with the same request ID the first is opened.
        if violations.is_empty() && request_ids.insert(request_id.clone()) {
            changes.push(change);
        }
        request_id
    });
    let opened = context.write_all(changes, request_id, |changes| run(context, company_id, changes)).await?;
    let opened: HashMap<String, _> = opened.into_iter().map(|opened| (request_id(&opened.0), opened)).collect();
    items.outcomes(std::iter::repeat(()), |request_id, ()| {
        let (change, opened) = opened.get(request_id).ok_or_else(Error::internal)?;
        // Only the first item with a request ID opened the case.
        Ok(outcome(change, opened, request_ids.remove(request_id)))
    })
}

/// Reads a request, whose rules have been checked.
fn read(names: &CompanyNames, violations: &mut Violations, request: OpenCaseRequest) -> Change {
    let case = request.case.unwrap_or_default();
    let mut change = Change::new(names, violations, "case.", case, None);
    let is_reported = |path: &str| violations.iter().any(|violation| violation.path == path);
    if change.case.affiliate_field().is_none() && !is_reported("case.affiliate_id") && !is_reported("case") {
        violations.add("case.client_affiliate_id", Rule::Required);
    }
    let incidents = request.incidents.into_iter().enumerate();
    change.incidents = incidents
        .map(|(index, incident)| Incident::new(names, violations, &format!("incidents.{index}."), incident))
        .collect();
    if request.dates_as_given == Some(true) {
        change.keep_dates_as_given();
    }
    change.request_id = request.request_id;
    change
}

fn request_id(change: &Change) -> String {
    change.request_id.clone().unwrap_or_default()
}

async fn run(
    context: &Context,
    company_id: i64,
    changes: Vec<Change>,
) -> Result<(Vec<Change>, HashMap<String, Opened>), Error> {
    let opened = context.write(company_id, |pool, layouts| {
        let batch = change::INPUT.batch(&layouts, &changes);
        let open = sqlx::query_file_as!(Opened, "src/monitoring/cases/open.sql", company_id, batch as _);
        async move { open.fetch_all(&pool).await }
    });
    let opened = opened.await?.into_iter().map(|opened| (opened.request_id.clone(), opened)).collect();
    Ok((changes, opened))
}

fn outcome(change: &Change, opened: &Opened, is_first: bool) -> Outcome {
    if let Some(id) = opened.case_id {
        let created = opened.created && is_first;
        return Outcome::saved(id, created, if created { "Case opened." } else { "The case was already opened." });
    }
    let mut violations = Violations::new();
    if !opened.affiliate_found {
        let field = change.case.affiliate_field().unwrap_or("client_affiliate_id");
        violations.report(format!("case.{field}"), |_| AFFILIATE_NOT_FOUND.to_owned());
    }
    for position in opened.missing_urls.iter().flatten() {
        let index = usize::try_from(position - 1).unwrap_or_default();
        let field = change.incidents.get(index).map_or("url", |incident| incident.content.url_field());
        violations.report(format!("incidents.{index}.{field}"), |_| URL_NOT_FOUND.to_owned());
    }
    Outcome::not_found(violations)
}
