//! An incident, and what identifies it.

use std::sync::LazyLock;

use compliance_api::{
    rules::Violations,
    v1::{IncidentInput, IncidentKey, IncidentType},
};

use crate::monitoring::{
    infractions::read_url,
    names::{CompanyNames, InfractionIds},
};
use storage::table::{Attribute, Composite};

/// What identifies an incident within its case: its type and its content.
#[derive(Clone, Debug, Default)]
pub(in crate::monitoring) struct Content {
    incident_type: i16,
    url_id: Option<i64>,
    url_hash: Option<[u8; 32]>,
    reference: Option<String>,
}

#[derive(Clone, Debug)]
pub(in crate::monitoring) struct Incident {
    pub(in crate::monitoring) content: Content,
    infraction: InfractionIds,
}

pub(in crate::monitoring) static INPUT: LazyLock<Composite<Incident>> = LazyLock::new(|| {
    let attributes = [
        Attribute::scalar("infraction_type_id", |incident: &Incident| incident.infraction.type_id),
        Attribute::scalar("infraction_name_id", |incident: &Incident| incident.infraction.name_id),
    ];
    Composite::new("incident_input", Content::attributes(|incident: &Incident| &incident.content).chain(attributes))
});

impl Content {
    /// The attributes of a type that includes the content.
    pub(super) fn attributes<T: 'static>(content: fn(&T) -> &Self) -> impl Iterator<Item = Attribute<T>> {
        [
            // Zero is no type: the content is not used.
            Attribute::scalar("incident_type", move |value| {
                Some(content(value).incident_type).filter(|incident_type| *incident_type != 0)
            }),
            Attribute::scalar("url_id", move |value| content(value).url_id),
            Attribute::borrowed("url_hash", move |value| content(value).url_hash.as_ref().map(<[u8; 32]>::as_slice)),
            Attribute::borrowed("reference", move |value| content(value).reference.as_deref()),
        ]
        .into_iter()
    }

    pub(in crate::monitoring) fn url_field(&self) -> &'static str {
        if self.url_id.is_some() { "url_id" } else { "url" }
    }

    pub(super) fn field(&self) -> &'static str {
        if self.incident_type == IncidentType::Url as i16 { self.url_field() } else { "reference" }
    }

    /// Reads the fields that identify the content. Their paths begin with `prefix`.
    pub(super) fn new(violations: &mut Violations, prefix: &str, key: IncidentKey) -> Self {
        let (incident_type, url_id) = (key.incident_type(), key.url_id);
        let (url, reference) = (key.url.filter(|url| !url.is_empty()), key.reference.filter(|text| !text.is_empty()));
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
                    violations.required(format!("{prefix}reference"));
                }
            }
        }
        Self { incident_type: incident_type as i16, url_id, url_hash, reference }
    }
}

impl Incident {
    /// Reads an incident, whose rules have been checked. The paths of its fields begin with `prefix`.
    pub(in crate::monitoring) fn new(
        names: &CompanyNames,
        violations: &mut Violations,
        prefix: &str,
        incident: IncidentInput,
    ) -> Self {
        let (kind, name) = (incident.infraction_type.as_deref(), incident.infraction_name.as_deref());
        let infraction = names.resolve_infraction(violations, prefix, kind, name);
        let IncidentInput { incident_type, url_id, url, reference, .. } = incident;
        let key = IncidentKey { incident_id: None, incident_type: Some(incident_type), url_id, url, reference };
        Self { content: Content::new(violations, prefix, key), infraction }
    }
}

pub(in crate::monitoring) fn are_known(names: &CompanyNames, incidents: &[IncidentInput]) -> bool {
    incidents.iter().all(|incident| {
        names.knows_infraction(incident.infraction_type.as_deref(), incident.infraction_name.as_deref())
    })
}
