//! `compliance core` runs the gRPC tier alone.

use std::{process::ExitCode, sync::Arc};

use anyhow::Context as _;
use clap::Args;
use compliance_api::{BUILD_PROFILE, token::Verifier};
use core_server::{
    CompanyLimit, Core, CoreSettings,
    database::{self, Database},
};
use tokio_util::sync::CancellationToken;

use crate::{
    program::{
        DatabaseUrlArgs, Descriptors, GrpcTlsArgs, InvalidSetting, KeyArgs, TelemetryArgs, TlsRefreshArgs, close_pool,
        named, refuse_equal,
    },
    start::{ServicePort, StartArgs, wait_for},
    version::COMMIT,
};

/// Run the core alone: gRPC over PostgreSQL, for gateways and internal services.
#[derive(Args, Debug)]
#[command(after_help = "Example:
  DATABASE_URL=postgres://compliance:…@db/compliance compliance core --grpc-addr 0.0.0.0:50051 --jwks-url https://issuer/keys")]
pub(crate) struct CoreTierArgs {
    /// Migrate the database schema first. Without this flag, the core waits up to --start-timeout for the migration.
    #[arg(long)]
    migrate: bool,
    #[command(flatten)]
    pub(super) core: CoreArgs,
}

/// Settings of a process that runs a core.
#[derive(Args, Debug)]
pub(crate) struct CoreArgs {
    #[command(flatten)]
    pub(super) database: DatabaseUrlArgs,
    #[command(flatten)]
    pub(super) start: StartArgs,
    #[command(flatten, next_help_heading = "Core")]
    pub(super) core: CoreSettings,
    #[command(flatten, next_help_heading = "Tokens")]
    pub(super) keys: KeyArgs,
    #[command(flatten)]
    pub(super) grpc_tls: GrpcTlsArgs,
    #[command(flatten)]
    pub(super) tls_refresh: TlsRefreshArgs,
    #[command(flatten)]
    pub(super) telemetry: TelemetryArgs,
}

impl CoreArgs {
    /// Fails if a company limit is set twice, or the --webhook-ca file is unusable.
    pub(super) fn check(&self) -> Result<(), InvalidSetting> {
        CompanyLimit::check(&self.core.company_limits).map_err(InvalidSetting::of(named("company-limit")))?;
        self.core.webhooks.check().map_err(InvalidSetting::of(named("webhook-ca")))
    }

    /// Creates the core and starts its background tasks. `ports` is the number of ports that the process opens.
    pub(super) async fn create(
        &self,
        database: &Database,
        verifier: &Arc<Verifier>,
        descriptors: Descriptors,
        ports: usize,
    ) -> anyhow::Result<Core> {
        let mut settings = self.core.clone();
        descriptors.bound("gRPC", &mut settings.connections.max_connections, ports, database.max_connections());
        let core = Core::new(database, Arc::clone(verifier), &settings).await;
        Ok(core.context("cannot set up the gRPC service")?.with_background())
    }
}

pub(super) fn run(args: &CoreTierArgs) -> anyhow::Result<ExitCode> {
    crate::program::serve_until_signal(|shutdown| Box::pin(serve(args, shutdown)))
}

async fn serve(args: &CoreTierArgs, shutdown: CancellationToken) -> anyhow::Result<()> {
    let (migrate, args) = (args.migrate, &args.core);
    let target = args.database.required()?;
    let tls = args.grpc_tls.load()?;
    args.check()?;
    refuse_equal(&[("grpc-addr", Some(args.core.address)), ("admin-addr", args.telemetry.admin_addr())])?;
    let mut ports = [ServicePort::grpc(&args.core, tls.clone())?];
    let _telemetry = args.telemetry.start("compliance-core")?;
    let prepare = async || {
        let verifier = args.keys.verifier().await?;
        let database = database::open(target.clone(), args.core.database_connections).await?;
        if migrate {
            database::migrate(&database).await?;
        }
        database::check_migrated(&database.pool).await?;
        anyhow::Ok((verifier, database))
    };
    let prepared = shutdown.run_until_cancelled(wait_for(&args.start, &mut ports, prepare));
    let Some((verifier, database)) = prepared.await.transpose()? else { return Ok(()) };
    database::warn_if_owner(&database.pool).await;
    let core = args.create(&database, &verifier, Descriptors::raise(), 1).await?;
    let _refresh = args.keys.refresh(&verifier);
    let _certificates = args.tls_refresh.keep([("gRPC", &tls)], None);
    let [port] = ports;
    let listener = port.listen()?;
    let instance = args.telemetry.instance();
    tracing::info!(grpc = %listener.tcp.local_addr()?, instance, commit = COMMIT, profile = BUILD_PROFILE, "ready");
    core.serve(listener, shutdown).await.context("the gRPC server failed")?;
    // Drop the core first, because its health check uses the pool.
    drop(core);
    close_pool(&database.pool).await;
    tracing::info!("stopped");
    Ok(())
}
