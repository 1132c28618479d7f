//! Puts load on either layer of the service.

mod drive;
mod floods;
mod overload;
mod unread;

use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Parser, Subcommand};
use tokio::signal::unix::{SignalKind, signal};

/// Put load on the Affiliate Compliance Service.
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
    Grpc(drive::GrpcArgs),
    /// Measure a company's calls while another company floods a service that is started for it.
    Floods(floods::FloodArgs),
    /// Measure how much of the peak is left at ten times the connections.
    Overload(overload::OverloadArgs),
    /// Open lists that nobody reads, and measure what they take.
    Unread(unread::UnreadArgs),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    // The generator shares the machine with the service. More threads would compete with each other.
    let result = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .context("the program cannot start its threads")
        .and_then(|runtime| {
            let result = runtime.block_on(run(cli.command));
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

/// Runs the command until it ends or a signal arrives. Dropping it stops the processes that it has started.
async fn run(command: Command) -> anyhow::Result<()> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let running = async {
        match command {
            Command::Rest(args) => drive::rest(&args).await,
            Command::Grpc(args) => drive::grpc(&args).await,
            Command::Floods(args) => floods::run(&args).await,
            Command::Overload(args) => overload::run(&args).await,
            Command::Unread(args) => unread::run(&args).await,
        }
    };
    tokio::select! {
        result = running => result,
        _ = terminate.recv() => anyhow::bail!("stopped by a signal"),
        _ = interrupt.recv() => anyhow::bail!("stopped by a signal"),
    }
}
