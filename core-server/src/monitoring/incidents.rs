//! Incidents: attached to a case and detached from it. A trigger keeps `case_id` of the URLs.

mod attach;
mod detach;

use compliance_api::{
    error::Error,
    rules::Violations,
    v1::{IncidentInput, IncidentResult, IncidentType, ResultCode},
};

pub(super) use self::{attach::attach, detach::detach};
use super::{
    faults::{Refused, fault},
    names::{InfractionIds, Known, Wanted},
    write::filled,
};
use crate::urls::identity;

/// What an incident is known by within its case: its type and its content.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Content {
    pub(super) kind: i16,
    pub(super) url_id: Option<i64>,
    pub(super) hash: Option<[u8; 32]>,
    pub(super) reference: Option<String>,
    pub(super) infraction: InfractionIds,
}

impl Content {
    /// The field that names the URL.
    pub(super) fn url_field(&self) -> &'static str {
        if self.url_id.is_some() { "url_id" } else { "url" }
    }

    /// Reads what names the content; `prefix` is where the fields stand in the item.
    fn new(
        faults: &mut Violations,
        prefix: &str,
        kind: IncidentType,
        url: (Option<i64>, Option<String>),
        reference: Option<String>,
    ) -> Self {
        let (url_id, url) = (url.0, filled(url.1));
        let reference = filled(reference);
        let unwanted = |faults: &mut Violations, field: &str| {
            let message = |label: &str| format!("The {label} field does not go with this type of incident.");
            fault(faults, format!("{prefix}{field}"), message);
        };
        let required = |faults: &mut Violations, field: &str| {
            fault(faults, format!("{prefix}{field}"), |label| format!("The {label} field is required."));
        };
        match kind {
            // That there is none is told already.
            IncidentType::Unspecified => {}
            IncidentType::Url => {
                if reference.is_some() {
                    unwanted(faults, "reference");
                }
                match (url_id, &url) {
                    (None, None) => required(faults, "url"),
                    (Some(_), Some(_)) => {
                        let both = "A URL is named by url_id or by url, not by both.";
                        fault(faults, format!("{prefix}url_id"), |_| both.to_owned());
                    }
                    _ => {}
                }
            }
            _ => {
                if url.is_some() {
                    unwanted(faults, "url");
                }
                if url_id.is_some() {
                    unwanted(faults, "url_id");
                }
                if reference.is_none() {
                    required(faults, "reference");
                }
            }
        }
        let hash = url.as_deref().and_then(identity).map(|(hash, _)| hash);
        Self { kind: kind as i16, url_id, hash, reference, infraction: (None, None) }
    }
}

/// The names that an incident needs.
pub(super) fn wanted(incident: &IncidentInput) -> Wanted<'_> {
    Wanted::Infraction(incident.infraction_type.as_deref(), incident.infraction_name.as_deref())
}

/// Reads the content of an incident, whose rules have been checked.
fn content(known: &Known, faults: &mut Violations, prefix: &str, incident: IncidentInput) -> Content {
    let (kind, name) = (incident.infraction_type.as_deref(), incident.infraction_name.as_deref());
    let infraction = known.resolve_infraction(faults, prefix, kind, name);
    let kind = incident.incident_type();
    let content = Content::new(faults, prefix, kind, (incident.url_id, incident.url), incident.reference);
    Content { infraction, ..content }
}

/// Reads the contents of incidents that stand at `path`, which ends with a dot.
pub(super) fn contents(
    known: &Known,
    faults: &mut Violations,
    path: &str,
    incidents: Vec<IncidentInput>,
) -> Vec<Content> {
    let incidents = incidents.into_iter().enumerate();
    incidents.map(|(index, incident)| content(known, faults, &format!("{path}{index}."), incident)).collect()
}

/// Contents as JSON, for a statement; `None` when there are none.
pub(super) fn json(contents: &[Content]) -> Option<String> {
    use std::fmt::Write as _;

    let content = |content: &Content| {
        let hash = content.hash.map(|hash| {
            hash.iter().fold(String::with_capacity(64), |mut text, byte| {
                let _ = write!(text, "{byte:02x}");
                text
            })
        });
        let (kind, name) = content.infraction;
        serde_json::json!({
            "k": content.kind, "u": content.url_id, "h": hash, "r": content.reference, "t": kind, "n": name,
        })
    };
    (!contents.is_empty()).then(|| contents.iter().map(content).collect::<serde_json::Value>().to_string())
}

/// What became of an incident.
fn done(incident_id: Option<i64>, changed: bool, msg: &str) -> IncidentResult {
    IncidentResult { code: ResultCode::Saved.into(), incident_id, changed, violations: Vec::new(), msg: msg.to_owned() }
}

fn not_done(refused: Refused) -> IncidentResult {
    let Refused { code, violations, msg } = refused;
    IncidentResult { code: code.into(), incident_id: None, changed: false, violations, msg }
}

/// Parameters that say what incidents are known by.
struct Parameters {
    kinds: Vec<i16>,
    url_ids: Vec<Option<i64>>,
    hashes: Vec<Option<Vec<u8>>>,
    references: Vec<Option<String>>,
}

impl Parameters {
    fn of<'a>(contents: impl Iterator<Item = &'a Content> + Clone) -> Self {
        Self {
            kinds: contents.clone().map(|content| content.kind).collect(),
            url_ids: contents.clone().map(|content| content.url_id).collect(),
            hashes: contents.clone().map(|content| content.hash.map(Vec::from)).collect(),
            references: contents.map(|content| content.reference.clone()).collect(),
        }
    }
}

/// Puts the results of those items that were carried out back among those that were not.
fn in_order<T>(
    items: Vec<Result<T, Refused>>,
    mut told: impl FnMut(usize, T) -> Result<IncidentResult, Error>,
) -> Result<Vec<IncidentResult>, Error> {
    let mut place = 0;
    let results = items.into_iter().map(|item| match item {
        Ok(item) => {
            place += 1;
            told(place - 1, item)
        }
        Err(refused) => Ok(not_done(refused)),
    });
    results.collect()
}
