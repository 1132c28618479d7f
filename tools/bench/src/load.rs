//! One contender under load for some seconds.

use load_test::{
    load::Load,
    workload::{Scenario, Universe},
};

use crate::{
    contender::{Contender, PeerWorker, Way},
    measure::Sample,
    pgbench,
    stage::Stage,
};

/// Puts one contender under load, alternating between companies.
pub(crate) async fn load(
    stage: &Stage<'_>,
    contender: &Contender,
    scenario: Scenario,
    companies: &[Universe],
    connections: u32,
    seconds: f64,
) -> anyhow::Result<Sample> {
    let load = Load { scenario, batch: 1, companies, connections };
    let tokens =
        || companies.iter().map(|universe| contender.token(universe.company)).collect::<anyhow::Result<Vec<_>>>();
    let (own, database) = (&contender.processes, stage.database.pid()?);
    let measured = async {
        match &contender.way {
            Way::Rest { target, .. } => Sample::of(load.rest(target, &tokens()?).await?, seconds, own, database).await,
            Way::Grpc { target } => {
                let tokens: Vec<String> = tokens()?.into_iter().flatten().collect();
                Sample::of(load.grpc(target, &tokens).await?, seconds, own, database).await
            }
            Way::Tables { .. } => {
                let mut workers = Vec::new();
                for number in 0..connections {
                    workers.push(PeerWorker::open(contender, scenario, &companies[0], number).await?);
                }
                Sample::of(workers, seconds, own, database).await
            }
            Way::Pgbench => pgbench::measure(stage.database, &companies[0], stage.folder, connections, seconds).await,
        }
    };
    let sample = measured.await;
    sample.map_err(|error| error.context(format!("({}) {} cannot be measured", contender.key, contender.name)))
}
