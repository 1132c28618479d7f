//! Attaches incidents to cases and detaches them. A trigger keeps the URLs' `case_id` up to date.

use std::{collections::HashSet, sync::LazyLock};

use compliance_api::{
    error::Error,
    rules::Violations,
    v1::{AttachIncidentsRequest, DetachIncidentsRequest, IncidentInput, IncidentKey, IncidentResult, IncidentType},
};
use storage::{
    statement_context,
    table::{Attribute, Composite},
};

use super::{
    context::{CompanyWriter, write_all},
    infractions::{URL_NOT_FOUND, read_url},
    items::{Outcome, check_all},
    names::{CompanyNames, InfractionIds},
};

/// Maximum number of incidents per case, all of which fit in one response. Concurrent requests can attach a few more.
const MAX_INCIDENTS: i64 = 10_000;

/// An incident to attach or detach. Its type and content identify it within its case.
#[derive(Clone, Debug, Default)]
pub(super) struct Incident {
    /// The ID of an incident to detach, instead of its content.
    id: Option<i64>,
    kind: i16,
    url_id: Option<i64>,
    url_hash: Option<[u8; 32]>,
    reference: Option<String>,
    infraction: InfractionIds,
}

/// The input type of incidents to attach.
pub(super) static INPUT: LazyLock<Composite<Incident>> = LazyLock::new(|| {
    let infraction = [
        Attribute::scalar("infraction_type_id", |incident: &Incident| incident.infraction.type_id),
        Attribute::scalar("infraction_name_id", |incident: &Incident| incident.infraction.name_id),
    ];
    Composite::new("incident_input", content().into_iter().chain(infraction))
});

/// The input type of incidents to detach.
pub(super) static KEY_INPUT: LazyLock<Composite<Incident>> = LazyLock::new(|| {
    let id = [Attribute::scalar("incident_id", |incident: &Incident| incident.id)];
    Composite::new("incident_key_input", content().into_iter().chain(id))
});

/// Returns the attributes shared by both input types.
fn content() -> [Attribute<Incident>; 4] {
    [
        // Type 0 means that the content is unused.
        Attribute::scalar("incident_type", |incident: &Incident| Some(incident.kind).filter(|kind| *kind != 0)),
        Attribute::scalar("url_id", |incident: &Incident| incident.url_id),
        Attribute::borrowed("url_hash", |incident: &Incident| incident.url_hash.as_ref().map(<[u8; 32]>::as_slice)),
        Attribute::borrowed("reference", |incident: &Incident| incident.reference.as_deref()),
    ]
}

impl Incident {
    /// Converts a validated incident to attach. The field paths in violations begin with `prefix`.
    pub(super) fn new(
        names: &CompanyNames,
        violations: &mut Violations,
        prefix: &str,
        incident: IncidentInput,
    ) -> Self {
        let (kind, name) = (incident.infraction_type.as_deref(), incident.infraction_name.as_deref());
        let infraction = names.resolve_infraction(violations, prefix, kind, name);
        let IncidentInput { incident_type, url_id, url, reference, .. } = incident;
        let key = IncidentKey { incident_id: None, incident_type: Some(incident_type), url_id, url, reference };
        Self { infraction, ..Self::of_content(violations, prefix, key) }
    }

    /// Converts an incident to detach.
    fn of_key(violations: &mut Violations, key: IncidentKey) -> Self {
        if key.incident_id.is_some() {
            // With an ID, the content is not needed.
            return Self { id: key.incident_id, ..Self::default() };
        }
        if key.incident_type() == IncidentType::Unspecified {
            violations.required("incident_id");
        }
        Self::of_content(violations, "", key)
    }

