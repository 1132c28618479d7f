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
        refuse_configuration_file()?;
        cli.run()
    });
    result.unwrap_or_else(|error| program::report_failure(&error))
}

/// Fails if the environment names a configuration file, as in earlier versions. Without the file's settings, the service would
/// start with its own database.
fn refuse_configuration_file() -> Result<(), InvalidSetting> {
    let advice = "configuration files are not supported: set the values as flags or variables, and unset this variable";
    match std::env::var_os("COMPLIANCE_CONFIG") {
        Some(_) => Err(InvalidSetting::of("COMPLIANCE_CONFIG")(advice)),
        None => Ok(()),
    }
}
