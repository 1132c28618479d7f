//! The workers of `load-test grpc`.

use std::sync::Arc;

use anyhow::Result;
use futures::future::try_join_all;
use rlt::{BenchSuite, IterInfo, IterReport};
use tokio::time::Instant;
use tonic::transport::Channel;

use super::shared::Shared;
use load_test::{
    grpc::{self, Connection},
    workload::{Plan, Universe},
};

/// Load on gRPC.
#[derive(Clone, Debug)]
pub(super) struct Grpc {
    shared: Shared,
    /// At least one. Workers are spread evenly over them.
    channels: Arc<[Channel]>,
}

impl Grpc {
    /// Opens the HTTP/2 connections that the workers share.
    pub(super) async fn connect(shared: Shared, connections: u32) -> Result<Self> {
        let channels = (0..connections).map(|_| grpc::connect(&shared.target));
        let channels: Vec<_> = try_join_all(channels).await?;
        Ok(Self { shared, channels: channels.into() })
    }
}

/// One call in flight.
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
        let Self { shared, channels } = self;
        let company = shared.company(worker);
        let connection = Connection::over(channels[worker as usize % channels.len()].clone(), &company.token)?;
        let plan = Plan::new(shared.scenario, &company.universe, shared.batch, worker);
        Ok(Worker { connection, plan, universe: company.universe.clone() })
    }

    async fn bench(&mut self, worker: &mut Worker, _: &IterInfo) -> Result<IterReport> {
        let operation = worker.plan.step();
        let start = Instant::now();
        let done = worker.connection.call(operation, &worker.universe).await;
        // The client decodes messages, so their size on the wire is unknown here.
        Ok(self.shared.report(start.elapsed(), 0, done))
    }
}
