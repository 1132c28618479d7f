//! Incidents: attached to a case and detached from it. A trigger keeps `case_id` of the URLs.

mod attach;
mod detach;

use std::sync::LazyLock;

use compliance_api::{
    rules::{Rule, Violations},
    v1::{IncidentInput, IncidentType},
};

pub(super) use self::{
    attach::attach,
    detach::{INPUT as KEY_INPUT, detach},
};
use super::{
    names::{CompanyNames, InfractionIds, NameRef},
    url_ref::read_url,
};
use crate::table::{Attribute, Composite};

/// Incidents that a case can have, so that one response holds it. Concurrent requests may attach a few more.
pub(super) const MAX_INCIDENTS: i64 = 10_000;

/// What identifies an incident within its case: its type and its content.
#[derive(Clone, Debug, Default)]
pub(super) struct Content {
    incident_type: i16,
    url_id: Option<i64>,
    url_hash: Option<[u8; 32]>,
    reference: Option<String>,
}

/// An incident, checked.
#[derive(Clone, Debug)]
pub(super) struct Incident {
    pub(super) content: Content,
    infraction: InfractionIds,
}

/// The input type of incidents.
pub(super) static INPUT: LazyLock<Composite<Incident>> = LazyLock::new(|| {
    let attributes = [
        Attribute::scalar("infraction_type_id", |incident: &Incident| incident.infraction.type_id),
        Attribute::scalar("infraction_name_id", |incident: &Incident| incident.infraction.name_id),
    ];
    Composite::new("incident_input", Content::attributes(|incident: &Incident| &incident.content).chain(attributes))
});

impl Content {
    /// The attributes of a type that includes the content.
    fn attributes<T: 'static>(content: fn(&T) -> &Self) -> impl Iterator<Item = Attribute<T>> {
        [
            // Zero is no type: the content is not used.
            Attribute::scalar("incident_type", move |value| {
                Some(content(value).incident_type).filter(|incident_type| *incident_type != 0)
            }),
            Attribute::scalar("url_id", move |value| content(value).url_id),
            Attribute::bytes("url_hash", move |value| content(value).url_hash.as_ref().map(<[u8; 32]>::as_slice)),
            Attribute::text("reference", move |value| content(value).reference.as_deref()),
        ]
        .into_iter()
    }

    /// The field that refers to the URL.
    pub(super) fn url_field(&self) -> &'static str {
        if self.url_id.is_some() { "url_id" } else { "url" }
    }

    /// The field that identifies the content.
    fn field(&self) -> &'static str {
        if self.incident_type == IncidentType::Url as i16 { self.url_field() } else { "reference" }
    }

    /// Reads the fields that identify the content. Their paths begin with `prefix`.
    fn new(
        violations: &mut Violations,
        prefix: &str,
        incident_type: IncidentType,
        url_id: Option<i64>,
        url: Option<String>,
        reference: Option<String>,
    ) -> Self {
        let (url, reference) = (url.filter(|url| !url.is_empty()), reference.filter(|text| !text.is_empty()));
        let unexpected = |violations: &mut Violations, field: &str| {
            let message = |label: &str| format!("The {label} field is not allowed for this type of incident.");
            violations.report(format!("{prefix}{field}"), message);
        };
        let mut url_hash = None;
        match incident_type {
            // The rules have reported a missing type.
            IncidentType::Unspecified => {}
            IncidentType::Url => {
                if reference.is_some() {
                    unexpected(violations, "reference");
                }
                url_hash = read_url(violations, prefix, url_id, url.as_deref());
            }
            _ => {
                if url.is_some() {
                    unexpected(violations, "url");
                }
                if url_id.is_some() {
                    unexpected(violations, "url_id");
                }
                if reference.is_none() {
                    violations.add(format!("{prefix}reference"), Rule::Required);
                }
            }
        }
        Self { incident_type: incident_type as i16, url_id, url_hash, reference }
    }
}

impl Incident {
    /// Reads an incident, whose rules have been checked. The paths of its fields begin with `prefix`.
    pub(super) fn new(
        names: &CompanyNames,
        violations: &mut Violations,
        prefix: &str,
        incident: IncidentInput,
    ) -> Self {
        let (kind, name) = (incident.infraction_type.as_deref(), incident.infraction_name.as_deref());
        let infraction = names.resolve_infraction(violations, prefix, kind, name);
        let incident_type = incident.incident_type();
        let content =
            Content::new(violations, prefix, incident_type, incident.url_id, incident.url, incident.reference);
        Self { content, infraction }
    }
}

/// The names of an incident.
pub(super) fn names_of(incident: &IncidentInput) -> NameRef<'_> {
    NameRef::Infraction(incident.infraction_type.as_deref(), incident.infraction_name.as_deref())
}
