//! Builds request messages for these tests.

use compliance_api::v1::{
    CaseInput, FieldViolation, IncidentInput, IncidentType, InfractionInput, OpenCaseRequest, UrlObservation,
};
use prost_types::Timestamp;

/// Parses a timestamp in the form `YYYY-MM-DD HH:MM:SS`.
pub(crate) fn at(text: &str) -> Timestamp {
    compliance_api::json::records::timestamp_of_text(text).unwrap()
}

/// Formats a timestamp, if any.
pub(crate) fn text(timestamp: Option<&Timestamp>) -> Option<String> {
    compliance_api::json::datetime_text(timestamp?)
}

/// Returns text as an optional field.
#[expect(clippy::unnecessary_wraps, reason = "nearly every field is optional")]
pub(crate) fn some(value: &str) -> Option<String> {
    Some(value.to_owned())
}

pub(crate) fn observation(url: &str) -> UrlObservation {
    UrlObservation { url: some(url), ..UrlObservation::default() }
}

pub(crate) fn infraction(kind: &str, name: &str) -> InfractionInput {
    InfractionInput { infraction_type: some(kind), infraction_name: some(name), created_date: None }
}

pub(crate) fn url_incident(url: &str) -> IncidentInput {
    IncidentInput { incident_type: IncidentType::Url.into(), url: some(url), ..IncidentInput::default() }
}

pub(crate) fn form_incident(reference: &str) -> IncidentInput {
    IncidentInput { incident_type: IncidentType::Form.into(), reference: some(reference), ..IncidentInput::default() }
}

/// Returns a request that opens a case for affiliate `A`.
pub(crate) fn opening(request_id: &str) -> OpenCaseRequest {
    OpenCaseRequest {
        request_id: some(request_id),
        case: Some(CaseInput { client_affiliate_id: some("A"), ..CaseInput::default() }),
        ..OpenCaseRequest::default()
    }
}

/// Returns the path and message of each violation.
pub(crate) fn violations(violations: &[FieldViolation]) -> Vec<(&str, &str)> {
    violations.iter().map(|violation| (violation.field.as_str(), violation.description.as_str())).collect()
}
