//! `load-test compare`: the service beside what others would use, all measured in one run on one machine.
//!
//! What is compared is measured in turns, several rounds of it, so that whatever else the machine does meanwhile hits
//! all alike; what counts are the medians of the rounds' ratios.

mod batch;
mod chart;
mod contender;
mod goals;
mod listing;
mod measure;
mod pages;
mod pgbench;
mod point_read;
mod question;
mod report;
mod results;
mod single;
mod stage;
mod totals;
mod url_page;

use std::{path::PathBuf, time::Instant};

use clap::{Args, ValueEnum};

use crate::{
    peers::install,
    service::{Binaries, Database, Dataset, Folder, MANY},
};
use results::{Machine, Results};
use stage::Stage;

/// What is measured, with how many records, for how long, and where the results go.
#[derive(Args, Debug)]
pub(crate) struct CompareArgs {
    /// Rounds; the median of them counts.
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100))]
    rounds: u64,
    /// Seconds that each contender is under load in each round.
    #[arg(long, default_value_t = 3, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=60))]
    seconds: u64,
    /// Affiliates; half of them are of the company that is measured.
    #[arg(long, default_value_t = 1_000_000, value_name = "N", value_parser = clap::value_parser!(u64).range(2_000..))]
    affiliates: u64,
    /// URLs, likewise.
    #[arg(long, default_value_t = 2_000_000, value_name = "N", value_parser = clap::value_parser!(u64).range(2_000..))]
    urls: u64,
    /// Cases, likewise.
    #[arg(long, default_value_t = 500_000, value_name = "N", value_parser = clap::value_parser!(u64).range(2_000..))]
    cases: u64,
    /// Affiliates of the company whose whole list is streamed; by default as many as there are besides.
    #[arg(long, value_name = "N")]
    listed: Option<u64>,
    /// What the made records are made from.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u64).range(0..1 << 20))]
    seed: u64,
    /// Connections at which point reads are measured.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 32, 64], value_name = "N,…")]
    connections: Vec<u32>,
    /// Measure these only.
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Part>,
    /// Of the contenders, measure point reads of these only, by their letters.
    #[arg(long, value_delimiter = ',')]
    among: Vec<char>,
    /// See quickly whether everything works: one round of a second with few records. The figures mean nothing.
    #[arg(long)]
    quick: bool,
    /// Folder for the database, kept and used again; by default one that is removed at the end.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Folder for the peers that come from package indexes.
    #[arg(long, value_name = "DIR")]
    peers_dir: Option<PathBuf>,
    /// Folder for the report and its charts; by default docs/, and target/load-test/ for a quick or partial run.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Numbers of an earlier run (the JSON file it wrote), to be shown beside.
    #[arg(long, value_name = "FILE")]
    before: Option<PathBuf>,
}

/// A part of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// One affiliate by ID, by all contenders.
    PointRead,
    /// A page of URLs with infractions.
    UrlPage,
    /// Late pages beside the first.
    Pages,
    /// Exact totals of many records beside those of few.
    Totals,
    /// The whole list of affiliates.
    Listing,
    /// Many affiliates in one request.
    Batch,
}

/// What of the arguments the measurements need.
#[derive(Clone, Copy, Debug)]
struct Effort {
    rounds: u64,
    seconds: f64,
}

/// Runs the comparison.
pub(crate) async fn run(args: &CompareArgs) -> anyhow::Result<()> {
    let start = Instant::now();
    let dataset = dataset(args);
    let effort = if args.quick {
        Effort { rounds: 1, seconds: 1.0 }
    } else {
        Effort { rounds: args.rounds, seconds: args.seconds as f64 }
    };
    let before = args.before.as_deref().map(Results::read).transpose()?;
    let binaries = Binaries::find_or_build(&["compliance"]).await?;
    let folder = Folder::temporary()?;
    let database = Database::start(args.data_dir.as_deref().unwrap_or(&folder.0)).await?;
    // Whatever happens, the database is stopped in order: it may be used again.
    let measured = measure_all(args, effort, &dataset, &database, &binaries, &folder).await;
    database.stop().await;
    let mut results = measured?;
    results.minutes = start.elapsed().as_secs_f64() / 60.0;
    results.goals = goals::of(&results);
    report::write(&results, before.as_ref(), &out(args))
}

async fn measure_all(
    args: &CompareArgs,
    effort: Effort,
    dataset: &Dataset,
    database: &Database,
    binaries: &Binaries,
    folder: &Folder,
) -> anyhow::Result<Results> {
    database.load(dataset, binaries).await?;
    let wanted = |part| args.only.is_empty() || args.only.contains(&part);
    let mut results = Results::new(Machine::this(database.version()), *dataset, effort.rounds, effort.seconds);
    let peers = args.peers_dir.clone().unwrap_or_else(install::default_folder);
    let mut stage = Stage::set(database, binaries, &folder.0, &peers, MANY, wanted(Part::PointRead)).await?;
    results.skipped.clone_from(&stage.skipped);
    if !args.among.is_empty() {
        stage.contenders.retain(|contender| args.among.contains(&contender.key));
    }
    if wanted(Part::PointRead) {
        results.point_reads = point_read::run(&stage, &args.connections, effort).await?;
    }
    if wanted(Part::UrlPage) {
        results.url_pages = url_page::run(&stage, effort).await?;
    }
    if wanted(Part::Pages) {
        results.pages = pages::run(&stage, effort).await?;
    }
    if wanted(Part::Totals) {
        results.totals = totals::run(&stage, effort).await?;
    }
    if wanted(Part::Batch) {
        results.batch = Some(batch::run(&stage, effort).await?);
    }
    drop(stage);
    if wanted(Part::Listing) {
        results.listing = Some(listing::run(database, binaries, &folder.0, dataset, effort).await?);
    }
    Ok(results)
}

fn dataset(args: &CompareArgs) -> Dataset {
    if args.quick {
        return Dataset { affiliates: 20_000, urls: 40_000, cases: 8_000, listed: 20_000, seed: args.seed };
    }
    let listed = args.listed.unwrap_or(args.affiliates);
    Dataset { affiliates: args.affiliates, urls: args.urls, cases: args.cases, listed, seed: args.seed }
}

fn out(args: &CompareArgs) -> PathBuf {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let whole = !args.quick && args.only.is_empty() && args.among.is_empty();
    args.out.clone().unwrap_or_else(|| root.join(if whole { "docs" } else { "target/load-test" }))
}
