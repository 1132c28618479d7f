//! Attaching incidents to a case.

use std::collections::HashSet;

use compliance_api::{error::Error, rules::Violations, v1::AttachIncidentsRequest};

use super::{INPUT, Incident, MAX_INCIDENTS, names_of};
use crate::monitoring::{
    context::{Context, ItemRow, until_final},
    items::{Items, Outcome},
    url_ref::URL_NOT_FOUND,
};

/// What became of an item.
struct Attached {
    incident_id: Option<i64>,
    changed: bool,
    url_found: bool,
    /// Whether the case has room for it.
    fits: bool,
}

impl ItemRow for Attached {
    fn is_final(&self) -> bool {
        self.incident_id.is_some() || !self.url_found || !self.fits
    }

    fn changed_before(&mut self, before: &Self) {
        self.changed |= before.changed;
    }
}

/// Attaches incidents. Returns one outcome an item, in the order sent.
pub(in crate::monitoring) async fn attach(
    context: &Context,
    company_id: i64,
    request: AttachIncidentsRequest,
) -> Result<Vec<Outcome>, Error> {
    let AttachIncidentsRequest { id: case_id, incidents } = request;
    let names = context.names.of(company_id, incidents.iter().map(names_of)).await?;
    let items = Items::check(incidents, |violations, item| Incident::new(&names, violations, "", item));
    let rows = until_final(|| {
        context.write(company_id, |pool, layouts| {
            let batch = INPUT.batch(&layouts, &items.valid);
            let attached = sqlx::query_file_as!(
                Attached,
                "src/monitoring/incidents/attach.sql",
                company_id,
                case_id,
                batch as _,
                MAX_INCIDENTS
            );
            async move { attached.fetch_all(&pool).await }
        })
    });
    let mut rows = rows.await?.into_iter();
    // The first row stands for the case.
    rows.next().ok_or_else(|| Error::case_not_found(case_id))?;
    let mut reported = HashSet::new();
    items.outcomes(rows, |incident, row| {
        Ok(match row.incident_id {
            None if !row.url_found => Outcome::not_found(Violations::one(incident.content.url_field(), URL_NOT_FOUND)),
            None if !row.fits => {
                let message = format!("A case can have at most {MAX_INCIDENTS} incidents.");
                Outcome::invalid(Violations::one(incident.content.field(), message))
            }
            None => return Err(Error::internal()),
            Some(id) if !row.changed => Outcome::saved(id, false, "The incident was already attached."),
            // Of two items with the same content the first reports the change.
            Some(id) if reported.insert(id) => Outcome::saved(id, true, "Incident attached."),
            Some(id) => Outcome::saved(id, false, "The incident is attached."),
        })
    })
}
