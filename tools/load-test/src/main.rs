//! Load-tests one layer of a running service, and prints its latencies and errors.

use std::{collections::BTreeMap, path::PathBuf, process::ExitCode, time::Duration};

use anyhow::{Context as _, ensure};
use clap::Parser;
use flags::count;
use load_test::{
    client::Layer,
    load::{Load, discover},
    measure::{Measured, measure},
    target::Target,
    workload::Scenario,
};
use serde::Serialize;

const PERCENTILES: [(&str, f64); 5] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0)];

/// Minimum reached part of the requested rate.
const REACHED: f64 = 0.9;

/// Load-test the Affiliate Compliance Service. The exit status is 1 if a response was wrong or missing, or if the rate was far below --rate.
#[derive(Debug, Parser)]
#[command(name = "load-test", version)]
struct Args {
    /// Layer to send requests to.
    #[arg(value_enum)]
    layer: Layer,
    /// URL of the running service [default: `http://127.0.0.1:8080` for REST, `http://127.0.0.1:50051` for gRPC].
    #[arg(long, value_name = "URL")]
    target: Option<String>,
    /// Allow a target on a different machine.
    #[arg(long)]
    allow_remote: bool,
    /// Tokens, one per company, separated by commas. The load is spread evenly across companies.
    #[arg(
        long,
        env = "COMPLIANCE_TOKEN",
        hide_env_values = true,
        value_delimiter = ',',
        value_name = "T",
        required = true
    )]
    token: Vec<String>,
    /// Kinds of requests to send.
    #[arg(long, value_enum, default_value_t = Scenario::Mixed)]
    scenario: Scenario,
    /// Number of requests in flight. Over REST, each has its own connection.
    #[arg(long, default_value_t = 32, value_name = "N", value_parser = count(1..=10_000_u32))]
    connections: u32,
    /// Maximum requests per second across all connections [default: as many as possible].
    #[arg(long, value_name = "R", value_parser = count(1..=u32::MAX))]
    rate: Option<u32>,
    /// Duration of the measurement, in seconds.
    #[arg(long, default_value_t = 10, value_name = "S", value_parser = count(1..=86_400_u64))]
    duration: u64,
    /// Duration of the load before the measurement, in seconds.
    #[arg(long, default_value_t = 2, value_name = "S", value_parser = count(0..=600_u64))]
    warm_up: u64,
    /// Number of items per batch, for scenarios that write batches.
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = count(1..=10_000_u64))]
    batch: u64,
    /// Also write the result to a file, as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// The result of a run.
#[derive(Debug, Serialize)]
struct Outcome {
    seconds: f64,
    /// Number of correct responses.
    requests: u64,
    requests_per_second: f64,
    /// Percentiles by name.
    latency_ms: BTreeMap<&'static str, f64>,
    errors: BTreeMap<String, u64>,
}

// More threads would take CPU time from a service on the same machine.
#[tokio::main(worker_threads = 1)]
async fn main() -> ExitCode {
    match run(&Args::parse()).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("load-test: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the load, and returns whether all responses were correct and the rate was reached.
async fn run(args: &Args) -> anyhow::Result<bool> {
    let Args { layer, scenario, connections, batch, .. } = *args;
    let url = args.target.as_deref().unwrap_or(match layer {
        Layer::Rest => "http://127.0.0.1:8080",
        Layer::Grpc => "http://127.0.0.1:50051",
    });
    let target = Target::parse(url, args.allow_remote)?;
    ensure!(
        !args.token.iter().any(|token| token.trim().is_empty()),
        "a token is empty: set COMPLIANCE_TOKEN or --token"
    );
    let mut companies = Vec::new();
    for token in &args.token {
        companies.push(discover(&target, layer, token).await?);
    }
    let tokens: Vec<_> = args.token.iter().cloned().map(Some).collect();
    let load = Load { scenario, batch, companies: &companies, connections };
    let workers = load.workers(layer, &target, &tokens).await?;
    let (warm_up, rate) = (Duration::from_secs(args.warm_up), args.rate.map(f64::from));
    let measured = measure(warm_up, workers, args.duration as f64, rate, || ()).await?;
    let outcome = Outcome::of(measured);
    print!("{}", outcome.text());
    let is_reached = args.rate.is_none_or(|rate| outcome.reaches(rate, connections));
    if let Some(rate) = args.rate.filter(|_| !is_reached) {
        println!("THE RATE WAS NOT REACHED: --rate is {rate} requests a second");
    }
    if let Some(file) = &args.json {
        std::fs::write(file, serde_json::to_string_pretty(&outcome)? + "\n")
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    ensure!(outcome.requests > 0 || !outcome.errors.is_empty(), "no response arrived in {} s", args.duration);
    Ok(outcome.errors.is_empty() && is_reached)
}

impl Outcome {
    fn of(measured: Measured<()>) -> Self {
        Self {
            seconds: measured.seconds,
            requests: measured.latencies.len(),
            requests_per_second: measured.rate(),
            latency_ms: PERCENTILES.map(|(name, part)| (name, measured.milliseconds(part))).into(),
            errors: measured.errors,
        }
    }

    /// Returns whether the run reached most of a rate. The last requests of all connections may be unfinished.
    fn reaches(&self, rate: u32, connections: u32) -> bool {
        let responses = self.requests + self.errors.values().sum::<u64>() + u64::from(connections);
        responses as f64 >= REACHED * f64::from(rate) * self.seconds
    }

    fn text(&self) -> String {
        let Self { requests, seconds, requests_per_second: rate, .. } = self;
        let mut lines = vec![format!("{requests} correct responses in {seconds:.1} s: {rate:.0} requests a second")];
        lines.extend(PERCENTILES.map(|(name, _)| format!("{name:>8} {:.2} ms", self.latency_ms[name])));
        lines.push(format!("{} errors", self.errors.values().sum::<u64>()));
        lines.extend(self.errors.iter().map(|(message, number)| format!("{number:>8} x {message}")));
        if self.errors.keys().any(|message| message.contains("429") || message.contains("ResourceExhausted")) {
            lines.push(
                "Requests exceeded a limit: start the service with --rate-limit off, and use more companies".to_owned(),
            );
        }
        lines.join("\n") + "\n"
    }
}
