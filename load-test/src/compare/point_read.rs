//! One affiliate by ID, by every contender, at each number of connections.

use super::{
    Effort,
    contender::{Contender, Way},
    measure::{Sample, measure},
    pgbench,
    question::{GrpcWorker, HttpWorker, Question},
    results::Series,
    stage::Stage,
};

/// Measures all rounds.
pub(super) async fn run(stage: &Stage<'_>, connections: &[u32], effort: Effort) -> anyhow::Result<Vec<Series>> {
    let mut series: Vec<Series> = connections
        .iter()
        .flat_map(|connections| stage.contenders.iter().map(|contender| Series::new(contender, *connections)))
        .collect();
    let count = stage.contenders.len();
    for round in 0..effort.rounds as usize {
        for level in 0..connections.len() {
            eprintln!("point reads, round {} of {}, {} connections", round + 1, effort.rounds, connections[level]);
            for turn in 0..count {
                // Each round begins with another one.
                let at = (turn + round) % count;
                let sample = one(stage, &stage.contenders[at], connections[level], Question::Affiliate, effort).await?;
                series[level * count + at].samples.push(sample);
            }
        }
    }
    Ok(series)
}

/// One contender under load.
pub(super) async fn one(
    stage: &Stage<'_>,
    contender: &Contender,
    connections: u32,
    question: Question,
    effort: Effort,
) -> anyhow::Result<Sample> {
    let measured = async {
        let database = stage.database.pid()?;
        match &contender.way {
            Way::Http { target, form, token } => {
                let mut workers = Vec::new();
                for worker in 0..connections {
                    let open =
                        HttpWorker::open(target, *form, token.as_deref(), question.clone(), &stage.universe, worker);
                    workers.push(open.await?);
                }
                measure(workers, effort.seconds, &contender.processes, database).await
            }
            Way::Grpc { target, token } => {
                let mut workers = Vec::new();
                for worker in 0..connections {
                    workers.push(GrpcWorker::open(target, token, &stage.universe, worker).await?);
                }
                measure(workers, effort.seconds, &contender.processes, database).await
            }
            Way::Pgbench => {
                pgbench::measure(stage.database, &stage.universe, stage.folder, connections, effort.seconds).await
            }
        }
    };
    let sample = measured.await;
    sample.map_err(|error| error.context(format!("({}) {} cannot be measured", contender.key, contender.name)))
}
