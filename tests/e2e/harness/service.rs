//! The whole service in this process: core and gateway, both topologies, every one on a port of its own.

use std::{net::SocketAddr, sync::Arc};

use compliance_api::token::{KeySource, Verifier};
use core_server::{Core, access::RateLimit, config::CoreArgs};
use rest_gateway::Settings;
use sqlx::{PgPool, postgres::PgConnectOptions};
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{Grpc, Rest, fresh_database, secret, token};

/// How a request gets to the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layer {
    /// REST, with the core in the gateway's process.
    Rest,
    /// REST, with the core across a network.
    RestRemote,
    /// gRPC.
    Grpc,
}

/// What a test may want to be otherwise.
pub(crate) struct Options {
    pub(crate) rate_limit: RateLimit,
    pub(crate) settings: Settings,
}

impl Default for Options {
    fn default() -> Self {
        Self { rate_limit: RateLimit::Off, settings: Settings::default() }
    }
}

/// A service that runs until it is dropped.
pub(crate) struct Service {
    /// Connections of the test's own to the service's database.
    pub(crate) pool: PgPool,
    pub(crate) grpc: SocketAddr,
    /// The gateway with the core in process.
    pub(crate) rest: SocketAddr,
    /// The gateway with the core across the network.
    pub(crate) rest_remote: SocketAddr,
    _shutdown: DropGuard,
}

impl Service {
    /// Over a fresh database, without a rate limit.
    pub(crate) async fn start() -> Self {
        Self::with(Options::default()).await
    }

    /// Over a fresh database.
    pub(crate) async fn with(options: Options) -> Self {
        let (database, _) = fresh_database().await;
        Self::over(database, options).await
    }

    /// Over a database.
    pub(crate) async fn over(database: PgConnectOptions, options: Options) -> Self {
        let pool = core_server::database::connect(database, 16).await.unwrap();
        let source = KeySource { secret: Some(secret()), ..KeySource::default() };
        let verifier = Arc::new(Verifier::new(source, None).await.unwrap());
        let core = Arc::new(Core::new(&pool, Arc::clone(&verifier), &core_args(options.rate_limit)).unwrap());
        let shutdown = CancellationToken::new();

        let listener = listener().await;
        let grpc = listener.local_addr().unwrap();
        let (serving, end) = (Arc::clone(&core), shutdown.clone());
        tokio::spawn(async move { serving.serve(listener, end).await });

        let remote = rest_gateway::remote(&format!("http://{grpc}"), &options.settings).unwrap();
        let mut addresses = Vec::new();
        for core in [rest_gateway::Core::in_process(core.service()), remote] {
            let router = rest_gateway::router(core, Arc::clone(&verifier), &options.settings);
            let listener = self::listener().await;
            addresses.push(listener.local_addr().unwrap());
            let (settings, end) = (options.settings.clone(), shutdown.clone());
            tokio::spawn(async move { rest_gateway::serve(listener, router, &settings, end).await });
        }
        Self { pool, grpc, rest: addresses[0], rest_remote: addresses[1], _shutdown: shutdown.drop_guard() }
    }

    /// A REST client for a company.
    pub(crate) fn rest(&self, company: i64) -> Rest {
        Rest::new(self.rest, Some(token(company)))
    }

    /// A REST client for a company, by way of the gateway whose core is across the network.
    pub(crate) fn rest_remote(&self, company: i64) -> Rest {
        Rest::new(self.rest_remote, Some(token(company)))
    }

    /// gRPC clients for a company.
    pub(crate) async fn grpc(&self, company: i64) -> Grpc {
        Grpc::new(self.grpc, &token(company)).await
    }
}

async fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").await.unwrap()
}

fn core_args(rate_limit: RateLimit) -> CoreArgs {
    CoreArgs {
        grpc_addr: SocketAddr::from(([127, 0, 0, 1], 0)),
        rate_limit,
        database_connections: 16,
        max_in_flight: 4096,
        call_timeout: 60,
        list_timeout: 600,
        message_limit: 64 << 20,
    }
}
