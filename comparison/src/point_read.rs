//! One affiliate by ID, from every contender.

use crate::{
    contender::{Contender, Way},
    measure::{Sample, measure},
    pgbench,
    question::{GrpcWorker, HttpWorker, Question},
    results::Series,
    stage::Stage,
};

/// Measures one round. Each round begins with another contender.
pub(crate) async fn round(
    stage: &Stage<'_>,
    connections: u32,
    round: u64,
    seconds: f64,
    all: &mut Vec<Series>,
) -> anyhow::Result<()> {
    let count = stage.contenders.len();
    for turn in 0..count {
        let contender = &stage.contenders[(turn + round as usize) % count];
        let sample = measure_one(stage, contender, connections, Question::Affiliate, seconds).await?;
        Series::of(all, contender, connections).samples.push(sample);
    }
    Ok(())
}

/// Puts one contender under load.
pub(crate) async fn measure_one(
    stage: &Stage<'_>,
    contender: &Contender,
    connections: u32,
    question: Question,
    seconds: f64,
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
                measure(workers, seconds, &contender.processes, database).await
            }
            Way::Grpc { target, token } => {
                let mut workers = Vec::new();
                for worker in 0..connections {
                    workers.push(GrpcWorker::open(target, token, &stage.universe, worker).await?);
                }
                measure(workers, seconds, &contender.processes, database).await
            }
            Way::Pgbench => pgbench::measure(stage.database, &stage.universe, stage.folder, connections, seconds).await,
        }
    };
    let sample = measured.await;
    sample.map_err(|error| error.context(format!("({}) {} cannot be measured", contender.key, contender.name)))
}
