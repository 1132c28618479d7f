//! `compliance serve`: the whole service in one process.

mod greeting;
mod service;

use std::process::ExitCode;

use clap::Args;
use runtime::{CoreArgs, GatewayArgs, KeyArgs};

use crate::{data_dir::DataDirArgs, database::DatabaseArgs};

/// Run the whole service: REST, gRPC and, unless one is given, the database.
#[derive(Args, Debug)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    #[command(flatten)]
    data_dir: DataDirArgs,
    /// Give company 1 demo records if it has no affiliates, and print commands to try.
    #[arg(long)]
    demo: bool,
    #[command(flatten, next_help_heading = "Core")]
    core: CoreArgs,
    #[command(flatten, next_help_heading = "Tokens")]
    keys: KeyArgs,
    #[command(flatten, next_help_heading = "REST")]
    gateway: GatewayArgs,
}

pub(super) fn run(args: &ServeArgs) -> anyhow::Result<ExitCode> {
    runtime::serve_until_signal(|shutdown| Box::pin(service::serve(args, shutdown)))
}
