//! `compliance core`: the gRPC tier alone.

use std::{process::ExitCode, sync::Arc};

use anyhow::Context as _;
use clap::Args;
use compliance_api::{BUILD_PROFILE, token::Verifier};
use core_server::{Core, CoreSettings};
use http_server::Listener;
use runtime::{
    Certificates, CoreArgs, Descriptors, GrpcTlsArgs, KeyArgs, RequiredDatabaseArgs, Telemetry, TelemetryArgs,
    TlsRefreshArgs, close_pool, until_shutdown,
};
use sqlx::{PgPool, postgres::PgConnectOptions};
use tokio_util::sync::CancellationToken;

/// Run the core alone: gRPC over PostgreSQL, for gateways and internal services.
#[derive(Args, Debug)]
#[command(after_help = "Example:
  DATABASE_URL=postgres://compliance:…@db/compliance compliance core --grpc-addr 0.0.0.0:50051 --jwks-url https://issuer/keys")]
pub(crate) struct CoreTierArgs {
    #[command(flatten)]
    database: RequiredDatabaseArgs,
    /// Migrate the database's schema first; without it, an outdated schema is rejected.
    #[arg(long)]
    migrate: bool,
    #[command(flatten, next_help_heading = "Core")]
    core: CoreArgs,
    #[command(flatten, next_help_heading = "Tokens")]
    keys: KeyArgs,
    #[command(flatten)]
    grpc_tls: GrpcTlsArgs,
    #[command(flatten)]
    tls_refresh: TlsRefreshArgs,
    #[command(flatten)]
    telemetry: TelemetryArgs,
}

pub(super) fn run(args: &CoreTierArgs) -> anyhow::Result<ExitCode> {
    runtime::serve_until_signal(|shutdown| Box::pin(serve(args, shutdown)))
}

async fn serve(args: &CoreTierArgs, shutdown: CancellationToken) -> anyhow::Result<()> {
    let database = args.database.options()?;
    let tls = args.grpc_tls.load()?;
    let port = args.core.bind()?;
    let _telemetry = Telemetry::start(&args.telemetry, "compliance-core")?;
    let Some((verifier, pool)) = until_shutdown(&shutdown, prepare(args, database)).await? else { return Ok(()) };
    let mut settings = CoreSettings::from(&args.core);
    Descriptors::raise().bound("gRPC", &mut settings.connections, 1, args.core.database_connections as usize);
    let core = Core::new(&pool, Arc::clone(&verifier), &settings).await;
    let core = core.context("the gRPC service cannot be set up")?;
    let _refresh = args.keys.refresh(&verifier);
    let _certificates = Certificates::keep(&args.tls_refresh, [&tls], None);
    let listener = Listener::new(port.listen()?, tls);
    tracing::info!(grpc = %listener.local_addr()?, profile = BUILD_PROFILE, "ready");
    core.serve(listener, shutdown).await.context("gRPC cannot be served any longer")?;
    // The health check uses the pool until the core is dropped.
    drop(core);
    close_pool(&pool).await;
    tracing::info!("stopped");
    Ok(())
}

async fn prepare(args: &CoreTierArgs, database: PgConnectOptions) -> anyhow::Result<(Arc<Verifier>, PgPool)> {
    let verifier = args.keys.verifier().await?;
    let pool = core_server::database::connect(database, args.core.database_connections).await?;
    if args.migrate {
        core_server::database::migrate(&pool).await?;
    }
    core_server::database::check_migrated(&pool).await?;
    core_server::database::warn_if_owner(&pool).await;
    Ok((verifier, pool))
}
