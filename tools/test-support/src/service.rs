//! Runs the whole service in this process: a core, and gateways with a local and a remote core, each on its own port.

use std::{future::pending, net::SocketAddr, sync::Arc, thread, time::Duration};

use admission::Memory;
use core_server::{CompanyLimit, CoreSettings, GrpcConnections, WebhookSettings, access::RateLimit};
use rest_gateway::Settings;
use sqlx::{PgPool, postgres::PgConnectOptions};
use tokio::{
    net::TcpListener,
    runtime::Runtime,
    sync::{OnceCell, oneshot},
};
use tokio_util::sync::{CancellationToken, DropGuard};
use tonic::transport::{Channel, Endpoint};

use crate::{GrpcClients, RestClient, TestCore, fresh_database, test_core::DEADLINE, token, verifier, webhooks};

/// How a request reaches the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// REST, with the core in the gateway's process.
    Rest,
    /// REST, with the core across a network.
    RestRemote,
    /// gRPC.
    Grpc,
}

/// Options of a test service.
#[derive(Clone, Debug)]
pub struct Options {
    /// The rate limit per company. Off by default.
    pub rate_limit: RateLimit,
    /// Per-company limits. None by default.
    pub company_limits: Vec<CompanyLimit>,
    /// Both gateways' settings.
    pub settings: Settings,
    /// Maximum number of open lists, exports and streams per company.
    pub company_streams: usize,
    /// Call timeout in the core.
    pub call_timeout: Duration,
    /// Timeout for a record stream.
    pub list_timeout: Duration,
    /// Memory for requests in the core, in bytes.
    pub request_memory: usize,
    /// The core's maximum message size, in bytes.
    pub message_limit: usize,
    /// Maximum age of a connection to the core.
    pub max_connection_age: Duration,
    /// Webhook delivery. Off by default.
    pub webhooks: WebhookSettings,
}

impl Default for Options {
    fn default() -> Self {
        let core = CoreSettings::default();
        Self {
            rate_limit: RateLimit::Off,
            company_limits: Vec::new(),
            settings: Settings { request_timeout: DEADLINE, ..Settings::default() },
            company_streams: core.max_streams,
            call_timeout: DEADLINE,
            list_timeout: core.list_timeout,
            request_memory: core.request_memory,
            message_limit: core.message_limit,
            max_connection_age: core.connections.max_connection_age,
            webhooks: webhooks(false),
        }
    }
}

/// A service that runs until it is dropped.
#[derive(Debug)]
pub struct TestService {
    /// The test's connections to the service's database.
    pub pool: PgPool,
    /// The core's address.
    pub grpc: SocketAddr,
    /// The address of the gateway with the core in its process.
    pub rest: SocketAddr,
    /// The address of the gateway with the core across the network.
    pub rest_remote: SocketAddr,
    /// Memory for requests, shared by the core and the gateway in its process.
    pub memory: Memory,
    clients: [RestClient; 2],
    channel: OnceCell<Channel>,
    /// Ends the service, unless tests share it.
    _shutdown: Option<DropGuard>,
}

impl TestService {
    /// Starts a service without a rate limit, with a fresh database.
    pub async fn start() -> Self {
        Self::with(Options::default()).await
    }

    /// Returns the service that all tests of this program can share, each with its own companies. It has no rate limit.
    pub async fn shared() -> Self {
        static SHARED: OnceCell<TestService> = OnceCell::const_new();
        let start = async || {
            let (started, service) = oneshot::channel();
            // In a separate thread, because the service outlives the first test.
            thread::spawn(|| {
                Runtime::new().unwrap().block_on(async {
                    let service = Self::start().await;
                    // The service's IDs differ from all IDs that tests choose.
                    let sequences = "select setval(oid::regclass, 1000000) from pg_class
                        where relkind = 'S' and relnamespace = 'public'::regnamespace";
                    sqlx::raw_sql(sequences).execute(&service.pool).await.unwrap();
                    let _ = started.send(service);
                    pending::<()>().await;
                });
            });
            service.await.expect("cannot start the shared service")
        };
        let Self { pool, grpc, rest, rest_remote, memory, .. } = SHARED.get_or_init(start).await;
        // Connections belong to the runtime of their test.
        let pool = pool.options().clone().connect_lazy_with((*pool.connect_options()).clone());
        Self::at(pool, *grpc, [*rest, *rest_remote], memory.clone(), None)
    }

    /// Starts a service with a fresh database.
    pub async fn with(options: Options) -> Self {
        Self::over(fresh_database().await.options, options).await
    }

    /// Starts a service with this database.
    pub async fn over(database: PgConnectOptions, options: Options) -> Self {
        let settings = CoreSettings {
            rate_limit: options.rate_limit,
            company_limits: options.company_limits,
            call_timeout: options.call_timeout,
            list_timeout: options.list_timeout,
            request_memory: options.request_memory,
            message_limit: options.message_limit,
            connections: GrpcConnections {
                max_connection_age: options.max_connection_age,
                ..CoreSettings::default().connections
            },
            max_streams: options.company_streams,
            webhooks: options.webhooks,
            ..CoreSettings::default()
        };
        let TestCore { pool, core } = TestCore::with_settings(database, 16, settings).await;
        let core = Arc::new(core);
        let memory = core.memory();
        let shutdown = CancellationToken::new();

        let listener = listener().await;
        let grpc = listener.local_addr().unwrap();
        let (serving, end) = (Arc::clone(&core), shutdown.clone());
        tokio::spawn(async move { serving.serve(listener, end).await });

        let remote = rest_gateway::remote(&format!("http://{grpc}"), &options.settings).unwrap();
        let mut addresses = Vec::new();
        for (clients, memory) in [(core.clients(), Some(memory.clone())), (remote, None)] {
            let router = rest_gateway::router(clients, memory, verifier().await, &options.settings);
            let listener = self::listener().await;
            addresses.push(listener.local_addr().unwrap());
            let (settings, end) = (options.settings.clone(), shutdown.clone());
            tokio::spawn(async move { rest_gateway::serve(listener, router, &settings, end).await });
        }
        Self::at(pool, grpc, [addresses[0], addresses[1]], memory, Some(shutdown.drop_guard()))
    }

    fn at(pool: PgPool, grpc: SocketAddr, rest: [SocketAddr; 2], memory: Memory, shutdown: Option<DropGuard>) -> Self {
        let clients = rest.map(|address| RestClient::new(address, None));
        let [rest, rest_remote] = rest;
        Self { pool, grpc, rest, rest_remote, memory, clients, channel: OnceCell::new(), _shutdown: shutdown }
    }

    /// Returns a company's REST client. All companies share the connections.
    pub fn rest(&self, company: i64) -> RestClient {
        self.clients[0].with_token(Some(token(company)))
    }

    /// Returns a company's REST client for the gateway with the core across the network.
    pub fn rest_remote(&self, company: i64) -> RestClient {
        self.clients[1].with_token(Some(token(company)))
    }

    /// Returns a company's gRPC clients. All companies share one connection.
    pub async fn grpc(&self, company: i64) -> GrpcClients {
        let endpoint = Endpoint::from_shared(format!("http://{}", self.grpc)).unwrap();
        let channel = self.channel.get_or_init(async || endpoint.connect().await.unwrap()).await;
        GrpcClients::over(channel.clone(), &token(company))
    }
}

async fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").await.unwrap()
}
