//! The subcommands. Each has a file of its own with its flags and what it does.

mod demo_data;
mod export;
mod import;
mod migrate;
mod serve;
mod token;

use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Parser, Subcommand};

use crate::logging::LoggingArgs;

/// Affiliate Compliance Service: REST and gRPC over PostgreSQL, in one process.
///
/// Without a command, the service is started to be tried out: as `serve --demo`.
#[derive(Debug, Parser)]
#[command(name = "compliance", version)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    pub(crate) logging: LoggingArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(Box<serve::ServeArgs>),
    Token(token::TokenArgs),
    Migrate(migrate::MigrateArgs),
    DemoData(demo_data::DemoDataArgs),
    Import(import::ImportArgs),
    Export(export::ExportArgs),
}

/// Does what the command line says; tells the exit status.
pub(crate) fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    match cli.command {
        // Parsed once more, as the settings come from the environment.
        None => run(Cli::parse_from(["compliance", "serve", "--demo"])),
        Some(Command::Serve(args)) => serve::run(&args),
        Some(Command::Token(args)) => token::run(&args),
        Some(Command::Migrate(args)) => migrate::run(&args),
        Some(Command::DemoData(args)) => demo_data::run(&args),
        Some(Command::Import(args)) => import::run(&args),
        Some(Command::Export(args)) => export::run(&args),
    }
}

/// The runtime of the commands that wait for something.
fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().context("the program cannot start its threads")
}

/// The seconds since 1970.
pub(crate) fn now() -> anyhow::Result<i64> {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    Ok(since.context("the clock shows a time before 1970")?.as_secs() as i64)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
