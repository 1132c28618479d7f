//! The life of the service: ports, database, keys, both layers; and the same backwards.

use std::{net::SocketAddr, path::Path, sync::Arc, time::Duration};

use anyhow::Context as _;
use compliance_api::token::{KeySource, Verifier};
use core_server::Core;
use sqlx::PgPool;
use tokio_util::sync::CancellationToken;

use super::{ServeArgs, database::Database, greeting::Greeting, keys, ports::Port};
use crate::demo;

/// How long connections to the database may take to be handed back at the end.
const CLOSE_LIMIT: Duration = Duration::from_secs(10);

/// Serves until `shutdown`, then lets accepted requests finish, and stops what was started.
pub(super) async fn run(args: &ServeArgs, shutdown: &CancellationToken) -> anyhow::Result<()> {
    // What can be wrong on the command line is told before a database is made.
    let ports = Ports::take(args)?;
    let given_keys = keys::given(&args.tokens)?;
    let data_dir = args.data_dir.choose()?;
    let Some(database) = unless(shutdown, Box::pin(Database::start(args, &data_dir))).await? else { return Ok(()) };
    let served = Box::pin(over(&database, args, ports, given_keys, &data_dir, shutdown)).await;
    let stopped = database.stop().await;
    served.and(stopped)
}

/// Serves over a database that has been started.
async fn over(
    database: &Database,
    args: &ServeArgs,
    ports: Ports,
    given_keys: Option<KeySource>,
    data_dir: &Path,
    shutdown: &CancellationToken,
) -> anyhow::Result<()> {
    let opened = unless(shutdown, Box::pin(database.open(args.core.database_connections))).await?;
    let Some(pool) = opened else { return Ok(()) };
    let keys = given_keys.map_or_else(|| keys::own(data_dir), Ok)?;
    let secret = keys.secret.clone();
    let issuer = args.tokens.issuer.clone().filter(|issuer| !issuer.is_empty());
    let Some(verifier) = unless(shutdown, async { Ok(Verifier::new(keys, issuer.clone()).await?) }).await? else {
        return Ok(());
    };
    if args.demo && demo::fill(&pool).await? {
        tracing::info!(company = demo::COMPANY, "the demo company was filled");
    }
    let serving = Serving::start(&pool, verifier, args, ports)?;
    let Addresses { rest, grpc } = serving.addresses;
    tracing::info!(%rest, %grpc, data = database.place(), "ready");
    if args.demo {
        Greeting { rest, grpc, place: database.place(), data_dir, secret: secret.as_ref(), issuer }.print();
    }
    serving.until(shutdown).await?;
    if tokio::time::timeout(CLOSE_LIMIT, pool.close()).await.is_err() {
        tracing::warn!("connections to the database were not handed back and are cut off");
    }
    Ok(())
}

/// Does something unless, or until, `shutdown` comes.
async fn unless<T>(
    shutdown: &CancellationToken,
    doing: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<Option<T>> {
    shutdown.run_until_cancelled(doing).await.transpose()
}

/// The two ports of the service.
struct Ports {
    rest: Port,
    grpc: Port,
}

impl Ports {
    fn take(args: &ServeArgs) -> anyhow::Result<Self> {
        Ok(Self {
            rest: Port::take(args.rest_addr, "--rest-addr", "COMPLIANCE_REST_ADDR")?,
            grpc: Port::take(args.core.grpc_addr, "--grpc-addr", "COMPLIANCE_GRPC_ADDR")?,
        })
    }
}

/// The addresses in use: those asked for, with the number of the port when any was asked for.
#[derive(Clone, Copy)]
struct Addresses {
    rest: SocketAddr,
    grpc: SocketAddr,
}

/// Both layers, with their ports open.
struct Serving {
    core: Core,
    router: axum::Router,
    settings: rest_gateway::Settings,
    rest: tokio::net::TcpListener,
    grpc: tokio::net::TcpListener,
    addresses: Addresses,
}

impl Serving {
    fn start(pool: &PgPool, verifier: Verifier, args: &ServeArgs, ports: Ports) -> anyhow::Result<Self> {
        let verifier = Arc::new(verifier);
        let settings = rest_gateway::Settings::from(&args.gateway);
        let core = Core::new(pool, Arc::clone(&verifier), &args.core).context("the gRPC service cannot be set up")?;
        let router = rest_gateway::router(rest_gateway::Core::in_process(core.service()), verifier, &settings);
        let (rest, grpc) = (ports.rest.open()?, ports.grpc.open()?);
        let addresses = Addresses { rest: rest.local_addr()?, grpc: grpc.local_addr()? };
        Ok(Self { core, router, settings, rest, grpc, addresses })
    }

    /// Serves until `shutdown`. Both layers stop accepting at once and finish what they have accepted; REST's calls of
    /// the core do not depend on the gRPC port. When one fails, the other is stopped.
    async fn until(self, shutdown: &CancellationToken) -> anyhow::Result<()> {
        let Self { core, router, settings, rest, grpc, .. } = self;
        let rest = async {
            let ended = rest_gateway::serve(rest, router, &settings, shutdown.clone()).await;
            shutdown.cancel();
            ended.context("REST cannot be served any longer")
        };
        let grpc = async {
            let ended = core.serve(grpc, shutdown.clone()).await;
            shutdown.cancel();
            ended.context("gRPC cannot be served any longer")
        };
        let (rest, grpc) = tokio::join!(rest, grpc);
        rest.and(grpc)
    }
}
