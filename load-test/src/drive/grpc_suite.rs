//! The workers of `load-test grpc`.

use std::sync::Arc;

use anyhow::Result;
use futures::future::try_join_all;
use rlt::{BenchSuite, IterInfo, IterReport};
use tokio::time::Instant;

use super::shared::Shared;
use load_test::{
    check,
    grpc::{self, Connection, Headers},
    workload::{Plan, Universe},
};

/// Load on gRPC.
#[derive(Clone, Debug)]
pub(super) struct Grpc {
    shared: Shared,
    /// At least one. Workers are spread evenly over them.
    connections: Arc<[Connection]>,
}

impl Grpc {
    /// Opens the HTTP/2 connections that the workers share.
    pub(super) async fn connect(shared: Shared, connections: u32) -> Result<Self> {
        let connections = (0..connections).map(|_| Connection::open(&shared.target));
        let connections: Vec<_> = try_join_all(connections).await?;
        Ok(Self { shared, connections: connections.into() })
    }
}

/// One call in flight.
#[derive(Debug)]
pub(super) struct Worker {
    connection: Connection,
    headers: Headers,
    plan: Plan,
    universe: Universe,
}

#[async_trait::async_trait]
impl BenchSuite for Grpc {
    type WorkerState = Worker;

    async fn state(&self, worker: u32) -> Result<Worker> {
        let Self { shared, connections } = self;
        let company = shared.company(worker);
        let connection = connections[worker as usize % connections.len()].clone();
        let headers = grpc::headers(&company.token)?;
        let plan = Plan::new(shared.scenario, shared.batch, worker);
        Ok(Worker { connection, headers, plan, universe: company.universe.clone() })
    }

    async fn bench(&mut self, worker: &mut Worker, info: &IterInfo) -> Result<IterReport> {
        let operation = worker.plan.step(&worker.universe);
        let start = Instant::now();
        let whole = check::is_sampled(info.worker_seq);
        let Worker { connection, headers, universe, .. } = worker;
        let done = connection.call(headers, &operation, universe, whole).await;
        let bytes = done.as_ref().map_or(0, |returned| returned.bytes);
        Ok(self.shared.report(start.elapsed(), bytes, done.map(|returned| returned.records)))
    }
}
