//! Operations with one request and one response.

use std::future::Future;

use compliance_api::v1::{
    AddComplianceUrlsRequest, AddComplianceUrlsResponse, AddVocabularyEntriesRequest, AddVocabularyEntriesResponse,
    Affiliate, AttachIncidentsRequest, AttachIncidentsResponse, BatchCreateAffiliatesRequest,
    BatchCreateAffiliatesResponse, BatchGetAffiliatesRequest, BatchGetAffiliatesResponse,
    BatchGetComplianceCasesRequest, BatchGetComplianceCasesResponse, BatchGetComplianceUrlsRequest,
    BatchGetComplianceUrlsResponse, BatchOpenCasesRequest, BatchOpenCasesResponse, BatchUpdateAffiliatesRequest,
    BatchUpdateAffiliatesResponse, CheckAccessRequest, CheckAccessResponse, CloseCaseRequest, CloseCaseResponse,
    ComplianceCase, ComplianceUrl, CreateAffiliateRequest, CreateAffiliateResponse, DetachIncidentsRequest,
    DetachIncidentsResponse, GetAffiliateRequest, GetComplianceCaseRequest, GetComplianceUrlRequest,
    ListComplianceCasesRequest, ListComplianceCasesResponse, ListComplianceUrlsRequest, ListComplianceUrlsResponse,
    ListVocabulariesRequest, ListVocabulariesResponse, ObserveUrlsRequest, ObserveUrlsResponse, OpenCaseRequest,
    OpenCaseResponse, RecordInfractionsRequest, RecordInfractionsResponse, ReopenCaseRequest, ReopenCaseResponse,
    ResolveCaseRequest, ResolveCaseResponse, UpdateAffiliateRequest, UpdateAffiliateResponse, UpdateCaseRequest,
    UpdateCaseResponse, WithdrawInfractionsRequest, WithdrawInfractionsResponse,
    access_service_client::AccessServiceClient, affiliate_service_client::AffiliateServiceClient,
    compliance_case_service_client::ComplianceCaseServiceClient,
    compliance_url_service_client::ComplianceUrlServiceClient, monitoring_service_client::MonitoringServiceClient,
};
use tonic::{Request, Response, Status, transport::Channel};

/// A request of an operation that has one response. The request's type names the operation: `GetAffiliateRequest` is that
/// of `AffiliateService.GetAffiliate`.
pub trait Operation: sealed::Sealed + Clone + Send + Sync + 'static {
    /// The response.
    type Response: Send + 'static;

    /// Sends the request once.
    #[doc(hidden)]
    fn send(
        request: Request<Self>,
        channel: Channel,
        message_limit: usize,
    ) -> impl Future<Output = Result<Response<Self::Response>, Status>> + Send;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! operations {
    ($($client:ident { $($method:ident($request:ident) -> $response:ident;)* })*) => {
        $($(
            impl sealed::Sealed for $request {}

            impl Operation for $request {
                type Response = $response;

                async fn send(
                    request: Request<Self>,
                    channel: Channel,
                    message_limit: usize,
                ) -> Result<Response<$response>, Status> {
                    $client::new(channel)
                        .max_decoding_message_size(message_limit)
                        .max_encoding_message_size(message_limit)
                        .$method(request)
                        .await
                }
            }
        )*)*

        /// The names of all requests.
        #[cfg(test)]
        const REQUESTS: &[&str] = &[$($(stringify!($request),)*)*];
    };
}

operations! {
    AccessServiceClient {
        check_access(CheckAccessRequest) -> CheckAccessResponse;
    }
    AffiliateServiceClient {
        get_affiliate(GetAffiliateRequest) -> Affiliate;
        batch_get_affiliates(BatchGetAffiliatesRequest) -> BatchGetAffiliatesResponse;
        create_affiliate(CreateAffiliateRequest) -> CreateAffiliateResponse;
        batch_create_affiliates(BatchCreateAffiliatesRequest) -> BatchCreateAffiliatesResponse;
        update_affiliate(UpdateAffiliateRequest) -> UpdateAffiliateResponse;
        batch_update_affiliates(BatchUpdateAffiliatesRequest) -> BatchUpdateAffiliatesResponse;
    }
    ComplianceUrlServiceClient {
        list_compliance_urls(ListComplianceUrlsRequest) -> ListComplianceUrlsResponse;
        get_compliance_url(GetComplianceUrlRequest) -> ComplianceUrl;
        batch_get_compliance_urls(BatchGetComplianceUrlsRequest) -> BatchGetComplianceUrlsResponse;
        add_compliance_urls(AddComplianceUrlsRequest) -> AddComplianceUrlsResponse;
    }
    ComplianceCaseServiceClient {
        list_compliance_cases(ListComplianceCasesRequest) -> ListComplianceCasesResponse;
        get_compliance_case(GetComplianceCaseRequest) -> ComplianceCase;
        batch_get_compliance_cases(BatchGetComplianceCasesRequest) -> BatchGetComplianceCasesResponse;
    }
    MonitoringServiceClient {
        observe_urls(ObserveUrlsRequest) -> ObserveUrlsResponse;
        record_infractions(RecordInfractionsRequest) -> RecordInfractionsResponse;
        withdraw_infractions(WithdrawInfractionsRequest) -> WithdrawInfractionsResponse;
        open_case(OpenCaseRequest) -> OpenCaseResponse;
        batch_open_cases(BatchOpenCasesRequest) -> BatchOpenCasesResponse;
        update_case(UpdateCaseRequest) -> UpdateCaseResponse;
        resolve_case(ResolveCaseRequest) -> ResolveCaseResponse;
        close_case(CloseCaseRequest) -> CloseCaseResponse;
        reopen_case(ReopenCaseRequest) -> ReopenCaseResponse;
        attach_incidents(AttachIncidentsRequest) -> AttachIncidentsResponse;
        detach_incidents(DetachIncidentsRequest) -> DetachIncidentsResponse;
        list_vocabularies(ListVocabulariesRequest) -> ListVocabulariesResponse;
        add_vocabulary_entries(AddVocabularyEntriesRequest) -> AddVocabularyEntriesResponse;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use prost_reflect::DescriptorPool;

    /// A gateway's own service has a token for each read; nobody else calls it.
    const OF_GATEWAYS: &str = "ReadService";

    #[test]
    fn every_operation_of_the_contract_can_be_called() {
        let pool = DescriptorPool::decode(compliance_api::FILE_DESCRIPTOR_SET).unwrap();
        let methods = pool
            .services()
            .filter(|service| service.name() != OF_GATEWAYS)
            .flat_map(|service| service.methods().filter(|method| !method.is_server_streaming()).collect::<Vec<_>>());
        let requests: Vec<String> = methods.map(|method| method.input().name().to_owned()).collect();
        assert!(requests.len() > 20, "{requests:?}");
        let expected: BTreeSet<&str> = requests.iter().map(String::as_str).collect();
        assert_eq!(super::REQUESTS.iter().copied().collect::<BTreeSet<_>>(), expected);
    }
}
