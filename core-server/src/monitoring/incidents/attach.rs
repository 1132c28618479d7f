//! Attaching incidents to a case.

use std::collections::{HashMap, HashSet};

use compliance_api::{
    error::Error,
    rules::{Violations, check},
    v1::{AttachIncidentsRequest, IncidentResult},
};

use super::{INPUT, Incident, done, names_of, rejected};
use crate::monitoring::{
    context::{Context, MAX_TRIES},
    rejection::Rejection,
    values::URL_NOT_FOUND,
};

/// A row of the statement. Position 0: the case exists; none: an incident that changed; others: an item, with its URL
/// and the incident that was attached before.
struct Row {
    position: Option<i64>,
    incident_id: Option<i64>,
    incident_type: i16,
    url_id: Option<i64>,
    reference: Option<String>,
}

/// What identifies an attached incident: its type, URL and reference.
type Key = (i16, Option<i64>, Option<String>);

/// The rows of the statement, of all its runs.
#[derive(Default)]
struct Attached {
    case_found: bool,
    /// The IDs of incidents that changed.
    changed: HashMap<Key, i64>,
    /// The URL of each item and the incident that was attached before, by position.
    before: HashMap<i64, (Option<i64>, Option<i64>)>,
}

/// Attaches incidents. Returns one result an item, in the order sent.
pub(in crate::monitoring) async fn attach(
    context: &Context,
    company_id: i64,
    request: AttachIncidentsRequest,
) -> Result<Vec<IncidentResult>, Error> {
    let cached = context.names.cached(company_id, request.incidents.iter().map(names_of));
    let names = context.names.or_read(company_id, cached).await?;
    let mut valid = Vec::new();
    let items: Vec<Result<usize, Rejection>> = request
        .incidents
        .into_iter()
        .map(|incident| {
            let mut violations = check(&incident);
            let incident = Incident::new(&names, &mut violations, "", incident);
            if !violations.is_empty() {
                return Err(Rejection::invalid(violations));
            }
            valid.push(incident);
            Ok(valid.len() - 1)
        })
        .collect();
    let mut attached = Attached::default();
    for _ in 0..MAX_TRIES {
        attached.add(run(context, company_id, request.case_id, &valid).await?);
        if attached.is_complete(&valid) {
            break;
        }
        // Another writer has just attached some of them: this statement could not see that, the next one can.
    }
    if !attached.case_found {
        return Err(Error::case_not_found(request.case_id));
    }
    let mut reported = HashSet::new();
    let results = items.into_iter().map(|item| match item {
        Ok(index) => attached.result(index, &valid[index], &mut reported),
        Err(rejection) => Ok(rejected(rejection)),
    });
    results.collect()
}

impl Attached {
    fn add(&mut self, rows: Vec<Row>) {
        for row in rows {
            match (row.position, row.incident_id) {
                (Some(0), _) => self.case_found = true,
                (Some(position), id) => {
                    self.before.insert(position, (row.url_id, id));
                }
                (None, Some(id)) => {
                    self.changed.insert((row.incident_type, row.url_id, row.reference), id);
                }
                (None, None) => {}
            }
        }
    }

    /// Whether the result of every item is known.
    fn is_complete(&self, incidents: &[Incident]) -> bool {
        !self.case_found
            || incidents.iter().zip(1..).all(|(incident, position)| {
                let (url_id, before) = self.before.get(&position).copied().unwrap_or_default();
                let url_not_found = incident.content.is_url() && url_id.is_none();
                before.is_some() || url_not_found || self.changed.contains_key(&key(incident, url_id))
            })
    }

    fn result(&self, index: usize, incident: &Incident, reported: &mut HashSet<i64>) -> Result<IncidentResult, Error> {
        let (url_id, before) = self.before.get(&(index as i64 + 1)).copied().ok_or_else(Error::internal)?;
        if incident.content.is_url() && url_id.is_none() {
            let violations = Violations::one(incident.content.url_field(), URL_NOT_FOUND);
            return Ok(rejected(Rejection::not_found(violations)));
        }
        Ok(match self.changed.get(&key(incident, url_id)) {
            // Of two items with the same content the first reports the change.
            Some(id) if reported.insert(*id) => done(Some(*id), true, "Incident attached."),
            Some(id) => done(Some(*id), false, "The incident is attached."),
            None => done(before, false, "The incident was attached before."),
        })
    }
}

fn key(incident: &Incident, url_id: Option<i64>) -> Key {
    (incident.content.incident_type, url_id, incident.content.reference.clone())
}

async fn run(context: &Context, company_id: i64, case_id: i64, incidents: &[Incident]) -> Result<Vec<Row>, Error> {
    let incidents: Vec<&Incident> = incidents.iter().collect();
    context
        .write(|layouts| {
            let batch = INPUT.batch(&layouts, &incidents);
            sqlx::query_file_as!(Row, "src/monitoring/incidents/attach.sql", company_id, case_id, batch as _)
                .fetch_all(&context.pool)
        })
        .await
}
