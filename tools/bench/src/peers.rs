//! Runs peers of our service, which serve the same record as the same JSON.
//!
//! Peers do not check tokens, limit rates or validate anything, but the measurements of our service include all of its work.

mod axum_sqlx;
pub(crate) mod install;
mod memory;
pub(crate) mod postgrest;
mod record;

use std::{net::SocketAddr, path::Path, process::Command};

use anyhow::Context as _;
use axum::Router;
use clap::{Args, ValueEnum};

pub(crate) use record::SELECT;

use crate::{
    child::{Child, free_address},
    service::Database,
};

/// A peer, its address and its data.
#[derive(Args, Debug)]
pub(crate) struct PeerArgs {
    /// Peer to serve as.
    #[arg(value_enum)]
    peer: Peer,
    /// Address to listen on.
    #[arg(long)]
    listen: SocketAddr,
    /// URL of the database to read from.
    #[arg(long)]
    database_url: String,
    /// Company to serve, because peers check no tokens.
    #[arg(long)]
    company: i64,
}

/// Peers within this program.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Peer {
    /// An axum handler with sqlx, both with their defaults.
    AxumSqlx,
    /// An axum handler that returns bytes from memory.
    Memory,
}

/// Serves until the process exits.
pub(crate) async fn serve(args: PeerArgs) -> anyhow::Result<()> {
    let router: Router = match args.peer {
        Peer::AxumSqlx => axum_sqlx::router(&args.database_url, args.company).await?,
        Peer::Memory => memory::router(&args.database_url, args.company).await?,
    };
    let listener = tokio::net::TcpListener::bind(args.listen).await.context("the peer cannot listen at its address")?;
    // The default would delay small responses, which would slow down the peers.
    let listener = axum::serve::ListenerExt::tap_io(listener, |stream| {
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, router).await.context("the peer has stopped serving")
}

/// Starts a peer within this program.
pub(crate) async fn start(
    peer: Peer,
    database: &Database,
    company: i64,
    folder: &Path,
) -> anyhow::Result<(SocketAddr, Child)> {
    let address = free_address()?;
    let name = peer.to_possible_value().context("the peer has no name")?.get_name().to_owned();
    let mut command = Command::new(std::env::current_exe().context("cannot find this program's path")?);
    command.args(["peer", &name, "--listen", &address.to_string(), "--company", &company.to_string()]);
    command.args(["--database-url", &database.url()]);
    let mut process = Child::start(&name, folder, command)?;
    process.accepts(address).await?;
    Ok((address, process))
}
