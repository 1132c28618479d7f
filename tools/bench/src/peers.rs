//! Alternatives to our service. Each serves the same record as the same JSON.
//!
//! None of them checks tokens, limits rates or validates anything, while ours is measured with all of its work.

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

/// A peer and its address.
#[derive(Args, Debug)]
pub(crate) struct PeerArgs {
    /// The peer.
    #[arg(value_enum)]
    peer: Peer,
    /// Address to serve at.
    #[arg(long)]
    listen: SocketAddr,
    /// Database to read from.
    #[arg(long)]
    database_url: String,
    /// Company to serve, since peers have no tokens.
    #[arg(long)]
    company: i64,
}

/// Peers within this program.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Peer {
    /// An axum handler over sqlx, with the defaults of both.
    AxumSqlx,
    /// An axum handler that returns bytes from memory.
    Memory,
}

/// Serves until the process ends.
pub(crate) async fn serve(args: PeerArgs) -> anyhow::Result<()> {
    let router: Router = match args.peer {
        Peer::AxumSqlx => axum_sqlx::router(&args.database_url, args.company).await?,
        Peer::Memory => memory::router(&args.database_url, args.company).await?,
    };
    let listener = tokio::net::TcpListener::bind(args.listen).await.context("the peer cannot listen")?;
    // The default would delay small responses, and make the peers slower.
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
    let name = peer.to_possible_value().context("the peer has a name")?.get_name().to_owned();
    let mut command = Command::new(std::env::current_exe().context("this program cannot find itself")?);
    command.args(["peer", &name, "--listen", &address.to_string(), "--company", &company.to_string()]);
    command.args(["--database-url", &database.url()]);
    let mut process = Child::start(&name, folder, command)?;
    process.accepts(address).await?;
    Ok((address, process))
}
