//! `compliance serve`: the whole service in one process.

mod database;
mod greeting;
mod keys;
mod ports;
mod service;

use std::{net::SocketAddr, pin::pin, process::ExitCode};

use clap::Args;
use core_server::config::{CoreArgs, TokenArgs};
use rest_gateway::GatewayArgs;
use tokio_util::sync::CancellationToken;

use crate::{data_dir::DataDirArgs, signals::Signals};

/// Run the whole service: REST, gRPC and, unless one is given, the database.
#[derive(Args)]
pub(crate) struct ServeArgs {
    /// Address that REST is served at; port 0 takes a free one.
    #[arg(long, env = "COMPLIANCE_REST_ADDR", default_value = "127.0.0.1:8080", value_name = "ADDR")]
    rest_addr: SocketAddr,
    /// Database to use: `postgres://user:password@host/database`. Without one, the service runs its own PostgreSQL in
    /// the data folder.
    #[arg(long, env = "DATABASE_URL", hide_env_values = true, value_name = "URL")]
    database_url: Option<String>,
    #[command(flatten)]
    data_dir: DataDirArgs,
    /// Give company 1 some made records if it has no affiliates, and say what can be tried with them.
    #[arg(long)]
    demo: bool,
    #[command(flatten, next_help_heading = "Core")]
    core: CoreArgs,
    #[command(flatten, next_help_heading = "Tokens")]
    tokens: TokenArgs,
    #[command(flatten)]
    gateway: GatewayArgs,
}

impl std::fmt::Debug for ServeArgs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The database's address may hold a password.
        f.debug_struct("ServeArgs")
            .field("rest_addr", &self.rest_addr)
            .field("core", &self.core)
            .finish_non_exhaustive()
    }
}

pub(super) fn run(args: &ServeArgs) -> anyhow::Result<ExitCode> {
    let runtime = super::runtime()?;
    let result = runtime.block_on(until_told(args));
    // What was cut off does not hold up the end.
    runtime.shutdown_background();
    result
}

/// Serves until a signal comes. A second signal cuts off what the first one let finish.
async fn until_told(args: &ServeArgs) -> anyhow::Result<ExitCode> {
    let mut signals = Signals::take()?;
    let shutdown = CancellationToken::new();
    let mut service = pin!(service::run(args, &shutdown));
    tokio::select! {
        ended = &mut service => return ended.map(|()| ExitCode::SUCCESS),
        signal = signals.next() => {
            tracing::info!(signal, "stopping: accepted requests are finished first; a second signal cuts them off");
            shutdown.cancel();
        }
    }
    tokio::select! {
        ended = service => ended.map(|()| ExitCode::SUCCESS),
        signal = signals.next() => {
            tracing::warn!(signal, "stopping at once");
            Ok(ExitCode::FAILURE)
        }
    }
}
