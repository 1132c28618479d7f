//! Load on either layer of the service, and the measurements that set it beside what others would use.

mod check;
mod compare;
mod drive;
mod grpc;
mod http;
mod list;
mod peers;
mod service;
mod statistics;
mod target;
mod workload;

use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Parser, Subcommand};
use tokio::signal::unix::{SignalKind, signal};

/// Load on the Affiliate Compliance Service.
#[derive(Debug, Parser)]
#[command(name = "load-test", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Put load on REST.
    Rest(drive::DriveArgs),
    /// Put load on gRPC.
    Grpc(drive::DriveArgs),
    /// Measure the service beside what others would use, all in one run.
    Compare(Box<compare::CompareArgs>),
    /// Serve point reads as one of the plain peers does. Started by `compare`.
    #[command(hide = true)]
    Peer(peers::PeerArgs),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    // The generator shares the machine with what it measures: one thread keeps it from taking turns with itself.
    let threads = if matches!(cli.command, Command::Peer(_)) { 2 } else { 1 };
    let result = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_all()
        .build()
        .context("the program cannot start its threads")
        .and_then(|runtime| {
            let result = runtime.block_on(until_told(cli.command));
            runtime.shutdown_background();
            result
        });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("load-test: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the command unless a signal comes first; what it has started ends with it either way.
async fn until_told(command: Command) -> anyhow::Result<()> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let running = async {
        match command {
            Command::Rest(args) => drive::rest(&args).await,
            Command::Grpc(args) => drive::grpc(&args).await,
            Command::Compare(args) => compare::run(&args).await,
            Command::Peer(args) => peers::serve(args).await,
        }
    };
    tokio::select! {
        ended = running => ended,
        _ = terminate.recv() => anyhow::bail!("told to end"),
        _ = interrupt.recv() => anyhow::bail!("told to end"),
    }
}
