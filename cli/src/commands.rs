//! The commands. Each command has its own file, except the commands about the command line itself.

mod audit;
mod core_tier;
mod demo_data;
mod doctor;
mod erase;
mod gateway_tier;
mod health;
mod migrate;
mod restored;
mod serve;
mod token;

use std::{fs, io::Write as _, path::PathBuf, process::ExitCode};

use anyhow::Context as _;
use clap::{Args, CommandFactory as _, Parser, Subcommand};
use clap_complete::Shell;

use crate::{export, import, program::LoggingArgs, version::VERSION};

/// Affiliate Compliance Service: REST and gRPC over PostgreSQL, in one process or in two tiers.
///
/// Without a command, the service starts with demo data, like `serve --demo`.
#[derive(Debug, Parser)]
#[command(name = "compliance", version = VERSION)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    pub(crate) logging: LoggingArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(Box<serve::ServeArgs>),
    Core(Box<core_tier::CoreTierArgs>),
    Gateway(Box<gateway_tier::GatewayTierArgs>),
    Token(token::TokenArgs),
    Migrate(migrate::MigrateArgs),
    DemoData(demo_data::DemoDataArgs),
    Doctor(Box<doctor::DoctorArgs>),
    Audit(audit::AuditArgs),
    Erase(erase::EraseArgs),
    Restored(restored::RestoredArgs),
    Health(health::HealthArgs),
    Import(import::ImportArgs),
    Export(export::ExportArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

/// Print a shell completion script.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  compliance completions bash > /etc/bash_completion.d/compliance
  compliance completions zsh > \"${fpath[1]}/_compliance\"
  compliance completions fish > ~/.config/fish/completions/compliance.fish")]
struct CompletionsArgs {
    /// Shell to generate the script for.
    shell: Shell,
}

/// Write the manual pages, one for each command.
#[derive(Args, Debug)]
#[command(after_help = "Example:
  compliance man --output /usr/local/share/man/man1")]
struct ManArgs {
    /// Output folder. The command creates the folder if it is missing.
    #[arg(long, short, value_name = "DIR")]
    output: PathBuf,
}

impl Cli {
    /// Returns the name of the command if it runs the service.
    pub(crate) fn tier(&self) -> Option<&'static str> {
        match self.command {
            None | Some(Command::Serve(_)) => Some("serve"),
            Some(Command::Core(_)) => Some("core"),
            Some(Command::Gateway(_)) => Some("gateway"),
            _ => None,
        }
    }

    /// Runs the command and returns the exit status.
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let done = match self.command {
            // A second parse fills in the settings of `serve`.
            None => {
                let arguments = std::env::args_os().chain(["serve", "--demo"].map(Into::into));
                return crate::program::parse::<Self>(arguments).run();
            }
            Some(Command::Serve(args)) => return serve::run(&args),
            Some(Command::Core(args)) => return core_tier::run(&args),
            Some(Command::Gateway(args)) => return gateway_tier::run(&args),
            Some(Command::Doctor(args)) => return doctor::run(&args),
            Some(Command::Audit(args)) => return audit::run(&args),
            Some(Command::Import(args)) => return import::run(&args),
            Some(Command::Token(args)) => token::run(&args),
            Some(Command::Migrate(args)) => migrate::run(&args),
            Some(Command::DemoData(args)) => demo_data::run(&args),
            Some(Command::Erase(args)) => erase::run(&args),
            Some(Command::Restored(args)) => restored::run(&args),
            Some(Command::Health(args)) => health::run(&args),
            Some(Command::Export(args)) => export::run(&args),
            Some(Command::Completions(args)) => print_completions(&args),
            Some(Command::Man(args)) => write_manual(&args),
        };
        done.map(|()| ExitCode::SUCCESS)
    }
}

fn print_completions(args: &CompletionsArgs) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "compliance", &mut script);
    std::io::stdout().write_all(&script).context("cannot print the script")
}

fn write_manual(args: &ManArgs) -> anyhow::Result<()> {
    let folder = &args.output;
    let write = || {
        fs::create_dir_all(folder)?;
        clap_mangen::generate_to(Cli::command(), folder)
    };
    write().with_context(|| format!("cannot write the manual pages to {}", folder.display()))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use crate::program::named;

    #[test]
    fn command_line_definition_is_valid() {
        super::Cli::command().debug_assert();
    }

    /// Error messages derive the variable name of a setting from its flag.
    #[test]
    fn variable_names_match_flag_names() {
        fn check(command: &clap::Command) {
            for argument in command.get_arguments() {
                if let (Some(flag), Some(variable)) = (argument.get_long(), argument.get_env()) {
                    assert_eq!(named(flag), format!("--{flag} ({})", variable.display()));
                }
            }
            command.get_subcommands().for_each(check);
        }
        check(&super::Cli::command());
    }
}
