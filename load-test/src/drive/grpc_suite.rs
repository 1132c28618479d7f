//! The workers of `load-test grpc`.

use anyhow::Result;
use rlt::{BenchSuite, IterInfo, IterReport};
use tokio::time::Instant;

use super::Shared;
use crate::{grpc::Connection, workload::Plan};

/// Load on gRPC.
#[derive(Clone, Debug)]
pub(super) struct Grpc(pub(super) Shared);

#[async_trait::async_trait]
impl BenchSuite for Grpc {
    type WorkerState = (Connection, Plan);

    async fn state(&self, worker: u32) -> Result<(Connection, Plan)> {
        let shared = &self.0;
        let connection = Connection::open(&shared.target, &shared.token).await?;
        Ok((connection, Plan::new(shared.scenario, &shared.universe, shared.batch, worker)))
    }

    async fn bench(&mut self, (connection, plan): &mut (Connection, Plan), _: &IterInfo) -> Result<IterReport> {
        let operation = plan.next();
        let start = Instant::now();
        let done = connection.call(operation, &self.0.universe).await;
        // Messages arrive decoded: their bytes on the wire are not known here.
        Ok(self.0.report(start.elapsed(), 0, done))
    }
}
