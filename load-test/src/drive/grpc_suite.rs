//! The workers of `load-test grpc`.

use anyhow::Result;
use rlt::{BenchSuite, IterInfo, IterReport};
use tokio::time::Instant;

use super::shared::Shared;
use load_test::{
    grpc::Connection,
    workload::{Plan, Universe},
};

/// Load on gRPC.
#[derive(Clone, Debug)]
pub(super) struct Grpc(pub(super) Shared);

/// One connection.
#[derive(Debug)]
pub(super) struct Worker {
    connection: Connection,
    plan: Plan,
    universe: Universe,
}

#[async_trait::async_trait]
impl BenchSuite for Grpc {
    type WorkerState = Worker;

    async fn state(&self, worker: u32) -> Result<Worker> {
        let shared = &self.0;
        let company = shared.company(worker);
        let connection = Connection::open(&shared.target, &company.token).await?;
        let plan = Plan::new(shared.scenario, &company.universe, shared.batch, worker);
        Ok(Worker { connection, plan, universe: company.universe.clone() })
    }

    async fn bench(&mut self, worker: &mut Worker, _: &IterInfo) -> Result<IterReport> {
        let operation = worker.plan.step();
        let start = Instant::now();
        let done = worker.connection.call(operation, &worker.universe).await;
        // The client decodes messages, so their size on the wire is unknown here.
        Ok(self.0.report(start.elapsed(), 0, done))
    }
}
