//! Puts load on either layer of the service.

mod demo;
mod discover;
mod drive;
mod result;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Put load on the Affiliate Compliance Service.
#[derive(Debug, Parser)]
#[command(name = "load-test", version)]
struct Cli {
    #[command(subcommand)]
    layer: Layer,
}

#[derive(Debug, Subcommand)]
enum Layer {
    /// Put load on REST.
    Rest(drive::DriveArgs),
    /// Put load on gRPC.
    Grpc(drive::DriveArgs),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    load_test::run("load-test", 1, async {
        match cli.layer {
            Layer::Rest(args) => drive::drive(&args, false).await,
            Layer::Grpc(args) => drive::drive(&args, true).await,
        }
    })
}
