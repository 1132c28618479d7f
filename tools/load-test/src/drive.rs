//! `load-test rest` and `load-test grpc`: load on one layer.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, ValueEnum as _};

use load_test::{
    load::{Load, LoadWorker},
    measure::measure,
    service::Demo,
    target::Target,
    workload::{Scenario, Universe},
};

use crate::{discover, result::RunResult};

/// Settings of the load, its target and its result.
#[derive(Args, Debug)]
pub(crate) struct DriveArgs {
    /// Kinds of requests to make.
    #[arg(long, value_enum)]
    scenario: Scenario,
    /// Connections. Each has one request in flight. Over gRPC: calls in flight.
    #[arg(long, default_value_t = 32, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    connections: u32,
    /// Duration in seconds.
    #[arg(long, default_value_t = 10, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=3600))]
    duration: u64,
    /// Requests per second over all connections [default: as many as possible].
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u32).range(1..))]
    rate: Option<u32>,
    /// Items of a batch in the scenarios that write batches.
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    batch: u64,
    /// Running service to put under load, such as `http://127.0.0.1:8080`. Without it, a service with made data is
    /// started, and removed at the end.
    #[arg(long, value_name = "URL", requires = "token")]
    target: Option<String>,
    /// Token for the running service, or one token of each of several companies, separated by commas. Requests are
    /// spread evenly over the companies.
    #[arg(long, env = "COMPLIANCE_TOKEN", hide_env_values = true, value_delimiter = ',', value_name = "T")]
    token: Vec<String>,
    /// Companies of the service that is started without --target.
    #[arg(long, default_value_t = 64, conflicts_with = "target", value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    companies: u32,
    /// Allow a target that is not this machine.
    #[arg(long)]
    allow_remote: bool,
    /// File for the result as JSON. It can be the baseline of a later run.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Result of an earlier run to compare with.
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Fail if the rate or the p99 is worse than that of the baseline by more than a tenth.
    #[arg(long, requires = "baseline")]
    fail_on_regression: bool,
}

/// Puts load on REST, or on gRPC.
pub(crate) async fn drive(args: &DriveArgs, is_grpc: bool) -> anyhow::Result<()> {
    let baseline = args.baseline.as_deref().map(RunResult::read).transpose()?;
    let (result, demo) = if let Some(url) = &args.target {
        let target = Target::parse(url, args.allow_remote)?;
        let mut universes = Vec::new();
        for token in &args.token {
            universes.push(if is_grpc {
                discover::over_grpc(&target, token).await?
            } else {
                discover::over_rest(&target, token).await?
            });
        }
        (run(args, is_grpc, &target, args.token.clone(), universes).await, None)
    } else {
        let demo = Demo::start(args.companies).await?;
        let target = Target::local(if is_grpc { demo.service.grpc } else { demo.service.rest });
        let (tokens, universes) = demo.companies.iter().cloned().unzip();
        (run(args, is_grpc, &target, tokens, universes).await, Some(demo))
    };
    if let Some(demo) = demo {
        demo.stop().await;
    }
    let result = result.context("the result is void")?;
    result.print(baseline.as_ref());
    if let Some(file) = &args.json {
        result.write(file)?;
    }
    baseline.filter(|_| args.fail_on_regression).map_or(Ok(()), |baseline| result.check(&baseline))
}

async fn run(
    args: &DriveArgs,
    is_grpc: bool,
    target: &Target,
    tokens: Vec<String>,
    mut companies: Vec<Universe>,
) -> anyhow::Result<RunResult> {
    if !args.scenario.keeps_affiliates() {
        for company in &mut companies {
            company.affiliates_total = None;
        }
    }
    let DriveArgs { scenario, batch, connections, .. } = *args;
    let load = Load { scenario, batch, companies: &companies, connections };
    let workers: Vec<LoadWorker> = if is_grpc {
        load.grpc(target, &tokens).await?
    } else {
        load.rest(target, &tokens.into_iter().map(Some).collect::<Vec<_>>()).await?
    };
    let (layer, name) = (if is_grpc { "gRPC" } else { "REST" }, scenario.to_possible_value());
    let name = name.as_ref().map_or("", |name| name.get_name());
    let load = format!("{name} over {layer}, {connections} in flight, {} companies", companies.len());
    eprintln!("{load}, for {} s …", args.duration);
    let measured = measure(workers, args.duration as f64, args.rate.map(f64::from), || ()).await?;
    Ok(RunResult::new(load, &measured))
}
