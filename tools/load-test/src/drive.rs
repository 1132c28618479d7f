//! `load-test rest` and `load-test grpc`: load on one layer.

use std::{path::PathBuf, time::Duration};

use anyhow::Context as _;
use clap::{Args, ValueEnum as _};
use nix::sys::{
    resource::{UsageWho, getrusage},
    time::TimeVal,
};

use load_test::{
    load::{Load, LoadWorker},
    measure::{Measured, measure_after},
    target::Target,
    workload::Scenario,
};

use crate::{demo::Demo, discover::discover, result::RunResult};

/// Items of a batch, unless a setting says otherwise.
const BATCH: u64 = 100;

/// Settings of the load, its target and its result.
#[derive(Args, Debug)]
pub(crate) struct DriveArgs {
    /// Kinds of requests to make.
    #[arg(long, value_enum)]
    scenario: Scenario,
    /// Connections. Each has one request in flight. Over gRPC: calls in flight.
    #[arg(long, default_value_t = 32, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    connections: u32,
    /// Give each company its own connection, instead of --connections. The result has the fewest and the most requests of a company.
    #[arg(long, conflicts_with = "connections")]
    connection_per_company: bool,
    /// Duration of a run in seconds, without the warm-up.
    #[arg(long, default_value_t = 10, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=3600))]
    duration: u64,
    /// Number of runs. The result is the median of each figure, and the spread of the runs is the noise.
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    runs: u32,
    /// Seconds of load before each run that do not count.
    #[arg(long, default_value_t = 2, value_name = "S", value_parser = clap::value_parser!(u64).range(0..=600))]
    warm_up: u64,
    /// Maximum requests per second over all connections [default: as many as possible].
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u32).range(1..))]
    rate: Option<u32>,
    /// Items in a batch, for scenarios that write batches.
    #[arg(long, default_value_t = BATCH, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    batch: u64,
    /// Running service to put under load, such as `http://127.0.0.1:8080` or an `https` URL [default: a new service with made data].
    #[arg(long, value_name = "URL", requires = "token")]
    target: Option<String>,
    /// PEM file with the authorities to trust, for an `https` target [default: the system's authorities].
    #[arg(long, value_name = "FILE", requires = "target")]
    ca: Option<PathBuf>,
    /// Tokens for the running service, one per company, separated by commas. Requests spread evenly over the companies.
    #[arg(long, env = "COMPLIANCE_TOKEN", hide_env_values = true, value_delimiter = ',', value_name = "T")]
    token: Vec<String>,
    /// Number of companies of the new service.
    #[arg(long, default_value_t = 64, conflicts_with = "target", value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    companies: u32,
    /// Allow a target on another machine.
    #[arg(long)]
    allow_remote: bool,
    /// File for the result as JSON, which can be the baseline of a later run. A run with a wrong response has no result.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// File with the result of an earlier run, to compare with.
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Fail if the rate or the p99 is worse than the baseline, beyond noise. The result then does not replace the baseline.
    #[arg(long, requires = "baseline")]
    fail_on_regression: bool,
}

/// Puts load on REST, or on gRPC.
pub(crate) async fn drive(args: &DriveArgs, is_grpc: bool) -> anyhow::Result<()> {
    let companies = if args.target.is_some() { args.token.len() } else { args.companies as usize };
    let connections = if args.connection_per_company { companies as u32 } else { args.connections };
    let name = args.scenario.to_possible_value();
    let name = name.as_ref().map_or("", |name| name.get_name());
    let layer = if is_grpc { "gRPC" } else { "REST" };
    let batch = if args.batch == BATCH { String::new() } else { format!(", batches of {}", args.batch) };
    let rate = args.rate.map_or_else(String::new, |rate| format!(", {rate} requests a second at most"));
    let load = format!("{name} over {layer}, {connections} in flight, {companies} companies{batch}{rate}");
    let baseline = args.baseline.as_deref().map(|file| RunResult::read(file, &load)).transpose()?;
    let result = if let Some(url) = &args.target {
        let target = Target::parse(url, args.allow_remote, args.ca.as_deref())?;
        run(args, connections, is_grpc, &target, &args.token).await
    } else {
        let demo = Demo::start(args.companies).await?;
        let target = Target::local(if is_grpc { demo.grpc } else { demo.rest });
        run(args, connections, is_grpc, &target, &demo.tokens).await
    };
    let result = result.context("the result is void and not saved")?;
    let result = RunResult::new(load, &result, args.connection_per_company);
    print!("{}", result.text(baseline.as_ref()));
    let checked = baseline.filter(|_| args.fail_on_regression).map_or(Ok(()), |baseline| result.check(&baseline));
    // A worse result must not become the baseline.
    if let Some(file) = args.json.as_ref().filter(|file| checked.is_ok() || Some(*file) != args.baseline.as_ref()) {
        result.write(file)?;
    }
    checked
}

async fn run(
    args: &DriveArgs,
    connections: u32,
    is_grpc: bool,
    target: &Target,
    tokens: &[String],
) -> anyhow::Result<Vec<Measured<f64>>> {
    let mut companies = Vec::new();
    for token in tokens {
        let mut company = discover(target, token, is_grpc).await?;
        company.affiliates_total = company.affiliates_total.filter(|_| args.scenario.keeps_affiliates());
        companies.push(company);
    }
    let DriveArgs { scenario, batch, connection_per_company, .. } = *args;
    let load = Load { scenario, batch, companies: &companies, connections };
    let tokens_of_rest: Vec<_> = tokens.iter().cloned().map(Some).collect();
    let mut runs = Vec::new();
    for number in 1..=args.runs {
        eprintln!("run {number} of {}: {} s, after {} s of warm-up", args.runs, args.duration, args.warm_up);
        let mut workers: Vec<LoadWorker> =
            if is_grpc { load.grpc(target, tokens).await? } else { load.rest(target, &tokens_of_rest).await? };
        if connection_per_company {
            workers.iter_mut().for_each(LoadWorker::keep_company);
        }
        let (warm_up, rate) = (Duration::from_secs(args.warm_up), args.rate.map(f64::from));
        runs.push(measure_after(warm_up, workers, args.duration as f64, rate, processor_seconds).await?);
    }
    Ok(runs)
}

/// Processor time that this process has used so far.
fn processor_seconds() -> f64 {
    let seconds = |time: TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    getrusage(UsageWho::RUSAGE_SELF).map_or(0.0, |usage| seconds(usage.user_time()) + seconds(usage.system_time()))
}
