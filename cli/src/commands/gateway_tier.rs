//! `compliance gateway` runs the REST tier alone.

use std::process::ExitCode;

use crate::program::{
    CoreTlsArgs, Descriptors, InvalidSetting, KeyArgs, RestTlsArgs, TelemetryArgs, TlsRefreshArgs, named, refuse_equal,
};
use anyhow::Context as _;
use clap::Args;
use compliance_api::{BUILD_PROFILE, PrivateUrl};
use rest_gateway::Settings;
use tokio_util::sync::CancellationToken;

use crate::{
    start::{ServicePort, StartArgs, wait_for},
    version::COMMIT,
};

/// Run the gateway alone: REST, in front of cores in other processes.
#[derive(Args, Debug)]
#[command(after_help = "Example:
  compliance gateway --rest-addr 0.0.0.0:8080 --core-url http://core-1:50051,http://core-2:50051 --jwks-url https://issuer/keys")]
pub(crate) struct GatewayTierArgs {
    /// Address of a core: `http://host:port` or `https://host:port`. Separate multiple addresses with commas, or repeat the flag. A host name can
    /// resolve to several IP addresses.
    #[arg(
        long,
        env = "COMPLIANCE_CORE_URL",
        hide_env_values = true,
        value_name = "URL",
        required = true,
        value_delimiter = ','
    )]
    core_url: Vec<PrivateUrl>,
    #[command(flatten)]
    start: StartArgs,
    #[command(flatten, next_help_heading = "REST")]
    gateway: Settings,
    #[command(flatten, next_help_heading = "Tokens")]
    keys: KeyArgs,
    #[command(flatten)]
    core_tls: CoreTlsArgs,
    #[command(flatten)]
    rest_tls: RestTlsArgs,
    #[command(flatten)]
    tls_refresh: TlsRefreshArgs,
    #[command(flatten)]
    telemetry: TelemetryArgs,
}

pub(super) fn run(args: &GatewayTierArgs) -> anyhow::Result<ExitCode> {
    crate::program::serve_until_signal(|shutdown| Box::pin(serve(args, shutdown)))
}

async fn serve(args: &GatewayTierArgs, shutdown: CancellationToken) -> anyhow::Result<()> {
    let (core_tls, rest_tls) = (args.core_tls.load_for(&args.core_url)?, args.rest_tls.load()?);
    refuse_equal(&[("rest-addr", Some(args.gateway.address)), ("admin-addr", args.telemetry.admin_addr())])?;
    let mut ports = [ServicePort::rest(&args.gateway, rest_tls.clone())?];
    let _telemetry = args.telemetry.start("compliance-gateway")?;
    let mut settings = Settings { core_tls, ..args.gateway.clone() };
    Descriptors::raise().bound("REST", &mut settings.connections.max_connections, 1, settings.core_connections);
    let cores: Vec<_> = args.core_url.iter().map(PrivateUrl::reveal).collect();
    let core = rest_gateway::remote(&cores.join(","), &settings).map_err(InvalidSetting::of(named("core-url")))?;
    let verifier = wait_for(&args.start, &mut ports, async || args.keys.verifier().await);
    let verifier = shutdown.run_until_cancelled(verifier).await.transpose()?;
    let Some(verifier) = verifier else { return Ok(()) };
    let _refresh = args.keys.refresh(&verifier);
    let _certificates = args.tls_refresh.keep([("REST", &rest_tls)], settings.core_tls.as_ref());
    let [port] = ports;
    let listener = port.listen()?;
    let cores: Vec<_> = args.core_url.iter().map(ToString::to_string).collect();
    let instance = args.telemetry.instance();
    tracing::info!(rest = %listener.tcp.local_addr()?, core = cores.join(","), instance, commit = COMMIT, profile = BUILD_PROFILE, "ready");
    let router = rest_gateway::router(core, None, verifier, &settings);
    rest_gateway::serve(listener, router, &settings, shutdown).await.context("the REST server failed")?;
    tracing::info!("stopped");
    Ok(())
}
