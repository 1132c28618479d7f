//! The commands. Each has a file with its flags and what it does.

mod completions;
mod core_tier;
mod demo_data;
mod doctor;
mod export;
mod gateway_tier;
mod health;
mod import;
mod man;
mod migrate;
#[cfg(test)]
mod reference;
mod serve;
mod token;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use runtime::{ConfigurationArgs, LoggingArgs};

/// Affiliate Compliance Service: REST and gRPC over PostgreSQL, in one process or in two tiers.
///
/// Without a command, the service starts with demo data: as `serve --demo`.
#[derive(Debug, Parser)]
#[command(name = "compliance", version)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    pub(crate) logging: LoggingArgs,
    #[command(flatten)]
    configuration: ConfigurationArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(Box<serve::ServeArgs>),
    Core(Box<core_tier::CoreTierArgs>),
    Gateway(Box<gateway_tier::GatewayTierArgs>),
    Token(token::TokenArgs),
    Migrate(migrate::MigrateArgs),
    DemoData(demo_data::DemoDataArgs),
    Doctor(doctor::DoctorArgs),
    Health(health::HealthArgs),
    Import(import::ImportArgs),
    Export(export::ExportArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

impl Cli {
    /// Runs the command and returns the exit status.
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        match self.command {
            // Parsed again, for the settings of `serve`.
            None => {
                let arguments = std::env::args_os().chain(["serve", "--demo"].map(Into::into));
                runtime::parse::<Self>(arguments).run()
            }
            Some(Command::Serve(args)) => serve::run(&args),
            Some(Command::Core(args)) => core_tier::run(&args),
            Some(Command::Gateway(args)) => gateway_tier::run(&args),
            Some(Command::Token(args)) => token::run(&args),
            Some(Command::Migrate(args)) => migrate::run(&args),
            Some(Command::DemoData(args)) => demo_data::run(&args),
            Some(Command::Doctor(args)) => doctor::run(&args),
            Some(Command::Health(args)) => health::run(&args),
            Some(Command::Import(args)) => import::run(&args),
            Some(Command::Export(args)) => export::run(&args),
            Some(Command::Completions(args)) => completions::run(&args),
            Some(Command::Man(args)) => man::run(&args),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
