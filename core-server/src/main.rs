//! `core-server`: the gRPC service alone, for deployments whose REST gateway runs elsewhere.

use std::{
    io::{IsTerminal as _, Write as _},
    process::ExitCode,
    sync::Arc,
};

use anyhow::Context as _;
use clap::Parser;
use compliance_api::token::Verifier;
use core_server::{
    Core,
    config::{CoreArgs, TokenArgs},
    database,
};
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

/// Requests are many small allocations on many threads, which the system's allocator makes take turns.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The gRPC service of the Affiliate Compliance Service.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// Database to use: `postgres://user:password@host/database`.
    #[arg(long, env = "DATABASE_URL", hide_env_values = true, value_name = "URL")]
    database_url: String,
    /// Bring the database's schema up to date first; without it, an outdated schema is refused.
    #[arg(long)]
    migrate: bool,
    #[command(flatten)]
    core: CoreArgs,
    #[command(flatten)]
    tokens: TokenArgs,
}

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    match run(&args).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody may be left to read it.
            let _ = writeln!(std::io::stderr(), "core-server: {}", describe(&error));
            ExitCode::FAILURE
        }
    }
}

async fn run(args: &Args) -> anyhow::Result<()> {
    log()?;
    let shutdown = shutdown_on_signal()?;
    // Until everything is ready, who connects is refused; a port that is taken is told once it is.
    let started = shutdown.run_until_cancelled(Box::pin(start(args))).await;
    let Some((core, pool, listener)) = started.transpose()? else { return Ok(()) };
    tracing::info!(grpc = %listener.local_addr()?, "ready");
    core.serve(listener, shutdown).await?;
    // The core asks after the database's health until it is gone.
    drop(core);
    pool.close().await;
    tracing::info!("stopped");
    Ok(())
}

async fn start(args: &Args) -> anyhow::Result<(Core, sqlx::PgPool, TcpListener)> {
    let issuer = args.tokens.issuer.clone().filter(|issuer| !issuer.is_empty());
    let verifier = Arc::new(Verifier::new(args.tokens.key_source()?, issuer).await?);
    let pool = database::connect(database::options(&args.database_url)?, args.core.database_connections).await?;
    if args.migrate {
        database::migrate(&pool).await?;
    }
    database::check_migrated(&pool).await?;
    let core = Core::new(&pool, verifier, &args.core).context("the gRPC service cannot be set up")?;
    let address = args.core.grpc_addr;
    let listener = TcpListener::bind(address).await.with_context(|| {
        format!("cannot listen at {address} (choose another address with --grpc-addr or COMPLIANCE_GRPC_ADDR)")
    })?;
    Ok((core, pool, listener))
}

/// An error and its causes in one line. Many errors repeat their cause in their own words; it is not said twice.
fn describe(error: &anyhow::Error) -> String {
    error.chain().skip(1).fold(error.to_string(), |text, cause| {
        let cause = cause.to_string();
        if text.contains(&cause) { text } else { format!("{text}: {cause}") }
    })
}

/// Logs to standard error: `COMPLIANCE_LOG` says what, `COMPLIANCE_LOG_FORMAT=json` how.
fn log() -> anyhow::Result<()> {
    let filter = std::env::var("COMPLIANCE_LOG").ok().filter(|filter| !filter.trim().is_empty());
    // The database's notices tell that a table is there already.
    let filter = filter.unwrap_or_else(|| "info,sqlx::postgres::notice=warn".to_owned());
    let filter = EnvFilter::try_new(&filter)
        .with_context(|| format!("COMPLIANCE_LOG has {filter:?}, which is no filter: try `info`"))?;
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .log_internal_errors(false);
    if std::env::var("COMPLIANCE_LOG_FORMAT").is_ok_and(|format| format == "json") {
        log.json().flatten_event(true).init();
    } else {
        log.with_target(false).init();
    }
    Ok(())
}

/// Cancelled by SIGTERM or SIGINT; a second signal ends the program at once.
fn shutdown_on_signal() -> anyhow::Result<CancellationToken> {
    let mut terminate = signal(SignalKind::terminate()).context("signals cannot be received")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("signals cannot be received")?;
    let shutdown = CancellationToken::new();
    let token = shutdown.clone();
    tokio::spawn(async move {
        for first in [true, false] {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            if first {
                tracing::info!("stopping: accepted calls are finished first; a second signal cuts them off");
                token.cancel();
            } else {
                std::process::exit(1);
            }
        }
    });
    Ok(shutdown)
}
