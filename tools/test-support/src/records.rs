//! Writes and reads records that many tests need, over gRPC.

use compliance_api::v1::{
    AffiliateInput, ComplianceCase, ComplianceUrl, CreateAffiliateRequest, GetComplianceCaseRequest,
    GetComplianceUrlRequest, ObservationResult, ObserveUrlsRequest, OpenCaseRequest, ResultCode, UrlObservation,
};

use crate::GrpcClients;

impl GrpcClients {
    /// Creates an affiliate with `name` as its name and identifier, and returns its ID.
    pub async fn affiliate(&mut self, name: &str) -> i64 {
        let affiliate = AffiliateInput {
            client_affiliate_id: Some(name.to_owned()),
            affiliate_name: Some(name.to_owned()),
            ..AffiliateInput::default()
        };
        let request = CreateAffiliateRequest { affiliate: Some(affiliate) };
        self.affiliates.create_affiliate(request).await.unwrap().into_inner().affiliate_id
    }

    /// Saves URL observations, and returns the results.
    pub async fn observe(&mut self, observations: Vec<UrlObservation>) -> Vec<ObservationResult> {
        self.monitoring.observe_urls(ObserveUrlsRequest { observations }).await.unwrap().into_inner().results
    }

    /// Saves one valid observation, and returns the URL's ID.
    pub async fn observe_one(&mut self, observation: UrlObservation) -> i64 {
        let result = self.observe(vec![observation]).await.pop().unwrap();
        assert_eq!(result.code(), ResultCode::Saved, "{result:?}");
        result.url_id.unwrap()
    }

    /// Opens a valid case, and returns its ID.
    pub async fn open(&mut self, opening: OpenCaseRequest) -> i64 {
        self.monitoring.open_case(opening).await.unwrap().into_inner().case_id
    }

    /// Reads an existing URL.
    pub async fn url(&mut self, id: i64) -> ComplianceUrl {
        self.urls.get_compliance_url(GetComplianceUrlRequest { id, as_of: None }).await.unwrap().into_inner()
    }

    /// Reads an existing case.
    pub async fn case(&mut self, case_id: i64) -> ComplianceCase {
        self.cases
            .get_compliance_case(GetComplianceCaseRequest { id: case_id, as_of: None })
            .await
            .unwrap()
            .into_inner()
    }
}
