//! Measures the service beside peers, bare baselines and, if given, an earlier build, all in one run on one machine.
//!
//! What is compared is measured in turns within each round, so that other work of the machine affects all alike. The
//! result is the median of the rounds' ratios.

mod args;
mod batch;
mod caller;
mod chart;
mod companies;
mod compare;
mod contender;
mod cpu;
mod dataset;
mod demo_data;
mod first_pages;
mod goals;
mod late_pages;
mod listing;
mod lists;
mod measure;
mod peers;
mod pgbench;
mod point_read;
mod question;
mod regressions;
mod report;
mod results;
mod stage;
mod statistics;
mod totals;
mod url_page;

use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Parser, Subcommand};
use tokio::signal::unix::{SignalKind, signal};

/// Measure the service beside what others would use.
#[derive(Debug, Parser)]
#[command(name = "comparison", version, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    args: Box<args::CompareArgs>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve point reads as one of the plain peers does. Started by the comparison itself.
    #[command(hide = true)]
    Peer(peers::PeerArgs),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    // The generator shares the machine with what it measures. More threads would compete with each other.
    let threads = if cli.command.is_some() { 2 } else { 1 };
    let result = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_all()
        .build()
        .context("the program cannot start its threads")
        .and_then(|runtime| {
            let result = runtime.block_on(run(cli));
            runtime.shutdown_background();
            result
        });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("comparison: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs until the end or a signal. Dropping the run stops the processes that it has started.
async fn run(cli: Cli) -> anyhow::Result<()> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let running = async {
        match cli.command {
            Some(Command::Peer(args)) => peers::serve(args).await,
            None => compare::run(&cli.args).await,
        }
    };
    tokio::select! {
        result = running => result,
        _ = terminate.recv() => anyhow::bail!("stopped by a signal"),
        _ = interrupt.recv() => anyhow::bail!("stopped by a signal"),
    }
}
