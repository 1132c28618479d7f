//! `compliance core`: the gRPC tier alone.

use std::{process::ExitCode, sync::Arc};

use anyhow::Context as _;
use clap::Args;
use compliance_api::BUILD_PROFILE;
use core_server::{Core, CoreSettings, database};
use runtime::{
    CoreArgs, DatabaseUrlArgs, Descriptors, GrpcTlsArgs, KeyArgs, StartArgs, TelemetryArgs, TlsRefreshArgs, close_pool,
};
use tokio_util::sync::CancellationToken;

use crate::start::{ServicePort, wait_for};

/// Run the core alone: gRPC over PostgreSQL, for gateways and internal services.
#[derive(Args, Debug)]
#[command(after_help = "Example:
  DATABASE_URL=postgres://compliance:…@db/compliance compliance core --grpc-addr 0.0.0.0:50051 --jwks-url https://issuer/keys")]
pub(crate) struct CoreTierArgs {
    #[command(flatten)]
    database: DatabaseUrlArgs,
    #[command(flatten)]
    start: StartArgs,
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
    args.database.required()?;
    let tls = args.grpc_tls.load()?;
    let mut ports = vec![ServicePort::grpc(args.core.bind()?, tls.clone())];
    let _telemetry = args.telemetry.start("compliance-core")?;
    let prepare = async || {
        let verifier = args.keys.verifier().await?;
        // A file may have another URL by now.
        let pool = database::connect(args.database.required()?, args.core.database_connections).await?;
        if args.migrate {
            database::migrate(&pool).await?;
        }
        database::check_migrated(&pool).await?;
        anyhow::Ok((verifier, pool))
    };
    let prepared = shutdown.run_until_cancelled(wait_for(&args.start, &mut ports, prepare));
    let Some((verifier, pool)) = prepared.await.transpose()? else { return Ok(()) };
    database::warn_if_owner(&pool).await;
    let mut settings = CoreSettings::from(&args.core);
    Descriptors::raise().bound("gRPC", &mut settings.connections, 1, args.core.database_connections as usize);
    let core = Core::new(&pool, Arc::clone(&verifier), &settings).await;
    let core = core.context("the gRPC service cannot be set up")?;
    let _refresh = args.keys.refresh(&verifier);
    let _certificates = args.tls_refresh.keep([("gRPC", &tls)], None);
    let listener = ports.remove(0).listen()?;
    let instance = args.telemetry.instance();
    tracing::info!(grpc = %listener.tcp.local_addr()?, instance, profile = BUILD_PROFILE, "ready");
    core.serve(listener, shutdown).await.context("gRPC cannot be served any longer")?;
    // The health check uses the pool until the core is dropped.
    drop(core);
    close_pool(&pool).await;
    tracing::info!("stopped");
    Ok(())
}
