//! Serves all core services to network clients and in-process clients.

mod batch_read;
mod call;
mod health;
mod network;
mod pipeline;
mod protocol;
mod receive;
mod tokens;

use std::{io, sync::Arc, time::Duration};

use admission::Memory;
use batch_read::BatchReads;
use compliance_api::{
    FILE_DESCRIPTOR_SET,
    client::{Clients, WithMiddleware},
    token::Verifier,
    v1,
};
use http_server::{App, ConnectionLimits, Listener};
use network::NetworkService;
use pipeline::Pipeline;
use storage::{
    database::{Connections, Database, restores},
    error::text,
    table::SchemaError,
    writes::Queues,
};
use telemetry::background::{Task, supervise};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tonic::service::Routes;
use tonic_health::{
    ServingStatus,
    pb::health_server::HealthServer,
    server::{HealthReporter, HealthService},
};

use crate::{
    CompanyLimit, CoreSettings, Limit,
    access::{Access, AccessPolicy, Limiters},
    affiliates::{self, Affiliates, Syncs},
    backend::Backend,
    cases::{self, ComplianceCases},
    changes::{self, ChangesService},
    erasure::Erasures,
    gauges,
    monitoring::Monitoring,
    overview::Overviews,
    quotas::Quotas,
    schema,
    urls::{self, ComplianceUrls},
    webhooks::{self, Sender, Webhooks},
};

pub use health::unready;

/// How long clients can still read the "not serving" status after the port closes.
const WATCHERS_TIME: Duration = Duration::from_millis(250);
/// Interval between runs that create and drop monthly partitions. Each partition is created one month ahead.
const UPKEEP_INTERVAL: Duration = Duration::from_mins(10);
/// Interval at which the rate limiter evicts idle companies.
const RATE_LIMIT_SWEEP: Duration = Duration::from_mins(1);

/// All services as one tower service.
pub type CoreService = NetworkService<Routes>;

/// Errors that prevent the service from starting.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The schema does not match this version.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// The reflection service failed to start.
    #[error("cannot start gRPC reflection: {0}")]
    Reflection(#[from] tonic_reflection::server::Error),
    /// The restore check failed, or positions could not be advanced after a restore.
    #[error("cannot check whether the database was restored{advice}: {}", text(.0), advice = advice(.0))]
    Restored(sqlx::Error),
    /// The database keeps changes for less time than this core requires.
    #[error(
        "--change-retention (COMPLIANCE_CHANGE_RETENTION) is {expected} days, but the database keeps changes for only {kept}: \
         run `compliance migrate --change-retention {expected}` as the owner of the tables, or remove the setting"
    )]
    Retention {
        /// The core's setting, in days.
        expected: i32,
        /// The owner's setting, in days.
        kept: i32,
    },
    /// The change retention could not be read.
    #[error("cannot read the change retention: {}", text(.0))]
    ReadRetention(sqlx::Error),
    /// The CA file for webhooks cannot be used.
    #[error("cannot use the --webhook-ca file: {0}")]
    WebhookAuthorities(String),
}

impl StartError {
    /// Returns whether an operator must change the schema or a setting. A retry cannot help.
    pub fn is_wrong_setting(&self) -> bool {
        matches!(self, Self::Schema(SchemaError::Differs(_)) | Self::Retention { .. } | Self::WebhookAuthorities(_))
    }
}

/// Returns advice on a failed restore check. Without a response from the database, a jump of the positions would be useless.
fn advice(error: &sqlx::Error) -> &'static str {
    match error.as_database_error() {
        // object_not_in_prerequisite_state: the database lacks its identity.
        Some(error) if error.code().is_some_and(|code| code == "55000") => "; restore the whole backup again",
        Some(_) => "; run `compliance restored` as the owner of the tables",
        None => "",
    }
}

/// The core, backed by a database.
#[derive(Debug)]
pub struct Core {
    service: CoreService,
    clients: Clients,
    reporter: HealthReporter,
    backend: Arc<Backend>,
    sender: Sender,
    /// Background tasks, which end with the core.
    tasks: JoinSet<()>,
}

