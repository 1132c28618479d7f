//! One contender under load for some seconds.

use load_test::{
    load::Load,
    measure::{Worker, measure},
    workload::{Scenario, Universe},
};
use serde::Serialize;

use crate::{
    contender::{Contender, PeerWorker, Way},
    cpu::cpu_seconds,
    pgbench,
    stage::Stage,
};

/// The result of one measurement.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Sample {
    /// Requests per second.
    pub(crate) rate: f64,
    /// Milliseconds.
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    /// CPU microseconds per request of the contender's own processes, and of the database's.
    pub(crate) own_cpu: f64,
    pub(crate) database_cpu: f64,
}

impl Sample {
    /// CPU microseconds per request of all serving processes.
    pub(crate) fn cpu(&self) -> f64 {
        self.own_cpu + self.database_cpu
    }

    /// Runs all workers at once for some seconds.
    pub(crate) async fn of<W: Worker>(
        workers: Vec<W>,
        seconds: f64,
        own: &[i32],
        database: i32,
    ) -> anyhow::Result<Self> {
        let measured = measure(workers, seconds, None, || (cpu_seconds(own), cpu_seconds(&[database]))).await?;
        let [before, after] = measured.meter;
        let per_request = |seconds: f64| seconds * 1e6 / measured.latencies.len() as f64;
        Ok(Self {
            rate: measured.rate(),
            p50: measured.milliseconds(0.5),
            p99: measured.milliseconds(0.99),
            own_cpu: per_request(after.0 - before.0),
            database_cpu: per_request(after.1 - before.1),
        })
    }
}

/// Puts one contender under load by these companies in turn.
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
