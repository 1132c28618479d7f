//! The service as a whole, and the way of a call through it.

mod stack;

pub(crate) use stack::parse_timeout;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use compliance_api::{
    FILE_DESCRIPTOR_SET,
    token::Verifier,
    v1::{
        access_service_server::AccessServiceServer, affiliate_service_server::AffiliateServiceServer,
        compliance_case_service_server::ComplianceCaseServiceServer,
        compliance_url_service_server::ComplianceUrlServiceServer, monitoring_service_server::MonitoringServiceServer,
    },
};
use sqlx::PgPool;
use tokio::{net::TcpListener, task::AbortHandle};
use tokio_util::sync::CancellationToken;
use tonic::{body::Body, service::Routes, transport::server::TcpIncoming};
use tower::{ServiceBuilder, util::BoxCloneSyncService};

use crate::{
    CoreSettings,
    access::{Access, AccessLayer, Limiter},
    affiliates::Affiliates,
    cases::ComplianceCases,
    database::{Connections, keep_statistics},
    health,
    monitoring::Monitoring,
    urls::ComplianceUrls,
};

/// The whole service as a tower service: what the network serves, and what a gateway in the same process calls.
pub type CoreService =
    BoxCloneSyncService<http::Request<Body>, http::Response<Body>, Box<dyn std::error::Error + Send + Sync>>;

/// How long calls that were accepted may go on after the end was asked for.
const GRACE: Duration = Duration::from_secs(30);
/// How often companies that no longer call are forgotten by the rate limit.
const SWEEP: Duration = Duration::from_mins(1);

/// The service over a database.
#[derive(Debug)]
pub struct Core {
    service: CoreService,
    /// What runs beside the calls; it ends with the core.
    tasks: Vec<AbortHandle>,
}

impl Core {
    /// Puts the service together. The database must be migrated.
    pub fn new(
        pool: &PgPool,
        verifier: Arc<Verifier>,
        settings: &CoreSettings,
    ) -> Result<Self, tonic_reflection::server::Error> {
        let connections = &Connections::of(pool);
        let (reporter, health_service) = tonic_health::server::health_reporter();
        let limiter = Limiter::new(settings.rate_limit).map(Arc::new);
        let mut tasks = vec![
            tokio::spawn(health::watch(connections.clone(), reporter)).abort_handle(),
            tokio::spawn(keep_statistics(connections.clone())).abort_handle(),
        ];
        if let Some(limiter) = limiter.clone() {
            tasks.push(tokio::spawn(sweep(limiter)).abort_handle());
        }
        let routes =
            Routes::new(sized!(settings, AffiliateServiceServer, Affiliates::new(connections, settings.list_timeout)))
                .add_service(sized!(settings, ComplianceUrlServiceServer, ComplianceUrls::new(connections)))
                .add_service(sized!(settings, ComplianceCaseServiceServer, ComplianceCases::new(connections)))
                .add_service(sized!(
                    settings,
                    MonitoringServiceServer,
                    Monitoring::new(connections, settings.list_timeout)
                ))
                .add_service(sized!(settings, AccessServiceServer, Access))
                .add_service(health_service)
                .add_service(reflection().build_v1()?)
                .add_service(reflection().build_v1alpha()?)
                .prepare();
        let service = ServiceBuilder::new()
            .layer(stack::PanicLayer)
            .layer(stack::OverloadLayer::new(settings.max_in_flight))
            .layer(stack::DeadlineLayer::new(settings.call_timeout))
            .layer(AccessLayer::new(verifier, limiter))
            .map_err(|never: std::convert::Infallible| match never {})
            .service(routes);
        Ok(Self { service: BoxCloneSyncService::new(service), tasks })
    }

    /// The service, to be called in this process.
    pub fn service(&self) -> CoreService {
        self.service.clone()
    }

    /// Serves the network until `shutdown`, then lets accepted calls finish.
    pub async fn serve(
        &self,
        listener: TcpListener,
        shutdown: CancellationToken,
    ) -> Result<(), tonic::transport::Error> {
        let address: Option<SocketAddr> = listener.local_addr().ok();
        tracing::info!(?address, "gRPC is served");
        let service = stack::infallible(self.service.clone());
        let routes = Routes::from(axum::Router::new().fallback_service(service));
        let server = tonic::transport::Server::builder()
            // Without these a peer may open as many streams, and reset as many, as it likes.
            .max_concurrent_streams(1024)
            .http2_max_pending_accept_reset_streams(Some(64))
            .http2_max_local_error_reset_streams(Some(1024))
            .http2_keepalive_interval(Some(Duration::from_secs(30)))
            .http2_keepalive_timeout(Some(Duration::from_secs(10)))
            .tcp_keepalive(Some(Duration::from_mins(1)))
            .initial_stream_window_size(1 << 20)
            .initial_connection_window_size(8 << 20)
            .max_frame_size(64 << 10)
            .add_routes(routes)
            .serve_with_incoming_shutdown(
                TcpIncoming::from(listener).with_nodelay(Some(true)),
                shutdown.clone().cancelled_owned(),
            );
        tokio::select! {
            ended = server => ended,
            () = async { shutdown.cancelled().await; tokio::time::sleep(GRACE).await } => {
                tracing::warn!("calls did not end in {} s and are cut off", GRACE.as_secs());
                Ok(())
            }
        }
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

/// A generated server with the limit on messages: whole batches come in one.
macro_rules! sized {
    ($settings:expr, $server:ident, $service:expr) => {
        $server::new($service)
            .max_decoding_message_size($settings.message_limit)
            .max_encoding_message_size($settings.message_limit)
    };
}
use sized;

fn reflection<'a>() -> tonic_reflection::server::Builder<'a> {
    tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(FILE_DESCRIPTOR_SET)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
}

async fn sweep(limiter: Arc<Limiter>) {
    loop {
        tokio::time::sleep(SWEEP).await;
        limiter.sweep();
    }
}
