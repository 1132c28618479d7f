//! The services of the core, put together: for the network, and for clients in this process.

mod batch_read;
mod call_record;
mod guard;
mod operations;
mod protocol;
mod receive;
mod services;
mod tokens;

use std::{io, sync::Arc, time::Duration};

use compliance_api::{
    FILE_DESCRIPTOR_SET,
    client::{Clients, WithMiddleware},
    error::Error,
    token::Verifier,
    v1::{
        access_service_server::AccessServiceServer, affiliate_service_server::AffiliateServiceServer,
        compliance_case_service_server::ComplianceCaseServiceServer,
        compliance_url_service_server::ComplianceUrlServiceServer, monitoring_service_server::MonitoringServiceServer,
        read_service_server::ReadServiceServer,
    },
};
use http_server::{App, Limits, Listener, Protocols};
use sqlx::PgPool;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;
use tonic::{Status, service::Routes};
use tonic_health::{
    ServingStatus,
    pb::health_server::HealthServer,
    server::{HealthReporter, HealthService},
};

use crate::{
    CoreSettings,
    access::{Access, AccessPolicy, Limiter},
    affiliates::{self, Affiliates},
    cases::{self, ComplianceCases},
    database::Connections,
    gauges, health,
    monitoring::Monitoring,
    schema,
    shares::Shares,
    table::SchemaError,
    urls::{self, ComplianceUrls},
    writes::Queues,
};

use batch_read::BatchReads;
use guard::{Guard, Guarded};
use operations::HEALTH_CHECK;
use services::Services;

/// Every service as one tower service: what the network serves.
pub type CoreService = Guarded<Services>;

/// How long after a shutdown has begun clients may still read that the service does not serve.
const WATCHERS_TIME: Duration = Duration::from_millis(250);
/// How often the rate limit drops the state of companies that no longer call.
const SWEEP: Duration = Duration::from_mins(1);

/// Why the service cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The database is not the one that this version works with.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// Reflection cannot be offered.
    #[error("reflection cannot be offered: {0}")]
    Reflection(#[from] tonic_reflection::server::Error),
}

/// The service over a database.
#[derive(Debug)]
pub struct Core {
    service: CoreService,
    clients: Clients,
    reporter: HealthReporter,
    connections: Limits,
    /// Background tasks, which end with the core.
    tasks: Vec<AbortHandle>,
}

impl Core {
    /// Puts the service together. The database must be migrated: its tables and input types are checked first.
    pub async fn new(pool: &PgPool, verifier: Arc<Verifier>, settings: &CoreSettings) -> Result<Self, StartError> {
        let connections = &Connections::open(pool, schema::expected()).await?;
        let (reporter, _) = tonic_health::server::health_reporter();
        let health = || HealthService::from_health_reporter(reporter.clone());
        let limiter = Limiter::new(settings.rate_limit).map(Arc::new);
        let mut tasks = vec![tokio::spawn(health::watch(connections.clone(), reporter.clone())).abort_handle()];
        if let Some(limiter) = limiter.clone() {
            tasks.push(tokio::spawn(sweep(limiter)).abort_handle());
        }
        let access = AccessPolicy::new(verifier, limiter);
        let shares = Shares::new(settings, connections.most());
        gauges::report(connections, &shares);
        let guard = Guard::new(access, shares.clone(), settings);
        let reads = BatchReads {
            guard: guard.clone(),
            call_timeout: settings.call_timeout,
            turns: Arc::new(tokens::Turns::new()),
            affiliates: affiliates::single(connections, &shares.memory),
            urls: urls::single(connections, &shares.memory),
            cases: cases::single(connections, &shares.memory),
        };
        gauges::report_queue("reads of affiliates", reads.affiliates.queue_length());
        gauges::report_queue("reads of URLs", reads.urls.queue_length());
        gauges::report_queue("reads of cases", reads.cases.queue_length());
        let queues = Queues::new(connections.most());
        let affiliates = Affiliates::new(connections, reads.affiliates.clone(), &shares, &queues, settings);
        let affiliates = Arc::new(affiliates);
        let urls = Arc::new(ComplianceUrls::new(connections, reads.urls.clone(), &shares, &queues, settings));
        let (memory, limit) = (&shares.memory, settings.message_limit);
        let cases = Arc::new(ComplianceCases::new(connections, reads.cases.clone(), memory, limit));
        let monitoring = Arc::new(Monitoring::new(connections, &shares, &queues, settings));
        let clients = Clients {
            access: guarded(&guard, Arc::new(Access)),
            affiliates: guarded(&guard, Arc::clone(&affiliates)),
            urls: guarded(&guard, Arc::clone(&urls)),
            cases: guarded(&guard, Arc::clone(&cases)),
            health: guarded(&guard, Arc::new(health())),
            memory: Some(shares.memory.clone()),
        };
        let routes = Routes::new(sized!(settings, AffiliateServiceServer, affiliates))
            .add_service(sized!(settings, ComplianceUrlServiceServer, urls))
            .add_service(sized!(settings, ComplianceCaseServiceServer, cases))
            .add_service(sized!(settings, MonitoringServiceServer, monitoring))
            .add_service(AccessServiceServer::new(Access))
            // A batch of reads is small, and is decoded before its tokens are checked.
            .add_service(ReadServiceServer::new(reads).max_encoding_message_size(settings.message_limit))
            .add_service(HealthServer::new(health()))
            .add_service(reflection().build_v1()?)
            .add_service(reflection().build_v1alpha()?)
            .prepare();
        let services = Services::new(affiliates, urls, cases, routes, settings.message_limit);
        let connections = settings.connections.clone();
        Ok(Self { service: Guarded::new(guard, services), clients, reporter, connections, tasks })
    }

    /// Clients in this process. A call passes the same checks as one from the network.
    pub fn clients(&self) -> Clients {
        self.clients.clone()
    }

    /// Every service, for clients in this process that need the operations of `MonitoringService`.
    pub fn service(&self) -> CoreService {
        self.service.clone()
    }

    /// Serves the network until `shutdown`, then lets accepted calls finish.
    pub async fn serve(&self, listener: impl Into<Listener>, shutdown: CancellationToken) -> io::Result<()> {
        let app = App {
            name: "gRPC",
            protocols: Protocols::Http2,
            service: self.service.clone(),
            is_health_check: |path| path == HEALTH_CHECK,
            full: || Status::from(Error::overloaded()).into_http(),
            refuse: None,
            // Streams have times of their own.
            request_time: None,
        };
        let served = http_server::serve(listener, app, self.connections.clone(), shutdown.clone());
        let report = async {
            shutdown.cancelled().await;
            // Clients that watch the health learn of the end, and their streams end with it.
            for service in health::services() {
                self.reporter.set_service_status(service, ServingStatus::NotServing).await;
            }
            tokio::time::sleep(WATCHERS_TIME).await;
            for service in health::services() {
                self.reporter.clone().clear_service_status(service).await;
            }
        };
        tokio::join!(served, report).0
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

/// A service behind the guard, for a client in this process.
fn guarded<S>(guard: &Guard, service: Arc<S>) -> Arc<WithMiddleware<S, Guard>> {
    Arc::new(WithMiddleware::new(service, guard.clone()))
}

/// A generated server with the limit on messages: a whole batch is one message.
macro_rules! sized {
    ($settings:expr, $server:ident, $service:expr) => {
        $server::from_arc(Arc::clone(&$service))
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
