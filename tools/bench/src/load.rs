//! Measures one contender under load.

use load_test::{client::Layer, load::Load};

use crate::{
    bare,
    contender::{Contender, PeerWorker, Way},
    measure::Sample,
    pgbench,
    stage::Stage,
};

/// Puts a contender under load for `seconds`, alternating between companies.
pub(crate) async fn load(
    stage: &Stage<'_>,
    contender: &Contender,
    load: Load<'_>,
    seconds: f64,
) -> anyhow::Result<Sample> {
    let Load { scenario, companies, connections, .. } = load;
    let (own, database) = (&contender.processes, stage.database.pid()?);
    let (layer, target) = match &contender.way {
        Way::Rest { target, .. } => (Layer::Rest, target),
        Way::Grpc { target } => (Layer::Grpc, target),
        Way::Tables { .. } => {
            let mut workers = Vec::new();
            for number in 0..connections {
                workers.push(PeerWorker::open(contender, scenario, &companies[0], number).await?);
            }
            return Sample::of(workers, seconds, own, database).await;
        }
        Way::Pgbench => {
            return pgbench::measure(stage.database, &companies[0], stage.folder, connections, seconds).await;
        }
        Way::Bare => return bare::measure(stage.database, scenario, &companies[0], connections, seconds).await,
    };
    let tokens: Vec<_> =
        companies.iter().map(|universe| contender.token(universe.company)).collect::<anyhow::Result<_>>()?;
    Sample::of(load.workers(layer, target, &tokens).await?, seconds, own, database).await
}
