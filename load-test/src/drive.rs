//! `load-test rest` and `load-test grpc`: load on one layer, with a live view, percentiles and baselines by `rlt`.

mod discover;
mod grpc_suite;
mod rest_suite;
mod shared;

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use clap::{Args, Parser as _};
use rlt::{BenchSuite, cli::BenchCli};

use load_test::{
    service::Demo,
    target::Target,
    workload::{Ids, Scenario},
};
use shared::{Company, Shared};

/// Settings of the load, its target and its result.
#[derive(Args, Debug)]
pub(crate) struct DriveArgs {
    /// Operations to call.
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
    /// Token for the running service, or one token of each of several companies, separated by commas. Connections are
    /// spread evenly over the companies.
    #[arg(long, env = "COMPLIANCE_TOKEN", hide_env_values = true, value_delimiter = ',', value_name = "T")]
    token: Vec<String>,
    /// Companies of the service that is started without --target.
    #[arg(long, default_value_t = 64, conflicts_with = "target", value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    companies: u32,
    /// Range of affiliate IDs to read, which must all exist; by default they are looked up.
    #[arg(long, value_name = "FIRST-LAST")]
    ids: Option<Ids>,
    /// Allow a target that is not this machine.
    #[arg(long)]
    allow_remote: bool,
    /// File for the result as JSON. It can be the baseline of a later run.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Result of an earlier run to compare with.
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Fail if the result is worse than the baseline.
    #[arg(long, requires = "baseline")]
    fail_on_regression: bool,
    /// No live view.
    #[arg(long)]
    quiet: bool,
}

/// Settings of load on gRPC.
#[derive(Args, Debug)]
pub(crate) struct GrpcArgs {
    #[command(flatten)]
    drive: DriveArgs,
    /// Calls in flight on one HTTP/2 connection. The tasks of an internal service share its connection; with 1, each call has
    /// a connection of its own.
    #[arg(long, default_value_t = 16, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    calls_per_connection: u32,
}

/// Puts load on REST.
pub(crate) async fn rest(args: &DriveArgs) -> anyhow::Result<()> {
    let (shared, demo) = prepare(args, Layer::Rest).await?;
    finish(run(args, rest_suite::Rest(shared.clone())).await, &shared, demo).await
}

/// Puts load on gRPC.
pub(crate) async fn grpc(GrpcArgs { drive, calls_per_connection }: &GrpcArgs) -> anyhow::Result<()> {
    let (shared, demo) = prepare(drive, Layer::Grpc).await?;
    let connections = drive.connections.div_ceil(*calls_per_connection);
    let result = match grpc_suite::Grpc::connect(shared.clone(), connections).await {
        Ok(suite) => run(drive, suite).await,
        Err(error) => Err(error),
    };
    finish(result, &shared, demo).await
}

#[derive(Clone, Copy)]
enum Layer {
    Rest,
    Grpc,
}

async fn prepare(args: &DriveArgs, layer: Layer) -> anyhow::Result<(Shared, Option<Demo>)> {
    let (target, mut companies, demo) = if let Some(url) = &args.target {
        let target = Target::parse(url, args.allow_remote)?;
        let mut companies = Vec::new();
        for token in &args.token {
            let universe = match layer {
                Layer::Rest => discover::over_rest(&target, token, args.ids.clone()).await?,
                Layer::Grpc => discover::over_grpc(&target, token, args.ids.clone()).await?,
            };
            companies.push(Company { token: token.clone(), universe });
        }
        (target, companies, None)
    } else {
        let demo = Demo::start(args.companies).await?;
        let target = Target::local(match layer {
            Layer::Rest => demo.service.rest,
            Layer::Grpc => demo.service.grpc,
        });
        let companies = demo.companies.iter().cloned().map(|(token, universe)| Company { token, universe });
        (target, companies.collect(), Some(demo))
    };
    if !args.scenario.keeps_affiliates() {
        for company in &mut companies {
            company.universe.affiliates_total = None;
        }
    }
    Ok((Shared::new(target, args.scenario, companies, args.batch), demo))
}

async fn run<S>(args: &DriveArgs, suite: S) -> anyhow::Result<()>
where
    S: BenchSuite + Send + 'static,
    S::WorkerState: Send + 'static,
{
    rlt::cli::run(options(args)?, suite).await
}

async fn finish(result: anyhow::Result<()>, shared: &Shared, demo: Option<Demo>) -> anyhow::Result<()> {
    if let Some(demo) = demo {
        demo.stop().await;
    }
    result?;
    shared.check()
}

/// The options of the library, which reads them from a command line.
fn options(args: &DriveArgs) -> anyhow::Result<BenchCli> {
    let mut words: Vec<OsString> = vec!["load-test".into()];
    let mut option = |name: &str, value: OsString| words.extend([name.into(), value]);
    option("--concurrency", args.connections.to_string().into());
    option("--duration", format!("{}s", args.duration).into());
    if let Some(rate) = args.rate {
        option("--rate", rate.to_string().into());
    }
    if let Some(file) = &args.baseline {
        option("--baseline-file", file.into());
    }
    if let Some(file) = &args.json {
        // The library saves the whole result for later comparison.
        let is_json = file.extension().is_some_and(|extension| extension == "json");
        let name = file.file_stem().filter(|_| is_json).context("the file of --json must be called ….json")?;
        option("--save-baseline", name.into());
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        option("--baseline-dir", folder.into());
    }
    words.extend(args.quiet.then(|| "--quiet".into()));
    words.extend(args.fail_on_regression.then(|| "--fail-on-regression".into()));
    Ok(BenchCli::try_parse_from(words)?)
}
