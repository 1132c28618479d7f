//! gRPC clients of the core, as the contract crate generates them.

use std::net::SocketAddr;

use compliance_api::v1::{
    access_service_client::AccessServiceClient, affiliate_service_client::AffiliateServiceClient,
    compliance_case_service_client::ComplianceCaseServiceClient,
    compliance_url_service_client::ComplianceUrlServiceClient, monitoring_service_client::MonitoringServiceClient,
};
use tonic::{
    Request, Status,
    metadata::{Ascii, MetadataValue},
    service::{Interceptor, interceptor::InterceptedService},
    transport::{Channel, Endpoint},
};
use tonic_types::StatusExt as _;

/// Whole batches come in one message.
const MESSAGE_LIMIT: usize = 256 << 20;

pub(crate) type Calls = InterceptedService<Channel, Bearer>;

/// Clients with a token.
#[derive(Clone)]
pub(crate) struct Grpc {
    pub(crate) access: AccessServiceClient<Calls>,
    pub(crate) affiliates: AffiliateServiceClient<Calls>,
    pub(crate) urls: ComplianceUrlServiceClient<Calls>,
    pub(crate) cases: ComplianceCaseServiceClient<Calls>,
    pub(crate) monitoring: MonitoringServiceClient<Calls>,
}

/// Presents a token with every call.
#[derive(Clone)]
pub(crate) struct Bearer(MetadataValue<Ascii>);

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        request.metadata_mut().insert("authorization", self.0.clone());
        Ok(request)
    }
}

impl Grpc {
    pub(crate) async fn new(address: SocketAddr, token: &str) -> Self {
        let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap();
        let channel = endpoint.connect().await.unwrap();
        let calls = InterceptedService::new(channel, Bearer(format!("Bearer {token}").parse().unwrap()));
        Self {
            access: AccessServiceClient::new(calls.clone()),
            affiliates: AffiliateServiceClient::new(calls.clone()).max_decoding_message_size(MESSAGE_LIMIT),
            urls: ComplianceUrlServiceClient::new(calls.clone()).max_decoding_message_size(MESSAGE_LIMIT),
            cases: ComplianceCaseServiceClient::new(calls.clone()).max_decoding_message_size(MESSAGE_LIMIT),
            monitoring: MonitoringServiceClient::new(calls),
        }
    }
}

/// The reason that a refusal's `google.rpc.ErrorInfo` gives.
pub(crate) fn reason_of(status: &Status) -> String {
    let details = status.get_error_details();
    let info = details.error_info().unwrap_or_else(|| panic!("a status without ErrorInfo: {status:?}"));
    assert_eq!(info.domain, "compliance.v1", "{status:?}");
    info.reason.clone()
}
