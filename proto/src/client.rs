//! Clients of the partner services: the generated service traits, whether a service runs in this process or across a
//! network.
//!
//! A local client is the service itself, so nothing is encoded. A remote client sends the same call over a [`Channel`].
//! Callers cannot tell which one they hold.

use std::sync::Arc;

use admission::Memory;

use crate::{
    batch_read::ReadRecords,
    error::Error,
    v1::{
        ListAffiliatesResponse, StreamComplianceUrlsResponse, access_service_client::AccessServiceClient,
        access_service_server::AccessService, affiliate_service_client::AffiliateServiceClient,
        affiliate_service_server::AffiliateService, batch_read_response::Result as Outcome,
        compliance_case_service_client::ComplianceCaseServiceClient,
        compliance_case_service_server::ComplianceCaseService,
        compliance_url_service_client::ComplianceUrlServiceClient, compliance_url_service_server::ComplianceUrlService,
        read::Operation,
    },
    wire::Items,
};
pub use tonic::codegen::BoxStream;
use tonic::{Request, Response, Status, body::Body, codegen::Service, codegen::tokio_stream::Stream};
use tonic_health::pb::{
    HealthCheckRequest, HealthCheckResponse, health_client::HealthClient as NetworkHealthClient, health_server::Health,
};

/// What a remote client sends its calls over.
pub trait Channel:
    Service<http::Request<Body>, Response = http::Response<Body>, Error = Status, Future: Send>
    + Clone
    + Send
    + Sync
    + 'static
{
}

impl<C> Channel for C where
    C: Service<http::Request<Body>, Response = http::Response<Body>, Error = Status, Future: Send>
        + Clone
        + Send
        + Sync
        + 'static
{
}

/// Runs around every call of a local service, as a tower layer does on a network.
pub trait Middleware: Send + Sync + 'static {
    /// Makes a call, or refuses it. `path` is `/package.Service/Operation`.
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

/// A service behind a [`Middleware`]. It implements the trait of the service.
#[derive(Clone, Debug)]
pub struct WithMiddleware<S, M> {
    service: Arc<S>,
    middleware: M,
}

impl<S, M> WithMiddleware<S, M> {
    /// Puts a middleware in front of a service.
    pub fn new(service: Arc<S>, middleware: M) -> Self {
        Self { service, middleware }
    }
}

/// A service that is reached over a network. It implements the trait of the service.
struct Remote<C> {
    client: C,
    reads: Arc<dyn ReadRecords>,
}

/// A client of `AccessService`.
pub type AccessClient = Arc<dyn AccessService>;
/// A client of `AffiliateService`.
pub type AffiliateClient = Arc<dyn AffiliateService<ListAffiliatesStream = BoxStream<ListAffiliatesResponse>>>;
/// A client of `ComplianceUrlService`.
pub type ComplianceUrlClient =
    Arc<dyn ComplianceUrlService<StreamComplianceUrlsStream = BoxStream<StreamComplianceUrlsResponse>>>;
/// A client of `ComplianceCaseService`.
pub type ComplianceCaseClient = Arc<dyn ComplianceCaseService>;
/// A client of `grpc.health.v1.Health`.
pub type HealthClient = Arc<dyn CheckHealth>;

/// The clients that a gateway needs.
#[derive(Clone)]
pub struct Clients {
    /// What a token may do.
    pub access: AccessClient,
    /// Affiliates.
    pub affiliates: AffiliateClient,
    /// Compliance URLs.
    pub urls: ComplianceUrlClient,
    /// Compliance cases.
    pub cases: ComplianceCaseClient,
    /// Whether the services can serve.
    pub health: HealthClient,
    /// What requests may take in memory, if the services run in this process.
    pub memory: Option<Memory>,
}

impl Clients {
    /// Clients that share one channel, with messages of up to `max_message_size` bytes. `reads` makes the reads of single
    /// records.
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
            urls: remote!(ComplianceUrlServiceClient),
            cases: remote!(ComplianceCaseServiceClient),
            health: Arc::new(RemoteHealth(NetworkHealthClient::new(channel))),
            memory: None,
        }
    }
}

impl std::fmt::Debug for Clients {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Clients").finish_non_exhaustive()
    }
}

/// `Health` without its stream, whose type differs between services.
#[tonic::async_trait]
pub trait CheckHealth: Send + Sync {
    /// Calls `Check`.
    async fn check_health(&self, request: Request<HealthCheckRequest>)
    -> Result<Response<HealthCheckResponse>, Status>;
}

#[tonic::async_trait]
impl<S: Health> CheckHealth for S {
    async fn check_health(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        self.check(request).await
    }
}

/// A health service that is reached over a network.
struct RemoteHealth<C>(NetworkHealthClient<C>);

#[tonic::async_trait]
impl<C: Channel> Health for RemoteHealth<C> {
    type WatchStream = BoxStream<HealthCheckResponse>;

    async fn check(&self, request: Request<HealthCheckRequest>) -> Result<Response<HealthCheckResponse>, Status> {
        self.0.clone().check(request).await
    }

    async fn watch(&self, request: Request<HealthCheckRequest>) -> Result<Response<Self::WatchStream>, Status> {
        Ok(self.0.clone().watch(request).await?.map(boxed))
    }
}

#[tonic::async_trait]
impl<S: Health, M: Middleware> Health for WithMiddleware<S, M> {
    type WatchStream = S::WatchStream;

    async fn check(&self, request: Request<HealthCheckRequest>) -> Result<Response<HealthCheckResponse>, Status> {
        let path = "/grpc.health.v1.Health/Check";
        self.middleware.call(path, request, |request| self.service.check(request)).await
    }

    async fn watch(&self, request: Request<HealthCheckRequest>) -> Result<Response<Self::WatchStream>, Status> {
        let path = "/grpc.health.v1.Health/Watch";
        self.middleware.call(path, request, |request| self.service.watch(request)).await
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