    /// Converts the content. The field paths in violations begin with `prefix`.
    fn of_content(violations: &mut Violations, prefix: &str, key: IncidentKey) -> Self {
        let (incident_type, url_id) = (key.incident_type(), key.url_id);
        let (url, reference) = (key.url.filter(|url| !url.is_empty()), key.reference.filter(|text| !text.is_empty()));
        let mut unexpected = |field: &str, is_given: bool| {
            if is_given {
                let message = |label: &str| format!("The {label} field is not allowed for this type of incident.");
                violations.report(format!("{prefix}{field}"), message);
            }
        };
        let mut url_hash = None;
        match incident_type {
            // The rules have already reported a missing type.
            IncidentType::Unspecified => {}
            IncidentType::Url => {
                unexpected("reference", reference.is_some());
                url_hash = read_url(violations, prefix, url_id, url.as_deref());
            }
            _ => {
                unexpected("url", url.is_some());
                unexpected("url_id", url_id.is_some());
                if reference.is_none() {
                    violations.required(format!("{prefix}reference"));
                }
            }
        }
        Self { kind: incident_type as i16, url_id, url_hash, reference, ..Self::default() }
    }

    pub(super) fn url_field(&self) -> &'static str {
        if self.url_id.is_some() { "url_id" } else { "url" }
    }

    fn field(&self) -> &'static str {
        if self.kind == IncidentType::Url as i16 { self.url_field() } else { "reference" }
    }
}

pub(super) fn are_known(names: &CompanyNames, incidents: &[IncidentInput]) -> bool {
    incidents.iter().all(|it| names.knows_infraction(it.infraction_type.as_deref(), it.infraction_name.as_deref()))
}

struct Attached {
    incident_id: Option<i64>,
    changed: bool,
    url_found: bool,
    /// Whether the incident fits within the case's limit.
    fits: bool,
}

pub(super) async fn attach(
    company: CompanyWriter<'_>,
    request: AttachIncidentsRequest,
) -> Result<Vec<IncidentResult>, Error> {
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
                statement_context::writer()
            );
            let pool = pool.creating(incidents.len());
            async move { attached.fetch_all(&pool).await }
        });
        let mut rows = rows.await?.into_iter();
        // The first row shows whether the case exists.
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
        None if !row.url_found => Outcome::not_found(Violations::one(incident.url_field(), URL_NOT_FOUND)),
        None => {
            let message = format!("A case can have at most {MAX_INCIDENTS} incidents.");
            Outcome::invalid(Violations::one(incident.field(), message))
        }
        Some(id) if !row.changed => Outcome::saved(id, false, "The incident was already attached."),
        // Only the first of several items with the same content reports the change.
        Some(id) if reported.insert(id) => Outcome::saved(id, true, "Incident attached."),
        Some(id) => Outcome::saved(id, false, "The incident is attached."),
    }))
}

struct Detached {
    incident_id: Option<i64>,
    detached: bool,
}

pub(super) async fn detach(
    company: CompanyWriter<'_>,
    request: DetachIncidentsRequest,
) -> Result<Vec<IncidentResult>, Error> {
    let DetachIncidentsRequest { id: case_id, incidents } = request;
    let (valid, checked) = check_all(incidents, Incident::of_key);
    let rows = company.write(|pool, layouts| {
        let batch = KEY_INPUT.batch(&layouts, &valid);
        let detach = sqlx::query_file_as!(
            Detached,
            "src/monitoring/incidents/detach.sql",
            company.id,
            case_id,
            batch as _,
            statement_context::writer()
        );
        async move { detach.fetch_all(&pool).await }
    });
    let mut rows = rows.await?.into_iter();
    // The first row shows whether the case exists.
    rows.next().ok_or_else(|| Error::case_not_found(case_id))?;
    let mut reported = HashSet::new();
    checked.join(rows.map(|row| {
        // Only the first of several items with the same incident reports the change.
        match row.incident_id.filter(|id| row.detached && reported.insert(*id)) {
            Some(id) => Outcome::saved(id, true, "Incident detached."),
            None => Outcome::saved(None, false, "The incident was not attached."),
        }
    }))
}
