//! The service from start to shutdown: ports, database, keys and both tiers.

use std::{net::SocketAddr, path::Path, sync::Arc};

use anyhow::Context as _;
use compliance_api::token::{KeySource, Verifier};
use core_server::{Core, CoreSettings};
use rest_gateway::Settings;
use runtime::{Port, close_pool, refresh_keys, until_shutdown};
use sqlx::PgPool;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::{ServeArgs, greeting::Greeting};
use crate::{database::DatabaseServer, secret};

/// Serves until `shutdown`, then lets accepted requests finish and stops what was started.
pub(super) async fn serve(args: &ServeArgs, shutdown: CancellationToken) -> anyhow::Result<()> {
    // Wrong settings are reported before a database is created.
    let ports = Ports { rest: args.gateway.bind()?, grpc: args.core.bind()? };
    let given_keys = args.keys.source()?;
    let data_dir = args.data_dir.choose()?;
    let start = DatabaseServer::start(&args.database, &data_dir, args.core.database_connections);
    let Some(database) = until_shutdown(&shutdown, Box::pin(start)).await? else { return Ok(()) };
    let served = Box::pin(serve_over(&database, args, ports, given_keys, &data_dir, &shutdown)).await;
    let stopped = database.stop().await;
    served.and(stopped)
}

/// Serves over a database server that is running.
async fn serve_over(
    database: &DatabaseServer,
    args: &ServeArgs,
    ports: Ports,
    given_keys: Option<KeySource>,
    data_dir: &Path,
    shutdown: &CancellationToken,
) -> anyhow::Result<()> {
    let connect = database.connect(args.core.database_connections);
    let Some(pool) = until_shutdown(shutdown, Box::pin(connect)).await? else { return Ok(()) };
    let keys = given_keys.map_or_else(|| kept_secret(data_dir), Ok)?;
    let (secret, issuer) = (keys.secret.clone(), args.keys.issuer());
    let verifier = async { Ok(Verifier::new(keys, issuer.clone()).await?) };
    let Some(verifier) = until_shutdown(shutdown, verifier).await? else { return Ok(()) };
    if args.demo && fixtures::fill_demo(&pool).await? {
        tracing::info!(company = fixtures::DEMO_COMPANY, "the demo company was filled");
    }
    let tiers = Tiers::open(&pool, verifier, args, ports).await?;
    let (rest, grpc) = tiers.addresses()?;
    tracing::info!(%rest, %grpc, data = database.description(), "ready");
    if args.demo {
        Greeting { rest, grpc, data: database.description(), data_dir, secret: secret.as_ref(), issuer }.print();
    }
    tiers.serve(shutdown).await?;
    close_pool(&pool).await;
    tracing::info!("stopped");
    Ok(())
}

/// The secret in the data folder, created if there is none.
fn kept_secret(data_dir: &Path) -> anyhow::Result<KeySource> {
    let kept = secret::load_or_create(data_dir)?;
    if kept.created {
        tracing::info!(file = %kept.path.display(), "a secret to sign tokens with was created");
    }
    Ok(KeySource { secret: Some(kept.secret), ..KeySource::default() })
}

/// The bound ports of the service.
struct Ports {
    rest: Port,
    grpc: Port,
}

/// Both tiers, with their ports open.
struct Tiers {
    core: Core,
    router: axum::Router,
    settings: Settings,
    verifier: Arc<Verifier>,
    rest: TcpListener,
    grpc: TcpListener,
}

impl Tiers {
    async fn open(pool: &PgPool, verifier: Verifier, args: &ServeArgs, ports: Ports) -> anyhow::Result<Self> {
        let verifier = Arc::new(verifier);
        let settings = Settings::from(&args.gateway);
        let core = Core::new(pool, Arc::clone(&verifier), &CoreSettings::from(&args.core)).await;
        let core = core.context("the gRPC service cannot be set up")?;
        let router = rest_gateway::router(core.clients(), Arc::clone(&verifier), &settings);
        let (rest, grpc) = (ports.rest.listen()?, ports.grpc.listen()?);
        Ok(Self { core, router, settings, verifier, rest, grpc })
    }

    /// The addresses of REST and gRPC, with the ports that the system chose for port 0.
    fn addresses(&self) -> anyhow::Result<(SocketAddr, SocketAddr)> {
        Ok((self.rest.local_addr()?, self.grpc.local_addr()?))
    }

    /// Serves until `shutdown`. Both tiers then stop accepting at once and finish what they have accepted; REST's calls
    /// of the core do not depend on the gRPC port. If one tier fails, the other is stopped.
    async fn serve(self, shutdown: &CancellationToken) -> anyhow::Result<()> {
        let Self { core, router, settings, verifier, rest, grpc } = self;
        let _refresh = refresh_keys(&verifier);
        let rest = async {
            let served = rest_gateway::serve(rest, router, &settings, shutdown.clone()).await;
            shutdown.cancel();
            served.context("REST cannot be served any longer")
        };
        let grpc = async {
            let served = core.serve(grpc, shutdown.clone()).await;
            shutdown.cancel();
            served.context("gRPC cannot be served any longer")
        };
        let (rest, grpc) = tokio::join!(rest, grpc);
        rest.and(grpc)
    }
}
