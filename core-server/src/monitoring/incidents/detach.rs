//! Detaching incidents from a case.

use std::{collections::HashSet, sync::LazyLock};

use compliance_api::{
    error::Error,
    rules::{Rule, Violations},
    v1::{DetachIncidentsRequest, IncidentKey, IncidentType},
};

use super::Content;
use crate::{
    monitoring::{
        context::Context,
        items::{Items, Outcome},
    },
    table::{Attribute, Composite},
};

/// An incident to be detached: by its ID, or by its content.
#[derive(Debug)]
pub(in crate::monitoring) struct Key {
    incident_id: Option<i64>,
    content: Content,
}

/// The input type of keys.
pub(in crate::monitoring) static INPUT: LazyLock<Composite<Key>> = LazyLock::new(|| {
    let id = [Attribute::scalar("incident_id", |key: &Key| key.incident_id)];
    Composite::new("incident_key_input", Content::attributes(|key: &Key| &key.content).chain(id))
});

/// What became of an item.
struct Detached {
    incident_id: Option<i64>,
    detached: bool,
}

/// Detaches incidents. Returns one outcome an item, in the order sent.
pub(in crate::monitoring) async fn detach(
    context: &Context,
    company_id: i64,
    request: DetachIncidentsRequest,
) -> Result<Vec<Outcome>, Error> {
    let DetachIncidentsRequest { id: case_id, incidents } = request;
    let items = Items::check(incidents, Key::new);
    let rows = context.write(company_id, |pool, layouts| {
        let batch = INPUT.batch(&layouts, &items.valid);
        let detach =
            sqlx::query_file_as!(Detached, "src/monitoring/incidents/detach.sql", company_id, case_id, batch as _);
        async move { detach.fetch_all(&pool).await }
    });
    let mut rows = rows.await?.into_iter();
    // The first row stands for the case.
    rows.next().ok_or_else(|| Error::case_not_found(case_id))?;
    let mut reported = HashSet::new();
    items.outcomes(rows, |_, row| {
        // Of two items for the same incident the first reports the change.
        Ok(match row.incident_id.filter(|id| row.detached && reported.insert(*id)) {
            Some(id) => Outcome::saved(id, true, "Incident detached."),
            None => Outcome::saved(None, false, "The incident was not attached."),
        })
    })
}

impl Key {
    /// Reads a key, whose rules have been checked.
    fn new(violations: &mut Violations, key: IncidentKey) -> Self {
        let incident_type = key.incident_type();
        if key.incident_id.is_none() && incident_type == IncidentType::Unspecified {
            violations.add("incident_id", Rule::Required);
        }
        let content = match key.incident_id {
            // The ID is enough.
            Some(_) => Content::default(),
            None => Content::new(violations, "", incident_type, key.url_id, key.url, key.reference),
        };
        Self { incident_id: key.incident_id, content }
    }
}
