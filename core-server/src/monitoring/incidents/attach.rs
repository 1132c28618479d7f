//! Attaching incidents to a case.

use std::collections::HashSet;

use compliance_api::{error::Error, rules::Violations, v1::AttachIncidentsRequest};

use super::incident::{INPUT, Incident, are_known};
use crate::monitoring::{
    context::{CompanyWriter, write_all},
    infractions::URL_NOT_FOUND,
    items::{Outcome, check_all},
};
use storage::statement;

/// Incidents that a case can have, so that one response holds it. Concurrent requests may attach a few more.
const MAX_INCIDENTS: i64 = 10_000;

struct Attached {
    incident_id: Option<i64>,
    changed: bool,
    url_found: bool,
    /// Whether the case has room for it.
    fits: bool,
}

pub(in crate::monitoring) async fn attach(
    company: CompanyWriter<'_>,
    request: AttachIncidentsRequest,
) -> Result<Vec<Outcome>, Error> {
    let AttachIncidentsRequest { id: case_id, incidents } = request;
    let names = company.names(|names| are_known(names, &incidents)).await?;
    let (valid, checked) = check_all(incidents, |violations, item| Incident::new(&names, violations, "", item));
    let attach = async |incidents: Vec<&Incident>| {
        let rows = company.write(|pool, layouts| {
            let batch = INPUT.batch(&layouts, &incidents);
            let attached = sqlx::query_file_as!(
                Attached,
                "src/monitoring/incidents/attach.sql",
                company.id,
                case_id,
                batch as _,
                MAX_INCIDENTS,
                statement::writer()
            );
            let pool = pool.creating(incidents.len());
            async move { attached.fetch_all(&pool).await }
        });
        let mut rows = rows.await?.into_iter();
        // The first row stands for the case.
        rows.next().ok_or_else(|| Error::case_not_found(case_id))?;
        let is_known = |row: &Attached| row.incident_id.is_some() || !row.url_found || !row.fits;
        Ok(rows.map(|row| Some(row).filter(is_known)).collect())
    };
    if valid.is_empty() {
        attach(Vec::new()).await?;
    }
    let rows = write_all(&valid, attach).await?;
    let mut reported = HashSet::new();
    checked.join(valid.iter().zip(rows).map(|(incident, row)| match row.incident_id {
        None if !row.url_found => Outcome::not_found(Violations::one(incident.content.url_field(), URL_NOT_FOUND)),
        None => {
            let message = format!("A case can have at most {MAX_INCIDENTS} incidents.");
            Outcome::invalid(Violations::one(incident.content.field(), message))
        }
        Some(id) if !row.changed => Outcome::saved(id, false, "The incident was already attached."),
        // Of two items with the same content the first reports the change.
        Some(id) if reported.insert(id) => Outcome::saved(id, true, "Incident attached."),
        Some(id) => Outcome::saved(id, false, "The incident is attached."),
    }))
}