impl Core {
    /// Creates a core over a migrated database, after checking its tables and input types.
    ///
    /// The core writes only what its callers request. A serving process also calls [`with_background`](Self::with_background).
    pub async fn new(
        database: impl Into<Database>,
        verifier: Arc<Verifier>,
        settings: &CoreSettings,
    ) -> Result<Self, StartError> {
        let database = database.into();
        let connections = Connections::open(&database, schema::expected(), &schema::SCHEMA).await?;
        restores::start(&database.pool).await.map_err(StartError::Restored)?;
        check_retention(&connections, settings).await?;
        let (reporter, _) = tonic_health::server::health_reporter();
        let health = || HealthService::from_health_reporter(reporter.clone());
        let rate = |limit| if let Limit::Rate(rate) = limit { Some(rate) } else { None };
        let rates = CompanyLimit::by_company(&settings.company_limits, rate);
        let limiters = Arc::new(Limiters::new(settings.rate_limit, rates));
        let mut tasks = JoinSet::new();
        let watched = (connections.clone(), reporter.clone());
        tasks.spawn(supervise("health", move |task| health::watch(watched.0.clone(), watched.1.clone(), task)));
        connections.watch_database(&mut tasks);
        let swept = Arc::clone(&limiters);
        tasks.spawn(supervise("rate limit sweep", move |task| sweep(Arc::clone(&swept), task)));
        let access = AccessPolicy::new(verifier, limiters);
        let quotas = Quotas::new(settings, connections.most());
        let backend = Arc::new(Backend {
            affiliates: affiliates::single(&connections, &quotas.memory),
            urls: urls::single(&connections, &quotas.memory),
            cases: cases::single(&connections, &quotas.memory),
            queues: Queues::new(connections.most()),
            settings: settings.clone(),
            pool: connections,
            quotas,
        });
        gauges::report(&backend.pool, &backend.quotas);
        let pipeline = Pipeline::new(access, backend.quotas.clone(), settings);
        let sender = Sender::new(&settings.webhooks).map_err(StartError::WebhookAuthorities)?;
        let (limit, mut routes) = (settings.message_limit, Routes::builder());
        // Adds a network service with messages of up to `limit` bytes and creates its in-process client.
        macro_rules! serve {
            ($module:ident::$server:ident, $service:expr $(, $limit:ident)?) => {{
                let service = Arc::new($service);
                let server = v1::$module::$server::from_arc(Arc::clone(&service));
                $(let server = server.max_decoding_message_size($limit).max_encoding_message_size($limit);)?
                routes.add_service(server);
                Arc::new(WithMiddleware { service, middleware: pipeline.clone() })
            }};
        }
        let (changes, monitoring) = (ChangesService::new(&backend), Monitoring::new(&backend));
        let syncs = Syncs(Arc::clone(&backend));
        let rosters = v1::affiliate_roster_service_server::AffiliateRosterServiceServer::new(syncs.clone());
        let clients = Clients {
            access: serve!(access_service_server::AccessServiceServer, Access),
            affiliates: serve!(affiliate_service_server::AffiliateServiceServer, Affiliates::new(&backend), limit),
            urls: serve!(
                compliance_url_service_server::ComplianceUrlServiceServer,
                ComplianceUrls::new(&backend),
                limit
            ),
            cases: serve!(
                compliance_case_service_server::ComplianceCaseServiceServer,
                ComplianceCases(Arc::clone(&backend)),
                limit
            ),
            syncs: serve!(affiliate_sync_service_server::AffiliateSyncServiceServer, syncs, limit),
            overview: serve!(overview_service_server::OverviewServiceServer, Overviews(Arc::clone(&backend))),
            monitoring: serve!(monitoring_service_server::MonitoringServiceServer, monitoring.clone(), limit),
            vocabularies: serve!(vocabulary_service_server::VocabularyServiceServer, monitoring, limit),
            changes: serve!(change_service_server::ChangeServiceServer, changes.clone(), limit),
            audit: serve!(audit_service_server::AuditServiceServer, changes, limit),
            erasures: serve!(erasure_service_server::ErasureServiceServer, Erasures(Arc::clone(&backend))),
            webhooks: serve!(webhook_service_server::WebhookServiceServer, Webhooks::new(&backend, &sender)),
            health: Arc::new(WithMiddleware { service: Arc::new(health()), middleware: pipeline.clone() }),
        };
        let reads = v1::read_service_server::ReadServiceServer::new(BatchReads::new(&pipeline, &backend));
        routes
            .add_service(rosters.max_decoding_message_size(limit).max_encoding_message_size(limit))
            // Batch reads keep the default limit, because they are decoded before their tokens are checked.
            .add_service(reads.max_encoding_message_size(limit))
            .add_service(HealthServer::new(health()))
            .add_service(reflection().build_v1()?)
            .add_service(reflection().build_v1alpha()?);
        let service = NetworkService::new(pipeline, routes.routes().prepare());
        Ok(Self { service, clients, reporter, backend, sender, tasks })
    }

