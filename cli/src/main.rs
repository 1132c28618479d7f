//! The `compliance` command: the service as one process or as two tiers, and the tools around it.

mod commands;
mod data_dir;
mod database;
mod export;
mod import;
mod output;
mod program;
mod progress;
mod secret;
mod service;
mod start;
#[cfg(test)]
mod tests;
mod version;

use std::process::ExitCode;

use clap::CommandFactory as _;

use crate::{commands::Cli, program::InvalidSetting};

/// Requests allocate often, on many threads. The system allocator serves one thread at a time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli: Cli = program::parse(std::env::args_os());
    let result = program::start_logging(&cli.logging).and_then(|()| {
        for (name, similar) in program::unknown_variables(&Cli::command()) {
            tracing::warn!(name, similar, "unknown environment variable");
        }
        if let Some(tier) = cli.tier() {
            let unused = program::unused_variables(&Cli::command(), tier).join(", ");
            if !unused.is_empty() {
                tracing::warn!("{unused}: no effect on `compliance {tier}`");
            }
        }
        refuse_dangerous_variables()?;
        cli.run()
    });
    result.unwrap_or_else(|error| program::report_failure(&error))
}

/// Fails if the environment names a configuration file, as in earlier versions, or sets the database URL under a wrong name. Without these
/// settings, the service would start with its own, empty database.
fn refuse_dangerous_variables() -> Result<(), InvalidSetting> {
    for (name, advice) in [
        (
            "COMPLIANCE_CONFIG",
            "configuration files are not supported: set the values as flags or variables, and unset this variable",
        ),
        ("COMPLIANCE_DATABASE_URL", "this variable does not exist: set DATABASE_URL or COMPLIANCE_DATABASE_URL_FILE"),
    ] {
        if std::env::var_os(name).is_some_and(|value| !value.is_empty()) {
            return Err(InvalidSetting::of(name)(advice));
        }
    }
    Ok(())
}
