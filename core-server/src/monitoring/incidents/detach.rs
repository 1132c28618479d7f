//! Detaching incidents from a case.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use compliance_api::{
    error::Error,
    rules::check,
    v1::{DetachIncidentsRequest, IncidentKey, IncidentResult, IncidentType},
};

use super::{Content, done, rejected};
use crate::{
    monitoring::{
        context::Context,
        rejection::{Rejection, violate},
    },
    table::{Attribute, Composite},
};

/// An incident to be detached: by its ID, or by its content.
#[derive(Debug)]
pub(super) struct Key {
    incident_id: Option<i64>,
    content: Content,
}

/// The input type of keys.
pub(super) static INPUT: LazyLock<Composite<Key>> = LazyLock::new(|| {
    let id = [Attribute::scalar("incident_id", |key: &Key| key.incident_id)];
    Composite::new("incident_key_input", Content::attributes(|key: &Key| &key.content).chain(id))
});

/// A row of the statement. Position 0: the case exists; others: an item whose incident was found.
struct Row {
    position: i64,
    incident_id: i64,
    detached: bool,
}

/// Detaches incidents. Returns one result an item, in the order sent.
pub(in crate::monitoring) async fn detach(
    context: &Context,
    company_id: i64,
    request: DetachIncidentsRequest,
) -> Result<Vec<IncidentResult>, Error> {
    let mut valid = Vec::new();
    let items: Vec<Result<usize, Rejection>> = request
        .incidents
        .into_iter()
        .map(|key| {
            valid.push(Key::new(key)?);
            Ok(valid.len() - 1)
        })
        .collect();
    let keys: Vec<&Key> = valid.iter().collect();
    let rows = context
        .write(|layouts| {
            let batch = INPUT.batch(&layouts, &keys);
            sqlx::query_file_as!(Row, "src/monitoring/incidents/detach.sql", company_id, request.case_id, batch as _)
                .fetch_all(&context.pool)
        })
        .await?;
    let found: HashMap<i64, Row> = rows.into_iter().map(|row| (row.position, row)).collect();
    if !found.contains_key(&0) {
        return Err(Error::case_not_found(request.case_id));
    }
    let mut reported = HashSet::new();
    let results = items.into_iter().map(|item| match item {
        Ok(index) => match found.get(&(index as i64 + 1)) {
            // Of two items for the same incident the first reports the change.
            Some(row) if row.detached && reported.insert(row.incident_id) => {
                done(Some(row.incident_id), true, "Incident detached.")
            }
            _ => done(None, false, "The incident was not attached."),
        },
        Err(rejection) => rejected(rejection),
    });
    Ok(results.collect())
}

impl Key {
    fn new(key: IncidentKey) -> Result<Self, Rejection> {
        let mut violations = check(&key);
        let incident_type = key.incident_type();
        if key.incident_id.is_none() && incident_type == IncidentType::Unspecified {
            violate(&mut violations, "incident_id", |label| format!("The {label} field is required."));
        }
        let content = match key.incident_id {
            // The ID is enough.
            Some(_) => Content { incident_type: 0, url_id: None, url_hash: None, reference: None },
            None => Content::new(&mut violations, "", incident_type, key.url_id, key.url, key.reference),
        };
        if violations.is_empty() {
            Ok(Self { incident_id: key.incident_id, content })
        } else {
            Err(Rejection::invalid(violations))
        }
    }
}
