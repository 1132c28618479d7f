//! What these tests are written with.

use compliance_api::v1::{
    AffiliateInput, CaseInput, ComplianceCase, ComplianceUrl, CreateAffiliateRequest, FieldViolation,
    GetComplianceCaseRequest, GetComplianceUrlRequest, IncidentInput, IncidentType, InfractionInput, ObservationResult,
    ObserveUrlsRequest, OpenCaseRequest, ResultCode, UrlObservation,
};
use prost_types::Timestamp;

use crate::common::Clients;

/// A moment by its text.
pub(crate) fn at(text: &str) -> Timestamp {
    compliance_api::json::records::moment_of_text(text).unwrap()
}

/// A moment's text.
pub(crate) fn text(moment: Option<&Timestamp>) -> Option<String> {
    compliance_api::json::datetime_text(moment?)
}

/// A text as messages hold it.
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

/// A case of the affiliate `A`.
pub(crate) fn opening(request_id: &str) -> OpenCaseRequest {
    OpenCaseRequest {
        request_id: some(request_id),
        case: Some(CaseInput { client_affiliate_id: some("A"), ..CaseInput::default() }),
        ..OpenCaseRequest::default()
    }
}

/// Paths and messages of an item's faults.
pub(crate) fn told(violations: &[FieldViolation]) -> Vec<(&str, &str)> {
    violations.iter().map(|fault| (fault.field.as_str(), fault.description.as_str())).collect()
}

impl Clients {
    /// Creates an affiliate whose identifier and name are the same.
    pub(crate) async fn affiliate(&mut self, name: &str) -> i64 {
        let affiliate =
            AffiliateInput { client_affiliate_id: some(name), affiliate_name: some(name), ..AffiliateInput::default() };
        let request = CreateAffiliateRequest { affiliate: Some(affiliate) };
        self.affiliates.create_affiliate(request).await.unwrap().into_inner().affiliate_id
    }

    pub(crate) async fn observe(&mut self, observations: Vec<UrlObservation>) -> Vec<ObservationResult> {
        self.monitoring.observe_urls(ObserveUrlsRequest { observations }).await.unwrap().into_inner().results
    }

    /// Observes one URL that is good, and answers with its ID.
    pub(crate) async fn observe_one(&mut self, observation: UrlObservation) -> i64 {
        let result = self.observe(vec![observation]).await.pop().unwrap();
        assert_eq!(result.code(), ResultCode::Saved, "{result:?}");
        result.url_id.unwrap()
    }

    /// Opens a case that is good, and answers with its ID.
    pub(crate) async fn open(&mut self, opening: OpenCaseRequest) -> i64 {
        self.monitoring.open_case(opening).await.unwrap().into_inner().case_id
    }

    pub(crate) async fn url(&mut self, id: i64) -> ComplianceUrl {
        self.urls.get_compliance_url(GetComplianceUrlRequest { id }).await.unwrap().into_inner()
    }

    pub(crate) async fn case(&mut self, case_id: i64) -> ComplianceCase {
        self.cases.get_compliance_case(GetComplianceCaseRequest { case_id }).await.unwrap().into_inner()
    }
}
