//! Compares the service with peers, bare baselines and an optional earlier build, in one run on one machine.
//!
//! Measurements alternate within each round, so other work on the machine affects all contenders equally. The result is
//! the median of the rounds' ratios.
#![allow(clippy::disallowed_methods, reason = "spawned tasks end with the measurement")]

mod args;
mod bare;
mod caller;
mod child;
mod compare;
mod contender;
mod cpu;
mod dataset;
mod goals;
mod load;
mod measure;
mod peers;
mod pgbench;
mod program;
mod regressions;
mod report;
mod results;
mod service;
mod stage;
mod statistics;
mod work;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Compare the service with its peers.
#[derive(Debug, Parser)]
#[command(name = "bench", version, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    args: Box<args::CompareArgs>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve point reads as a peer. The comparison starts this command.
    #[command(hide = true)]
    Peer(peers::PeerArgs),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let threads = if cli.command.is_some() { 2 } else { 1 };
    program::run("bench", threads, async {
        match cli.command {
            Some(Command::Peer(args)) => peers::serve(args).await,
            None => compare::run(&cli.args).await,
        }
    })
}
