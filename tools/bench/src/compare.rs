//! Runs the comparison.

use std::{path::Path, time::Instant};

use crate::{
    args::{CompareArgs, Effort},
    child::{Build, TemporaryFolder},
    dataset::MANY,
    goals,
    peers::install,
    report,
    results::{Machine, Results},
    service::Database,
    stage::Stage,
};

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
    // Stops the databases properly even after an error, because later runs may use them.
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

/// Measures each build with its database. Only the first build is compared with the peers.
async fn measure(args: &CompareArgs, folder: &Path, builds: &[(&Build, &Database)]) -> anyhow::Result<Vec<Results>> {
    let (Effort { rounds, seconds }, dataset) = (args.effort(), args.dataset());
    let peers = args.peers_dir.clone().unwrap_or_else(install::default_folder);
    let (mut stages, mut results) = (Vec::new(), Vec::new());
    for (index, (build, database)) in builds.iter().enumerate() {
        let peers = (index == 0).then_some(peers.as_path());
        let stage = Stage::set(database, build, folder, peers, MANY).await?;
        let (machine, skipped) = (Machine::this(database.version()), stage.skipped.clone());
        results.push(Results { machine, dataset, rounds, seconds, skipped, ..Results::default() });
        stages.push(stage);
    }
    for work in args.work() {
        for round in 0..rounds {
            eprintln!("{}, round {} of {rounds}", work.name, round + 1);
            // Each round starts with a different build.
            for turn in 0..stages.len() {
                let index = (turn + round as usize) % stages.len();
                work.round(&stages[index], round, seconds, &mut results[index]).await?;
            }
        }
    }
    for results in &mut results {
        results.goals = goals::of(results);
    }
    Ok(results)
}
