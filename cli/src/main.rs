//! The `compliance` command: the whole service in one process, and the tools around it.

mod commands;
mod data_dir;
mod database;
mod demo;
mod demo_data;
mod export;
mod failure;
mod import;
mod logging;
mod progress;
mod secret;
mod service;
mod signals;

use std::process::ExitCode;

use clap::Parser as _;

use crate::commands::Cli;

/// Requests are many small allocations on many threads, which the system's allocator makes take turns.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = logging::start(&cli.logging).and_then(|()| commands::run(cli));
    match result {
        Ok(code) => code,
        Err(error) => {
            failure::print(&error);
            ExitCode::FAILURE
        }
    }
}