    /// Starts the tasks that write without a caller: retention and webhook delivery.
    ///
    /// Call this only in a serving process. Commands lack the retention and delivery settings.
    #[must_use]
    pub fn with_background(mut self) -> Self {
        let (settings, pool) = (&self.backend.settings, self.backend.pool.clone());
        let expected = settings.change_retention;
        let keep = move |task| changes::keep(pool.clone(), UPKEEP_INTERVAL, expected, task);
        self.tasks.spawn(supervise("retention", keep));
        if !settings.webhooks.no_delivery {
            webhooks::start(&mut self.tasks, &self.backend, &self.sender);
        }
        self
    }

    /// Returns in-process clients. Their calls pass the same checks as network calls.
    pub fn clients(&self) -> Clients {
        self.clients.clone()
    }

    /// Returns the request memory, for an in-process gateway.
    pub fn memory(&self) -> Memory {
        self.backend.quotas.memory.clone()
    }

    /// Returns all services, for in-process clients that need `MonitoringService`.
    pub fn service(&self) -> CoreService {
        self.service.clone()
    }

    /// Serves network calls until `shutdown` is cancelled, and then finishes accepted calls.
    pub async fn serve(&self, listener: impl Into<Listener>, shutdown: CancellationToken) -> io::Result<()> {
        let app = App { name: "gRPC", http1: false, service: self.service.clone() };
        let connections = ConnectionLimits::from(&self.backend.settings.connections);
        let report_time = connections.shutdown_delay + WATCHERS_TIME;
        let served = http_server::serve(listener, app, connections, shutdown.clone());
        let report = async {
            shutdown.cancelled().await;
            // Notifies health watchers, and then ends their streams.
            for service in health::services() {
                self.reporter.set_service_status(service, ServingStatus::NotServing).await;
            }
            tokio::time::sleep(report_time).await;
            for service in health::services() {
                self.reporter.clone().clear_service_status(service).await;
            }
        };
        tokio::join!(served, report).0
    }
}

/// Fails if the database drops changes that this core must keep.
async fn check_retention(connections: &Connections, settings: &CoreSettings) -> Result<(), StartError> {
    let Some(expected) = settings.change_retention else { return Ok(()) };
    let kept = changes::kept_days(connections).await.map_err(StartError::ReadRetention)?;
    if expected > kept {
        return Err(StartError::Retention { expected, kept });
    }
    if expected < kept {
        tracing::warn!(
            expected,
            kept,
            "the database keeps changes for longer than --change-retention requires: to save space, run \
             `compliance migrate --change-retention …` once no core needs more"
        );
    }
    Ok(())
}

fn reflection<'a>() -> tonic_reflection::server::Builder<'a> {
    tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(FILE_DESCRIPTOR_SET)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        // The messages in error details.
        .register_encoded_file_descriptor_set(tonic_types::pb::FILE_DESCRIPTOR_SET)
}

async fn sweep(limiters: Arc<Limiters>, task: Arc<Task>) {
    loop {
        tokio::time::sleep(RATE_LIMIT_SWEEP).await;
        limiters.sweep();
        task.succeeded();
    }
}

#[cfg(test)]
mod tests {
    use futures::stream;
    use tonic_reflection::pb::v1::{
        ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
        server_reflection_request::MessageRequest, server_reflection_response::MessageResponse,
    };

    use super::reflection;

    #[tokio::test]
    async fn reflection_describes_error_details() {
        let mut client = ServerReflectionClient::new(reflection().build_v1().unwrap());
        for detail in ["ErrorInfo", "BadRequest", "RetryInfo"] {
            let symbol = MessageRequest::FileContainingSymbol(format!("google.rpc.{detail}"));
            let request = ServerReflectionRequest { host: String::new(), message_request: Some(symbol) };
            let mut responses = client.server_reflection_info(stream::iter([request])).await.unwrap().into_inner();
            let response = responses.message().await.unwrap().unwrap().message_response;
            assert!(matches!(response, Some(MessageResponse::FileDescriptorResponse(_))), "{detail}: {response:?}");
        }
    }
}
