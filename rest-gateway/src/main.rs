//! `rest-gateway`: the documented JSON interface in front of a core on another machine.

use std::{io::IsTerminal as _, net::SocketAddr, process::ExitCode, sync::Arc, time::Duration};

use anyhow::Context as _;
use clap::Parser;
use compliance_api::token::Verifier;
use rest_gateway::{GatewayArgs, Settings, TokenArgs, remote, router, serve};
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

/// Requests are many small allocations on many threads, which the system's allocator makes take turns.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Keys that may change are read anew this often.
const KEYS_EVERY: Duration = Duration::from_mins(5);

/// The JSON interface of the Affiliate Compliance Service, in front of its gRPC core.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// Where to serve the JSON interface.
    #[arg(long, env = "COMPLIANCE_REST_ADDR", hide_env_values = true, default_value = "127.0.0.1:8080")]
    rest_addr: SocketAddr,
    /// Where the core serves gRPC (`http://host:port`).
    #[arg(long, env = "COMPLIANCE_CORE_URL", hide_env_values = true)]
    core_url: String,
    #[command(flatten)]
    tokens: TokenArgs,
    #[command(flatten)]
    gateway: GatewayArgs,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Args::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // A sentence for the operator, whatever RUST_BACKTRACE says.
            eprintln!("rest-gateway: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(args: Args) -> anyhow::Result<()> {
    log()?;
    let settings = Settings::from(&args.gateway);
    let verifier = Arc::new(Verifier::new(args.tokens.key_source()?, args.tokens.issuer()).await?);
    let core = remote(&args.core_url, &settings)?;
    let shutdown = shutdown_on_signal()?;
    let listener =
        TcpListener::bind(args.rest_addr).await.with_context(|| format!("cannot listen on {}", args.rest_addr))?;
    if verifier.can_refresh() {
        tokio::spawn(refresh_keys(Arc::clone(&verifier), shutdown.clone()));
    }
    tracing::info!(rest_addr = %listener.local_addr()?, core_url = args.core_url, "serving");
    serve(listener, router(core, verifier, &settings), &settings, shutdown).await?;
    tracing::info!("stopped");
    Ok(())
}

/// Logs to the standard error: `COMPLIANCE_LOG` (or `RUST_LOG`) says what, `COMPLIANCE_LOG_FORMAT=json` how.
fn log() -> anyhow::Result<()> {
    let directives = std::env::var("COMPLIANCE_LOG").or_else(|_| std::env::var("RUST_LOG"));
    let directives = directives.unwrap_or_else(|_| "info".to_owned());
    let filter =
        EnvFilter::try_new(&directives).with_context(|| format!("cannot read the log filter {directives:?}"))?;
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    if std::env::var("COMPLIANCE_LOG_FORMAT").is_ok_and(|format| format == "json") {
        subscriber.json().init();
    } else {
        subscriber.init();
    }
    Ok(())
}

/// Cancelled by SIGTERM or SIGINT.
fn shutdown_on_signal() -> anyhow::Result<CancellationToken> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for SIGINT")?;
    let shutdown = CancellationToken::new();
    let token = shutdown.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        token.cancel();
    });
    Ok(shutdown)
}

async fn refresh_keys(verifier: Arc<Verifier>, shutdown: CancellationToken) {
    while shutdown.run_until_cancelled(tokio::time::sleep(KEYS_EVERY)).await.is_some() {
        if let Err(error) = verifier.refresh().await {
            tracing::warn!(%error, "the keys could not be read anew; the old ones stay");
        }
    }
}
