//! Service clients behind the generated service traits.
//!
//! A local client is the service itself, without encoding. A remote client sends the same call over a [`Channel`].

use std::sync::Arc;

pub use crate::wire::grpc_timeout;
use crate::{
    batch_read::ReadRecords,
    error::Error,
    v1::{
        ExportCasesResponse, ExportUrlsResponse, ListAffiliatesResponse, ListAllComplianceCasesResponse,
        ListAllComplianceUrlsResponse, StreamComplianceUrlsResponse, StreamUrlObservationsResponse,
        WatchChangesResponse, access_service_client::AccessServiceClient, access_service_server::AccessService,
        affiliate_service_client::AffiliateServiceClient, affiliate_service_server::AffiliateService,
        affiliate_sync_service_client::AffiliateSyncServiceClient, affiliate_sync_service_server::AffiliateSyncService,
        audit_service_client::AuditServiceClient, audit_service_server::AuditService,
        batch_read_response::Result as Outcome, change_service_client::ChangeServiceClient,
        change_service_server::ChangeService, compliance_case_service_client::ComplianceCaseServiceClient,
        compliance_case_service_server::ComplianceCaseService,
        compliance_url_service_client::ComplianceUrlServiceClient, compliance_url_service_server::ComplianceUrlService,
        erasure_service_client::ErasureServiceClient, erasure_service_server::ErasureService,
        monitoring_service_client::MonitoringServiceClient, monitoring_service_server::MonitoringService,
        overview_service_client::OverviewServiceClient, overview_service_server::OverviewService, read::Operation,
        vocabulary_service_client::VocabularyServiceClient, vocabulary_service_server::VocabularyService,
        webhook_service_client::WebhookServiceClient, webhook_service_server::WebhookService,
    },
    wire::Items,
};
/// Stubs of the services, for fakes.
pub use generated::*;
use http::HeaderName;
pub use tonic::codegen::BoxStream;
use tonic::{Request, Response, Status, body::Body, client::GrpcService, codegen::tokio_stream::Stream};
use tonic_health::{
    pb::{HealthCheckRequest, HealthCheckResponse, health_client::HealthClient, health_server::Health as _},
    server::HealthService,
};

/// Header with the number of cores that a gateway calls.
///
/// Each core counts the call that many times against the company's rate limit.
pub const CORES: HeaderName = HeaderName::from_static("x-compliance-cores");

/// A remote client's channel.
pub trait Channel:
    GrpcService<Body, ResponseBody = Body, Error = Status, Future: Send> + Clone + Send + Sync + 'static
{
}

impl<C> Channel for C where
    C: GrpcService<Body, ResponseBody = Body, Error = Status, Future: Send> + Clone + Send + Sync + 'static
{
}

/// Wraps every call of a local service.
///
/// The in-process counterpart of a tower layer.
pub trait Middleware: Send + Sync + 'static {
    /// Performs or rejects a call. `path` is `/package.Service/Operation`.
    fn call<M, R, F>(
        &self,
        path: &'static str,
        request: Request<M>,
        call: impl FnOnce(Request<M>) -> F + Send,
    ) -> impl Future<Output = Result<Response<R>, Status>> + Send
    where
        M: Items + Send,
        R: Send,
        F: Future<Output = Result<Response<R>, Status>> + Send;
}

/// A service behind a [`Middleware`]. It implements the service trait.
#[derive(Clone, Debug)]
pub struct WithMiddleware<S, M> {
    /// The service.
    pub service: Arc<S>,
    /// The middleware around every call.
    pub middleware: M,
}

/// A remote service. It implements the service trait.
struct Remote<C> {
    client: C,
    reads: Arc<dyn ReadRecords>,
}

