//! Writes and reads records that many tests need, over gRPC.

use compliance_api::v1::{
    AddComplianceUrlsRequest, Affiliate, AffiliateInput, AffiliateResult, AffiliateUpdate,
    BatchCreateAffiliatesRequest, BatchUpdateAffiliatesRequest, ComplianceCase, ComplianceUrl, CreateAffiliateRequest,
    GetAffiliateRequest, GetComplianceCaseRequest, GetComplianceUrlRequest, ObservationResult, ObserveUrlsRequest,
    OpenCaseRequest, ResultCode, UrlInput, UrlObservation, UrlResult,
};

use crate::GrpcClients;

/// Returns an affiliate with `name` as its name and identifier.
pub fn named(name: impl ToString) -> AffiliateInput {
    let name = Some(name.to_string());
    AffiliateInput { client_affiliate_id: name.clone(), affiliate_name: name, ..AffiliateInput::default() }
}

/// Returns an update of an affiliate's given fields.
pub fn update_of(id: i64, fields: AffiliateInput) -> AffiliateUpdate {
    AffiliateUpdate { id: Some(id), affiliate: Some(fields), ..AffiliateUpdate::default() }
}

impl GrpcClients {
    /// Creates an affiliate with `name` as its name and identifier, and returns its ID.
    pub async fn affiliate(&mut self, name: &str) -> i64 {
        let request = CreateAffiliateRequest { affiliate: Some(named(name)) };
        self.affiliates.create_affiliate(request).await.unwrap().into_inner().affiliate_id
    }

    /// Creates affiliates, and returns the results.
    pub async fn create_affiliates(&mut self, affiliates: Vec<AffiliateInput>) -> Vec<AffiliateResult> {
        let request = BatchCreateAffiliatesRequest { affiliates, validate_only: false };
        self.affiliates.batch_create_affiliates(request).await.unwrap().into_inner().results
    }

    /// Updates affiliates, and returns the results.
    pub async fn update_affiliates(&mut self, affiliates: Vec<AffiliateUpdate>) -> Vec<AffiliateResult> {
        let request = BatchUpdateAffiliatesRequest { affiliates, ..BatchUpdateAffiliatesRequest::default() };
        self.affiliates.batch_update_affiliates(request).await.unwrap().into_inner().results
    }

    /// Reads an existing affiliate.
    pub async fn read_affiliate(&mut self, id: i64) -> Affiliate {
        self.affiliates.get_affiliate(GetAffiliateRequest { id, as_of: None }).await.unwrap().into_inner()
    }

    /// Adds URLs, and returns the results.
    pub async fn add_urls(&mut self, urls: impl IntoIterator<Item = String>) -> Vec<UrlResult> {
        let urls = urls.into_iter().map(|url| UrlInput { url: Some(url) }).collect();
        let request = AddComplianceUrlsRequest { urls, validate_only: false };
        self.urls.add_compliance_urls(request).await.unwrap().into_inner().results
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
