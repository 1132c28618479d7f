//! Digests of the fields set when a case was opened. If a later request reuses the `request_id` with different content, the digests show
//! which fields differ, even after the case has changed.

use compliance_api::{
    description::Message,
    record::Record as _,
    rules::Check as _,
    v1::{CaseInput, IncidentInput, OpenCaseRequest},
};
use prost::Message as _;
use sha2::{Digest as _, Sha256};

/// Size of a field, in bytes: its number and a truncated digest.
const FIELD: usize = 5;
/// Marks a field of the request itself, rather than of its case.
const OF_REQUEST: u8 = 0x80;

/// The field that every exported case sets.
const DATES_AS_GIVEN: &str = "dates_as_given";

/// The digests of the given fields, concatenated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct OpenedWith(Vec<u8>);

impl OpenedWith {
    /// Computes the digests of a request. Empty strings count as absent.
    pub(super) fn of(request: &OpenCaseRequest) -> Self {
        let mut digests = Self::default();
        if let Some(case) = &request.case {
            for field in CaseInput::FIELDS.iter().filter(|field| !field.is_empty(case)) {
                if let Some(written) = field.written(case) {
                    digests.add(field.number as u8, [written.as_bytes()]);
                }
            }
        }
        let of_request = |name: &str| OF_REQUEST | number(OpenCaseRequest::MESSAGE, name);
        if !request.incidents.is_empty() {
            let encoded: Vec<Vec<u8>> = request.incidents.iter().map(encoded).collect();
            digests.add(of_request("incidents"), encoded.iter().map(Vec::as_slice));
        }
        if request.dates_as_given == Some(true) {
            digests.add(of_request(DATES_AS_GIVEN), []);
        }
        digests
    }

    fn add<'p>(&mut self, number: u8, parts: impl IntoIterator<Item = &'p [u8]>) {
        let mut hasher = Sha256::new();
        parts.into_iter().for_each(|part| hasher.update(part));
        self.0.push(number);
        self.0.extend(&hasher.finalize()[..FIELD - 1]);
    }

    /// Returns whether the case may come from an export.
    pub(super) fn is_as_exported(&self) -> bool {
        digest(&self.0, OF_REQUEST | number(OpenCaseRequest::MESSAGE, DATES_AS_GIVEN)).is_some()
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the paths of the fields that differ from an existing case. Empty if the case's digests are unknown.
    pub(super) fn differences(&self, stored: Option<&[u8]>) -> Vec<String> {
        let Some(stored) = stored else { return Vec::new() };
        let differs = |number: u8| digest(&self.0, number) != digest(stored, number);
        let fields = CaseInput::FIELDS.iter().filter(|field| differs(field.number as u8));
        let of_case = fields.map(|field| format!("case.{}", field.name));
        let of_request = ["incidents", DATES_AS_GIVEN].into_iter();
        let of_request = of_request.filter(|name| differs(OF_REQUEST | number(OpenCaseRequest::MESSAGE, name)));
        of_case.chain(of_request.map(str::to_owned)).collect()
    }
}

fn digest(digests: &[u8], number: u8) -> Option<&[u8]> {
    digests.chunks(FIELD).find(|field| field[0] == number)
}

/// Encodes an incident with a length prefix, omitting empty strings.
fn encoded(incident: &IncidentInput) -> Vec<u8> {
    let mut incident = incident.clone();
    let IncidentInput { url, reference, infraction_type, infraction_name, .. } = &mut incident;
    for text in [url, reference, infraction_type, infraction_name] {
        if text.as_deref() == Some("") {
            *text = None;
        }
    }
    incident.encode_length_delimited_to_vec()
}

fn number(message: &Message, name: &str) -> u8 {
    message.field(name).map_or(0, |field| field.number as u8)
}

#[cfg(test)]
mod tests {
    use compliance_api::v1::{CaseInput, IncidentInput, OpenCaseRequest};

    use super::OpenedWith;

    #[test]
    fn differences_list_changed_fields() {
        let case = |worker: &str, tags: &[&str]| CaseInput {
            client_affiliate_id: Some("A".to_owned()),
            case_worker: Some(worker.to_owned()),
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            ..CaseInput::default()
        };
        let request = |case: CaseInput| OpenCaseRequest { case: Some(case), ..OpenCaseRequest::default() };
        let opened = OpenedWith::of(&request(case("", &["a"])));
        let differences = |other: &OpenCaseRequest| OpenedWith::of(other).differences(Some(opened.as_bytes()));
        assert_eq!(opened.as_bytes().len(), 10);
        // An empty string counts as absent.
        assert_eq!(differences(&request(CaseInput { case_worker: None, ..case("", &["a"]) })), [""; 0]);
        assert_eq!(differences(&request(case("B", &["a", "b"]))), ["case.case_worker", "case.tags"]);
        let incidents = vec![IncidentInput { reference: Some("r".to_owned()), ..IncidentInput::default() }];
        let with_empty_text = vec![IncidentInput { infraction_type: Some(String::new()), ..incidents[0].clone() }];
        let more = OpenCaseRequest { incidents, dates_as_given: Some(true), ..request(case("", &["a"])) };
        assert_eq!(differences(&more), ["incidents", "dates_as_given"]);
        assert_eq!(opened.differences(Some(OpenedWith::of(&more).as_bytes())), ["incidents", "dates_as_given"]);
        let same = OpenCaseRequest { incidents: with_empty_text, ..more.clone() };
        assert_eq!(OpenedWith::of(&more), OpenedWith::of(&same));
        // Cases opened by an earlier version have no digests.
        assert_eq!(OpenedWith::of(&more).differences(None), [""; 0]);
    }
}
