//! Detaching incidents from a case.

use std::{collections::HashSet, sync::LazyLock};

use compliance_api::{
    error::Error,
    rules::Violations,
    v1::{DetachIncidentsRequest, IncidentKey, IncidentType},
};

use super::incident::Content;
use crate::monitoring::{
    context::CompanyWriter,
    items::{Outcome, check_all},
};
use storage::{
    statement,
    table::{Attribute, Composite},
};

/// An incident to be detached: by its ID, or by its content.
#[derive(Debug)]
pub(in crate::monitoring) struct Key {
    incident_id: Option<i64>,
    content: Content,
}

pub(in crate::monitoring) static INPUT: LazyLock<Composite<Key>> = LazyLock::new(|| {
    let id = [Attribute::scalar("incident_id", |key: &Key| key.incident_id)];
    Composite::new("incident_key_input", Content::attributes(|key: &Key| &key.content).chain(id))
});

struct Detached {
    incident_id: Option<i64>,
    detached: bool,
}

pub(in crate::monitoring) async fn detach(
    company: CompanyWriter<'_>,
    request: DetachIncidentsRequest,
) -> Result<Vec<Outcome>, Error> {
    let DetachIncidentsRequest { id: case_id, incidents } = request;
    let (valid, checked) = check_all(incidents, Key::new);
    let rows = company.write(|pool, layouts| {
        let batch = INPUT.batch(&layouts, &valid);
        let detach = sqlx::query_file_as!(
            Detached,
            "src/monitoring/incidents/detach.sql",
            company.id,
            case_id,
            batch as _,
            statement::writer()
        );
        async move { detach.fetch_all(&pool).await }
    });
    let mut rows = rows.await?.into_iter();
    // The first row stands for the case.
    rows.next().ok_or_else(|| Error::case_not_found(case_id))?;
    let mut reported = HashSet::new();
    checked.join(rows.map(|row| {
        // Of two items for the same incident the first reports the change.
        match row.incident_id.filter(|id| row.detached && reported.insert(*id)) {
            Some(id) => Outcome::saved(id, true, "Incident detached."),
            None => Outcome::saved(None, false, "The incident was not attached."),
        }
    }))
}

impl Key {
    fn new(violations: &mut Violations, key: IncidentKey) -> Self {
        let incident_id = key.incident_id;
        if incident_id.is_none() && key.incident_type() == IncidentType::Unspecified {
            violations.required("incident_id");
        }
        // The ID is enough.
        let content = if incident_id.is_some() { Content::default() } else { Content::new(violations, "", key) };
        Self { incident_id, content }
    }
}
