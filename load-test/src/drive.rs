//! `load-test rest` and `load-test grpc`: load on one layer, with a live view, percentiles and baselines (by `rlt`).

mod discover;
mod grpc_suite;
mod rest_suite;

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use anyhow::{Context as _, bail};
use clap::{Args, Parser as _};
use rlt::{BenchSuite, IterReport, Status, cli::BenchCli};
use tokio::time::Duration;

use crate::{
    service::Demo,
    target::Target,
    workload::{Ids, Scenario, Universe},
};

/// What load, on what, and where its result goes.
#[derive(Args, Debug)]
pub(crate) struct DriveArgs {
    /// What is asked, again and again.
    #[arg(long, value_enum)]
    scenario: Scenario,
    /// Connections, each with one request at a time.
    #[arg(long, default_value_t = 32, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    connections: u32,
    /// Seconds that it lasts.
    #[arg(long, default_value_t = 10, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=3600))]
    duration: u64,
    /// Requests a second in all; as many as possible when not given.
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u32).range(1..))]
    rate: Option<u32>,
    /// Items of a batch, in the scenarios that write batches.
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    batch: u64,
    /// Running service to put under load, such as `http://127.0.0.1:8080`. Without one, a service with made records is
    /// started, and removed at the end.
    #[arg(long, value_name = "URL", requires = "token")]
    target: Option<String>,
    /// Token for the running service.
    #[arg(long, env = "COMPLIANCE_TOKEN", hide_env_values = true, value_name = "T")]
    token: Option<String>,
    /// Range of affiliate IDs to ask for, all of which must be there; by default they are looked up.
    #[arg(long, value_name = "FIRST-LAST")]
    ids: Option<Ids>,
    /// Allow a target that is not this machine.
    #[arg(long)]
    allow_remote: bool,
    /// File to write the result to, as JSON; it can be the baseline of a later run.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Result of an earlier run to compare with.
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Fail when the result is worse than the baseline.
    #[arg(long, requires = "baseline")]
    fail_on_regression: bool,
    /// No live view.
    #[arg(long)]
    quiet: bool,
}

/// Answers, counted by all workers.
#[derive(Debug, Default)]
pub(super) struct Answers {
    right: AtomicU64,
    wrong: AtomicU64,
    /// What is wrong with the first wrong one.
    first: OnceLock<String>,
}

/// What the workers of both layers share.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    pub(super) target: Target,
    pub(super) token: String,
    pub(super) scenario: Scenario,
    pub(super) universe: Universe,
    pub(super) batch: u64,
    pub(super) answers: Arc<Answers>,
}

impl Shared {
    /// The report on one operation.
    pub(super) fn report(&self, duration: Duration, bytes: u64, done: anyhow::Result<u64>) -> IterReport {
        let (status, items) = match done {
            Ok(items) => {
                self.answers.right.fetch_add(1, Ordering::Relaxed);
                (Status::success(0), items)
            }
            Err(error) => {
                self.answers.wrong.fetch_add(1, Ordering::Relaxed);
                self.answers.first.get_or_init(|| format!("{error:#}"));
                (Status::error(1), 0)
            }
        };
        IterReport { duration, status, bytes, items }
    }
}

/// Puts load on REST.
pub(crate) async fn rest(args: &DriveArgs) -> anyhow::Result<()> {
    let (shared, demo) = prepare(args, Layer::Rest).await?;
    finish(run(args, rest_suite::Rest(shared.clone())).await, &shared, demo).await
}

/// Puts load on gRPC.
pub(crate) async fn grpc(args: &DriveArgs) -> anyhow::Result<()> {
    let (shared, demo) = prepare(args, Layer::Grpc).await?;
    finish(run(args, grpc_suite::Grpc(shared.clone())).await, &shared, demo).await
}

#[derive(Clone, Copy)]
enum Layer {
    Rest,
    Grpc,
}

async fn prepare(args: &DriveArgs, layer: Layer) -> anyhow::Result<(Shared, Option<Demo>)> {
    let (target, token, mut universe, demo) = if let (Some(url), Some(token)) = (&args.target, &args.token) {
        let target = Target::parse(url, args.allow_remote)?;
        let universe = match layer {
            Layer::Rest => discover::over_rest(&target, token, args.ids.clone()).await?,
            Layer::Grpc => discover::over_grpc(&target, token, args.ids.clone()).await?,
        };
        (target, token.clone(), universe, None)
    } else {
        let demo = Demo::start().await?;
        let target = Target::local(match layer {
            Layer::Rest => demo.service.rest,
            Layer::Grpc => demo.service.grpc,
        });
        (target, demo.token.clone(), demo.universe.clone(), Some(demo))
    };
    if !args.scenario.keeps_affiliates() {
        universe.affiliates_total = None;
    }
    let answers = Arc::default();
    let (scenario, batch) = (args.scenario, args.batch);
    Ok((Shared { target, token, scenario, universe, batch, answers }, demo))
}

async fn run<S>(args: &DriveArgs, suite: S) -> anyhow::Result<()>
where
    S: BenchSuite + Send + 'static,
    S::WorkerState: Send + 'static,
{
    rlt::cli::run(options(args)?, suite).await
}

async fn finish(ran: anyhow::Result<()>, shared: &Shared, demo: Option<Demo>) -> anyhow::Result<()> {
    if let Some(demo) = demo {
        demo.stop().await;
    }
    ran?;
    let answers = &shared.answers;
    match answers.wrong.load(Ordering::Relaxed) {
        0 if answers.right.load(Ordering::Relaxed) == 0 => bail!("nothing was answered in this time"),
        0 => Ok(()),
        count => {
            let first = answers.first.get().map_or("", String::as_str);
            bail!("{count} wrong answers, so the result does not count; the first: {first}")
        }
    }
}

/// The options of the library, which has a command line of its own.
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
        // What the library saves for later comparison is the whole result.
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
