//! `compliance serve`: the whole service in one process, from start to shutdown: ports, database, keys and both tiers.

mod greeting;

use std::{error::Error, path::Path, process::ExitCode, sync::Arc};

use anyhow::Context as _;
use clap::Args;
use compliance_api::{
    BUILD_PROFILE,
    token::{KeySource, Secret, Verifier},
};
use core_server::{Core, CoreSettings};
use http_server::Listener;
use rest_gateway::Settings;
use runtime::{
    Certificates, CoreArgs, DatabaseUrlArgs, Descriptors, GatewayArgs, GrpcTlsArgs, KeyArgs, Port, RestTlsArgs,
    Telemetry, TelemetryArgs, TlsRefreshArgs, close_pool, until_shutdown,
};
use tls::ServerTls;
use tokio_util::sync::CancellationToken;

use self::greeting::Greeting;
use crate::{data_dir::DataDirArgs, database::DatabaseServer, secret};

/// Run the whole service in one process: REST, gRPC and, without --database-url, PostgreSQL.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  compliance serve --data-dir /var/lib/compliance --rest-addr 0.0.0.0:8080
  DATABASE_URL=postgres://compliance:…@db/compliance compliance serve
  compliance serve --config compliance.toml --print-config")]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    database: DatabaseUrlArgs,
    #[command(flatten)]
    data_dir: DataDirArgs,
    /// Create demo records for company 1 if it has no affiliates, and print commands to try.
    #[arg(long)]
    demo: bool,
    #[command(flatten, next_help_heading = "Core")]
    core: CoreArgs,
    #[command(flatten, next_help_heading = "Tokens")]
    keys: KeyArgs,
    #[command(flatten, next_help_heading = "REST")]
    gateway: GatewayArgs,
    #[command(flatten)]
    rest_tls: RestTlsArgs,
    #[command(flatten)]
    grpc_tls: GrpcTlsArgs,
    #[command(flatten)]
    tls_refresh: TlsRefreshArgs,
    #[command(flatten)]
    telemetry: TelemetryArgs,
}

pub(super) fn run(args: &ServeArgs) -> anyhow::Result<ExitCode> {
    runtime::serve_until_signal(|shutdown| Box::pin(serve(args, shutdown)))
}

/// Serves until `shutdown`, then lets accepted requests finish and stops what was started.
async fn serve(args: &ServeArgs, shutdown: CancellationToken) -> anyhow::Result<()> {
    // Wrong settings are reported before a database is created.
    let given_database = args.database.options()?;
    let Some(given_keys) = until_shutdown(&shutdown, args.keys.given()).await? else { return Ok(()) };
    let certificates = [args.rest_tls.load()?, args.grpc_tls.load()?];
    let ports = (args.gateway.bind()?, args.core.bind()?);
    let _telemetry = Telemetry::start(&args.telemetry, "compliance")?;
    let data_dir = args.data_dir.choose()?;
    let start = DatabaseServer::start(given_database, &data_dir, args.core.database_connections);
    let Some(database) = until_shutdown(&shutdown, Box::pin(start)).await? else { return Ok(()) };
    let served = Box::pin(serve_over(&database, args, ports, certificates, given_keys, &data_dir, &shutdown)).await;
    let stopped = database.stop().await;
    served.and(stopped)
}

/// Serves over a database server that is running, with the ports of REST and gRPC.
async fn serve_over(
    database: &DatabaseServer,
    args: &ServeArgs,
    ports: (Port, Port),
    certificates: [Option<ServerTls>; 2],
    given_keys: Option<(Option<Secret>, Arc<Verifier>)>,
    data_dir: &Path,
    shutdown: &CancellationToken,
) -> anyhow::Result<()> {
    let connect = database.connect(args.core.database_connections);
    let Some(pool) = until_shutdown(shutdown, Box::pin(connect)).await? else { return Ok(()) };
    let issuer = args.keys.issuer();
    let (secret, verifier) = if let Some(keys) = given_keys {
        keys
    } else {
        let secret = secret::load_or_create(data_dir)?;
        let keys = KeySource { secret: Some(secret.clone()), ..KeySource::default() };
        (Some(secret), Arc::new(Verifier::new(keys, issuer.clone()).await?))
    };
    core_server::database::warn_if_owner(&pool).await;
    if args.demo && fixtures::fill_demo(&pool).await? {
        tracing::info!(company = fixtures::DEMO_COMPANY, "the demo company was filled");
    }
    let mut settings = Settings::from(&args.gateway);
    let mut core_settings = CoreSettings::from(&args.core);
    let (descriptors, others) = (Descriptors::raise(), args.core.database_connections as usize);
    descriptors.bound("REST", &mut settings.connections, 2, others);
    descriptors.bound("gRPC", &mut core_settings.connections, 2, others);
    let core = Core::new(&pool, Arc::clone(&verifier), &core_settings).await;
    let core = core.context("the gRPC service cannot be set up")?;
    let router = rest_gateway::router(core.clients(), Arc::clone(&verifier), &settings);
    let _refresh = args.keys.refresh(&verifier);

    let _certificates = Certificates::keep(&args.tls_refresh, &certificates, None);
    let [rest_tls, grpc_tls] = certificates;
    let rest_listener = Listener::new(ports.0.listen()?, rest_tls);
    let grpc_listener = Listener::new(ports.1.listen()?, grpc_tls);
    let (rest, grpc) = (rest_listener.local_addr()?, grpc_listener.local_addr()?);
    tracing::info!(%rest, %grpc, data = database.description, profile = BUILD_PROFILE, "ready");
    if args.demo {
        Greeting { rest, grpc, data: &database.description, data_dir, secret: secret.as_ref(), issuer }.print();
    }
    // After a shutdown both tiers stop accepting at once and finish what they have accepted. REST's calls of the core do
    // not depend on the gRPC port.
    let (rest, grpc) = tokio::join!(
        serve_tier("REST", rest_gateway::serve(rest_listener, router, &settings, shutdown.clone()), shutdown),
        serve_tier("gRPC", core.serve(grpc_listener, shutdown.clone()), shutdown),
    );
    rest.and(grpc)?;
    // The health check uses the pool until the core is dropped.
    drop(core);
    close_pool(&pool).await;
    tracing::info!("stopped");
    Ok(())
}

/// Serves one tier. If it fails, the other is stopped.
async fn serve_tier<E: Error + Send + Sync + 'static>(
    name: &str,
    tier: impl Future<Output = Result<(), E>>,
    shutdown: &CancellationToken,
) -> anyhow::Result<()> {
    let served = tier.await;
    shutdown.cancel();
    served.with_context(|| format!("{name} cannot be served any longer"))
}
