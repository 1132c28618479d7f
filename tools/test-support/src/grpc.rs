//! Creates the generated gRPC clients for the core.

use std::{error::Error, net::SocketAddr};

use compliance_api::v1::{
    access_service_client::AccessServiceClient, affiliate_roster_service_client::AffiliateRosterServiceClient,
    affiliate_service_client::AffiliateServiceClient, affiliate_sync_service_client::AffiliateSyncServiceClient,
    audit_service_client::AuditServiceClient, change_service_client::ChangeServiceClient,
    compliance_case_service_client::ComplianceCaseServiceClient,
    compliance_url_service_client::ComplianceUrlServiceClient, erasure_service_client::ErasureServiceClient,
    monitoring_service_client::MonitoringServiceClient, overview_service_client::OverviewServiceClient,
    read_service_client::ReadServiceClient, vocabulary_service_client::VocabularyServiceClient,
    webhook_service_client::WebhookServiceClient,
};
use http::uri::PathAndQuery;
use tonic::{
    Request, Status,
    body::Body,
    client::Grpc,
    metadata::{Ascii, MetadataValue},
    service::{Interceptor, interceptor::InterceptedService},
    transport::Endpoint,
};
use tonic_types::StatusExt as _;
use tower::{Service, ServiceExt as _, util::BoxCloneSyncService};

use crate::codec::Bytes;

/// Maximum message size, in bytes. Large enough for whole batches.
const MESSAGE_LIMIT: usize = 256 << 20;

type BoxError = Box<dyn Error + Send + Sync>;

/// Calls with a token, over a network or within the process.
pub type Calls = InterceptedService<BoxCloneSyncService<http::Request<Body>, http::Response<Body>, BoxError>, Bearer>;

/// A client for each service, all with the same token.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "each field is the client of the service that its type names")]
pub struct GrpcClients {
    pub access: AccessServiceClient<Calls>,
    pub affiliates: AffiliateServiceClient<Calls>,
    pub urls: ComplianceUrlServiceClient<Calls>,
    pub cases: ComplianceCaseServiceClient<Calls>,
    pub syncs: AffiliateSyncServiceClient<Calls>,
    pub erasures: ErasureServiceClient<Calls>,
    pub rosters: AffiliateRosterServiceClient<Calls>,
    pub overview: OverviewServiceClient<Calls>,
    pub vocabularies: VocabularyServiceClient<Calls>,
    pub changes: ChangeServiceClient<Calls>,
    pub webhooks: WebhookServiceClient<Calls>,
    /// Searches the record of changes.
    pub audit: AuditServiceClient<Calls>,
    pub monitoring: MonitoringServiceClient<Calls>,
    pub reads: ReadServiceClient<Calls>,
    calls: Calls,
}

/// Sends a token with every call.
#[derive(Clone, Debug)]
pub struct Bearer(MetadataValue<Ascii>);

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        request.metadata_mut().insert("authorization", self.0.clone());
        Ok(request)
    }
}

impl GrpcClients {
    /// Creates clients with their own connection.
    pub async fn connect(address: SocketAddr, token: &str) -> Self {
        let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap();
        Self::over(endpoint.connect().await.unwrap(), token)
    }

    /// Creates clients over any gRPC service, such as a channel or a core in this process.
    pub fn over<S>(service: S, token: &str) -> Self
    where
        S: Service<http::Request<Body>, Response = http::Response<Body>, Error: Into<BoxError>, Future: Send>
            + Clone
            + Send
            + Sync
            + 'static,
    {
        let bearer = Bearer(format!("Bearer {token}").parse().unwrap());
        let calls = InterceptedService::new(BoxCloneSyncService::new(service.map_err(Into::into)), bearer);
        Self {
            access: AccessServiceClient::new(calls.clone()),
            affiliates: AffiliateServiceClient::new(calls.clone()).max_decoding_message_size(MESSAGE_LIMIT),
            urls: ComplianceUrlServiceClient::new(calls.clone()).max_decoding_message_size(MESSAGE_LIMIT),
            cases: ComplianceCaseServiceClient::new(calls.clone()).max_decoding_message_size(MESSAGE_LIMIT),
            syncs: AffiliateSyncServiceClient::new(calls.clone()),
            erasures: ErasureServiceClient::new(calls.clone()),
            rosters: AffiliateRosterServiceClient::new(calls.clone()),
            overview: OverviewServiceClient::new(calls.clone()),
            vocabularies: VocabularyServiceClient::new(calls.clone()),
            changes: ChangeServiceClient::new(calls.clone()),
            webhooks: WebhookServiceClient::new(calls.clone()),
            audit: AuditServiceClient::new(calls.clone()),
            monitoring: MonitoringServiceClient::new(calls.clone()).max_decoding_message_size(MESSAGE_LIMIT),
            reads: ReadServiceClient::new(calls.clone()),
            calls,
        }
    }

    /// Calls a unary operation by its path, `/package.Service/Operation`, with an encoded message.
    ///
    /// # Errors
    ///
    /// Returns the operation's error.
    pub async fn call(&self, path: &'static str, message: Vec<u8>) -> Result<Vec<u8>, Status> {
        let mut grpc = Grpc::new(self.calls.clone()).max_decoding_message_size(MESSAGE_LIMIT);
        grpc.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
        let response = grpc.unary(Request::new(message), PathAndQuery::from_static(path), Bytes).await?;
        Ok(response.into_inner())
    }
}

/// Returns the reason in an error's `google.rpc.ErrorInfo`. Panics if the domain is wrong.
pub fn reason_of(status: &Status) -> String {
    let details = status.get_error_details();
    let info = details.error_info().unwrap_or_else(|| panic!("the status contains no ErrorInfo: {status:?}"));
    assert_eq!(info.domain, "compliance.v1", "{status:?}");
    info.reason.clone()
}