/// The clients that a gateway needs.
#[derive(Clone)]
pub struct Clients {
    /// Token checks.
    pub access: Arc<dyn AccessService>,
    /// Affiliates.
    pub affiliates: Arc<dyn AffiliateService<ListAffiliatesStream = BoxStream<ListAffiliatesResponse>>>,
    /// Affiliate syncs.
    pub syncs: Arc<dyn AffiliateSyncService>,
    /// Compliance URLs.
    pub urls: Arc<
        dyn ComplianceUrlService<
                StreamComplianceUrlsStream = BoxStream<StreamComplianceUrlsResponse>,
                ListAllComplianceUrlsStream = BoxStream<ListAllComplianceUrlsResponse>,
            >,
    >,
    /// Compliance cases.
    pub cases: Arc<dyn ComplianceCaseService<ListAllComplianceCasesStream = BoxStream<ListAllComplianceCasesResponse>>>,
    /// Case work and reviews.
    pub monitoring: Arc<
        dyn MonitoringService<
                StreamUrlObservationsStream = BoxStream<StreamUrlObservationsResponse>,
                ExportUrlsStream = BoxStream<ExportUrlsResponse>,
                ExportCasesStream = BoxStream<ExportCasesResponse>,
            >,
    >,
    /// The overview.
    pub overview: Arc<dyn OverviewService>,
    /// Vocabularies.
    pub vocabularies: Arc<dyn VocabularyService>,
    /// The record of changes.
    pub changes: Arc<dyn ChangeService<WatchChangesStream = BoxStream<WatchChangesResponse>>>,
    /// Erasure of personal data.
    pub erasures: Arc<dyn ErasureService>,
    /// Webhooks.
    pub webhooks: Arc<dyn WebhookService>,
    /// Searches of the record of changes.
    pub audit: Arc<dyn AuditService>,
    /// Health checks.
    pub health: Arc<dyn CheckHealth>,
}

impl Clients {
    /// Creates clients that share one channel, with messages of up to `max_message_size` bytes. `reads` serves single reads.
    pub fn remote(channel: impl Channel, max_message_size: usize, reads: Arc<dyn ReadRecords>) -> Self {
        macro_rules! remote {
            ($client:ident) => {{
                let client = $client::new(channel.clone())
                    .max_decoding_message_size(max_message_size)
                    .max_encoding_message_size(max_message_size);
                Arc::new(Remote { client, reads: Arc::clone(&reads) })
            }};
        }
        Self {
            access: remote!(AccessServiceClient),
            affiliates: remote!(AffiliateServiceClient),
            syncs: remote!(AffiliateSyncServiceClient),
            urls: remote!(ComplianceUrlServiceClient),
            cases: remote!(ComplianceCaseServiceClient),
            monitoring: remote!(MonitoringServiceClient),
            overview: remote!(OverviewServiceClient),
            vocabularies: remote!(VocabularyServiceClient),
            changes: remote!(ChangeServiceClient),
            erasures: remote!(ErasureServiceClient),
            webhooks: remote!(WebhookServiceClient),
            audit: remote!(AuditServiceClient),
            health: Arc::new(HealthClient::new(channel)),
        }
    }
}

impl std::fmt::Debug for Clients {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Clients").finish_non_exhaustive()
    }
}

/// The response to a health check.
pub type HealthResult = Result<Response<HealthCheckResponse>, Status>;

/// `Health` without its stream, because the stream's type differs between services.
#[tonic::async_trait]
pub trait CheckHealth: Send + Sync {
    /// Calls `Check`.
    async fn check_health(&self, request: Request<HealthCheckRequest>) -> HealthResult;
}

#[tonic::async_trait]
impl CheckHealth for HealthService {
    async fn check_health(&self, request: Request<HealthCheckRequest>) -> HealthResult {
        self.check(request).await
    }
}

#[tonic::async_trait]
impl<C: Channel> CheckHealth for HealthClient<C> {
    async fn check_health(&self, request: Request<HealthCheckRequest>) -> HealthResult {
        self.clone().check(request).await
    }
}

#[tonic::async_trait]
impl<S: CheckHealth + 'static, M: Middleware> CheckHealth for WithMiddleware<S, M> {
    async fn check_health(&self, request: Request<HealthCheckRequest>) -> HealthResult {
        let path = "/grpc.health.v1.Health/Check";
        self.middleware.call(path, request, |request| self.service.check_health(request)).await
    }
}

fn boxed<T>(stream: impl Stream<Item = Result<T, Status>> + Send + 'static) -> BoxStream<T> {
    Box::pin(stream)
}

#[allow(unused_qualifications, clippy::wildcard_imports, reason = "generated")]
mod generated {
    use super::*;

    include!(concat!(env!("OUT_DIR"), "/clients.rs"));
}
