//! Runs the comparison.

use std::{path::Path, time::Instant};

use load_test::{
    service::{Build, TemporaryFolder},
    workload::Scenario,
};

use crate::{
    args::{CompareArgs, Effort, Part},
    batch, changes, companies,
    dataset::{MANY, MIDDLE},
    demo_data, experiments,
    goals::{self, POINT_READS},
    listing, lists,
    load::load,
    peers::install,
    report,
    results::{Machine, Results},
    service::Database,
    stage::{LIMIT, Stage},
    url_page,
};

/// Maximum number of rounds of a part whose rounds take minutes.
const FEW_ROUNDS: u64 = 3;

/// One build of the service with its database and results.
struct Subject<'a> {
    build: &'a Build,
    database: &'a Database,
    /// Dropped before the whole lists, which start their own processes.
    stage: Option<Stage<'a>>,
    results: Results,
}

/// Measures everything and writes the report.
pub(crate) async fn run(args: &CompareArgs) -> anyhow::Result<()> {
    let start = Instant::now();
    let build = match &args.ours {
        Some(path) => Build::at(path)?,
        None => Build::own().await?,
    };
    let before_build = args.before_build.as_deref().map(Build::at).transpose()?;
    let folder = TemporaryFolder::create()?;
    let data_dir = args.data_dir.as_deref().unwrap_or(&folder.0);
    let (records, seed) = (args.dataset().records(), args.dataset().seed);
    let database = Database::open(data_dir, &build, &records, seed).await?;
    // Even after an error, databases stop in order, since later runs may use them.
    let measured = match &before_build {
        None => measure(args, &folder.0, &[(&build, &database)]).await,
        Some(before) => match Database::open(&data_dir.join("before"), before, &records, seed).await {
            Ok(other) => {
                let measured = measure(args, &folder.0, &[(&build, &database), (before, &other)]).await;
                other.stop().await;
                measured
            }
            Err(error) => Err(error),
        },
    };
    database.stop().await;
    let mut measured = measured?.into_iter();
    let Some(mut results) = measured.next() else { return Ok(()) };
    results.minutes = start.elapsed().as_secs_f64() / 60.0;
    report::write(&results, measured.next().as_ref(), &args.out())
}

/// Measures each build over its database. Only the first one is compared with the peers.
async fn measure(args: &CompareArgs, folder: &Path, builds: &[(&Build, &Database)]) -> anyhow::Result<Vec<Results>> {
    let (effort, dataset) = (args.effort(), args.dataset());
    let peers = args.peers_dir.clone().unwrap_or_else(install::default_folder);
    let all = args.wants(Part::PointRead) || args.wants(Part::Companies);
    let mut subjects = Vec::new();
    for (index, (build, database)) in builds.iter().enumerate() {
        let (machine, Effort { rounds, seconds }) = (Machine::this(database.version()), effort);
        let mut results = Results { machine, dataset, rounds, seconds, ..Results::default() };
        let peers = (index == 0).then_some(peers.as_path());
        let stage = Stage::set(database, build, folder, peers, MANY, all).await?;
        results.skipped.clone_from(&stage.skipped);
        subjects.push(Subject { build, database, stage: Some(stage), results });
    }
    all_rounds(args, folder, &mut subjects).await?;
    for subject in &mut subjects {
        subject.results.goals = goals::of(&subject.results);
    }
    Ok(subjects.into_iter().map(|subject| subject.results).collect())
}

async fn all_rounds(args: &CompareArgs, folder: &Path, subjects: &mut [Subject<'_>]) -> anyhow::Result<()> {
    let all = args.effort().rounds;
    for (part, what, count) in [
        (Part::PointRead, "point reads", all),
        (Part::Companies, "companies", all),
        (Part::UrlPage, "pages of URLs", all),
        (Part::Experiments, "experiments", all.min(FEW_ROUNDS)),
        (Part::FirstPages, "first pages", all.min(FEW_ROUNDS)),
        (Part::Pages, "late pages", all),
        (Part::Totals, "totals", all),
        (Part::Batch, "batches", 1),
        (Part::Changes, "changes", all),
        (Part::Listing, "whole lists", all),
        (Part::DemoData, "demo data", all.min(FEW_ROUNDS)),
    ] {
        if !args.wants(part) {
            continue;
        }
        if matches!(part, Part::Listing | Part::DemoData) {
            for subject in subjects.iter_mut() {
                subject.stage = None;
            }
        }
        for round in 0..count {
            eprintln!("{what}, round {} of {count}", round + 1);
            // The order changes every round.
            for turn in 0..subjects.len() {
                let index = (turn + round as usize) % subjects.len();
                subjects[index].measure(part, round, args, folder).await?;
            }
        }
    }
    Ok(())
}

impl Subject<'_> {
    /// Measures one round of a part.
    async fn measure(&mut self, part: Part, round: u64, args: &CompareArgs, folder: &Path) -> anyhow::Result<()> {
        let Self { build, database, stage, results } = self;
        let Effort { rounds, seconds } = args.effort();
        let Some(stage) = stage else {
            let urls = if args.quick { 5_000 } else { 100_000 };
            return match part {
                Part::DemoData => demo_data::round(database, build, folder, urls, results).await,
                _ => listing::round(database, build, folder, results).await,
            };
        };
        match part {
            Part::PointRead => point_reads(stage, &args.connections, round, seconds, results).await,
            Part::Companies => companies::round(stage, round, seconds, results).await,
            Part::UrlPage => url_page::round(stage, round, seconds, results).await,
            Part::Experiments => experiments::round(stage, seconds, results).await,
            Part::FirstPages => {
                lists::round(stage, lists::first_pages(stage, MIDDLE).await?, results).await?;
                lists::round(stage, lists::first_pages(stage, MANY).await?, results).await
            }
            Part::Pages => lists::round(stage, lists::late_pages(stage).await?, results).await,
            Part::Totals => lists::round(stage, lists::totals(stage).await?, results).await,
            Part::Batch => batch::run(stage, rounds, results).await,
            Part::Changes => changes::round(stage, round, seconds, results).await,
            // These parts have no stage.
            Part::Listing | Part::DemoData => Ok(()),
        }
    }
}

/// One affiliate by ID, from every contender. Each round begins with another contender.
async fn point_reads(
    stage: &Stage<'_>,
    connections: &[u32],
    round: u64,
    seconds: f64,
    results: &mut Results,
) -> anyhow::Result<()> {
    let contenders: Vec<_> = stage.contenders.iter().filter(|contender| contender.key != LIMIT).collect();
    for connections in connections.iter().copied() {
        for turn in 0..contenders.len() {
            let contender = contenders[(turn + round as usize) % contenders.len()];
            let companies = std::slice::from_ref(&stage.universe);
            let sample = load(stage, contender, Scenario::PointRead, companies, connections, seconds).await?;
            results.series(POINT_READS, (contender.key, contender.name), 1, connections).samples.push(sample);
        }
    }
    Ok(())
}
