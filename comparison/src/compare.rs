//! Runs the comparison.

use std::{path::Path, time::Instant};

use load_test::service::{Build, Database, Folder};

use crate::{
    args::{CompareArgs, Effort, Part},
    batch, companies,
    dataset::{Dataset, MANY, MIDDLE},
    demo_data, first_pages, goals, late_pages, listing,
    peers::install,
    point_read, report,
    results::{Machine, Results},
    stage::Stage,
    totals, url_page,
};

/// Parts whose rounds take minutes have at most this many.
const FEW_ROUNDS: u64 = 3;

/// One build of the service with its database and what was measured of it.
struct Subject<'a> {
    build: &'a Build,
    database: &'a Database,
    /// Dropped before the whole lists, which start processes of their own.
    stage: Option<Stage<'a>>,
    results: Results,
}

/// Measures everything and writes the report.
pub(crate) async fn run(args: &CompareArgs) -> anyhow::Result<()> {
    let start = Instant::now();
    let earlier = args.before.as_deref().map(Results::read).transpose()?;
    let build = match &args.ours {
        Some(path) => Build::at(path).await?,
        None => Build::own().await?,
    };
    let before_build = match &args.before_build {
        Some(path) => Some(Build::at(path).await?),
        None => None,
    };
    let folder = Folder::temporary()?;
    let data_dir = args.data_dir.as_deref().unwrap_or(&folder.0);
    let (shares, seed) = (args.dataset().shares(), args.dataset().seed);
    let database = Database::open(data_dir, &build, &shares, seed).await?;
    // Databases are stopped in order even after an error, since they may be used again.
    let measured = match &before_build {
        None => measure(args, &folder.0, &[(&build, &database)]).await,
        Some(before) => match Database::open(&data_dir.join("before"), before, &shares, seed).await {
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
    report::write(&results, earlier.as_ref(), measured.next().as_ref(), &args.out())
}

/// Measures each build over its database. The first is ours: only it is set beside the peers.
async fn measure(args: &CompareArgs, folder: &Path, builds: &[(&Build, &Database)]) -> anyhow::Result<Vec<Results>> {
    let (effort, dataset) = (args.effort(), args.dataset());
    let peers = args.peers_dir.clone().unwrap_or_else(install::default_folder);
    let all = args.wants(Part::PointRead) || args.wants(Part::Companies);
    let mut subjects = Vec::new();
    for (index, (build, database)) in builds.iter().enumerate() {
        let mut results = Results::new(Machine::this(database.version()), dataset, effort.rounds, effort.seconds);
        let peers = (index == 0).then_some(peers.as_path());
        let mut stage = Stage::set(database, build, folder, peers, MANY, all).await?;
        results.skipped.clone_from(&stage.skipped);
        if !args.among.is_empty() {
            stage.contenders.retain(|contender| args.among.contains(&contender.key));
        }
        subjects.push(Subject { build, database, stage: Some(stage), results });
    }
    with_stages(args, effort, &mut subjects).await?;
    for subject in &mut subjects {
        subject.stage = None;
    }
    without_stages(args, effort, &dataset, folder, &mut subjects).await?;
    for subject in &mut subjects {
        subject.results.goals = goals::of(&subject.results);
    }
    Ok(subjects.into_iter().map(|subject| subject.results).collect())
}

async fn with_stages(args: &CompareArgs, effort: Effort, subjects: &mut [Subject<'_>]) -> anyhow::Result<()> {
    if args.wants(Part::PointRead) {
        for round in rounds("point reads", effort.rounds) {
            for connections in &args.connections {
                for (stage, results) in in_turn(subjects, round) {
                    point_read::round(stage, *connections, round, effort.seconds, &mut results.point_reads).await?;
                }
            }
        }
    }
    if args.wants(Part::Companies) {
        for round in rounds("companies", effort.rounds) {
            for (stage, results) in in_turn(subjects, round) {
                companies::round(stage, round, effort.seconds, &mut results.companies).await?;
            }
        }
    }
    if args.wants(Part::UrlPage) {
        for (stage, _) in in_turn(subjects, 0) {
            url_page::check(stage).await?;
        }
        for round in rounds("pages of URLs", effort.rounds) {
            for (stage, results) in in_turn(subjects, round) {
                url_page::round(stage, round, effort.seconds, &mut results.url_pages).await?;
            }
        }
    }
    if args.wants(Part::FirstPages) {
        for round in rounds("first pages", effort.rounds.min(FEW_ROUNDS)) {
            for company in [MIDDLE, MANY] {
                for (stage, results) in in_turn(subjects, round) {
                    first_pages::round(stage, company, &mut results.first_pages).await?;
                }
            }
        }
    }
    if args.wants(Part::Pages) {
        for round in rounds("late pages", effort.rounds) {
            for (stage, results) in in_turn(subjects, round) {
                late_pages::round(stage, &mut results.pages).await?;
            }
        }
    }
    if args.wants(Part::Totals) {
        for round in rounds("totals", effort.rounds) {
            for (stage, results) in in_turn(subjects, round) {
                totals::round(stage, &mut results.totals).await?;
            }
        }
    }
    if args.wants(Part::Batch) {
        for (stage, results) in in_turn(subjects, 0) {
            results.batch = Some(batch::run(stage, effort.rounds).await?);
        }
    }
    Ok(())
}

async fn without_stages(
    args: &CompareArgs,
    effort: Effort,
    dataset: &Dataset,
    folder: &Path,
    subjects: &mut [Subject<'_>],
) -> anyhow::Result<()> {
    if args.wants(Part::Listing) {
        for _ in rounds("whole lists", effort.rounds) {
            for Subject { build, database, results, .. } in &mut *subjects {
                let listing = results.listing.get_or_insert_default();
                listing::round(database, build, folder, dataset, listing).await?;
            }
        }
    }
    if args.wants(Part::DemoData) {
        let urls = if args.quick { 5_000 } else { 100_000 };
        for _ in rounds("demo data", effort.rounds.min(FEW_ROUNDS)) {
            for Subject { build, database, results, .. } in &mut *subjects {
                demo_data::round(database, build, folder, urls, results.demo_data.get_or_insert_default()).await?;
            }
        }
    }
    Ok(())
}

/// The numbers of the rounds, each printed.
fn rounds(what: &str, count: u64) -> impl Iterator<Item = u64> {
    (0..count).inspect(move |round| eprintln!("{what}, round {} of {count}", round + 1))
}

/// The stages with their results, in another order every round.
fn in_turn<'s, 'a>(
    subjects: &'s mut [Subject<'a>],
    round: u64,
) -> impl Iterator<Item = (&'s Stage<'a>, &'s mut Results)> {
    let mut pairs: Vec<_> =
        subjects.iter_mut().filter_map(|subject| Some((subject.stage.as_ref()?, &mut subject.results))).collect();
    if round % 2 == 1 {
        pairs.reverse();
    }
    pairs.into_iter()
}
