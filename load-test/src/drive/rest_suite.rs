//! The workers of `load-test rest`.

use anyhow::{Result, ensure};
use rlt::{BenchSuite, IterInfo, IterReport};
use tokio::time::Instant;

use super::Shared;
use crate::{
    check,
    http::{self, Connection},
    list::List,
    workload::{Operation, Plan},
};

/// Load on REST.
#[derive(Clone, Debug)]
pub(super) struct Rest(pub(super) Shared);

/// One connection and what it has in hand.
#[derive(Debug)]
pub(super) struct Worker {
    /// None after a failure: the next request opens a new one.
    connection: Option<Connection>,
    headers: String,
    plan: Plan,
    request: Vec<u8>,
    body: Vec<u8>,
}

#[async_trait::async_trait]
impl BenchSuite for Rest {
    type WorkerState = Worker;

    async fn state(&self, worker: u32) -> Result<Worker> {
        let shared = &self.0;
        Ok(Worker {
            connection: Some(Connection::open(&shared.target).await?),
            headers: http::headers(&shared.target, Some(&shared.token)),
            plan: Plan::new(shared.scenario, &shared.universe, shared.batch, worker),
            request: Vec::new(),
            body: Vec::new(),
        })
    }

    async fn bench(&mut self, worker: &mut Worker, info: &IterInfo) -> Result<IterReport> {
        let operation = worker.plan.next();
        let (method, path, body) = operation.rest();
        http::request(&mut worker.request, method, &path, &worker.headers, &body);
        let start = Instant::now();
        if matches!(operation, Operation::ListAffiliates) {
            let listed = worker.list(&self.0).await;
            let bytes = listed.as_ref().map_or(0, |(_, bytes)| *bytes);
            return Ok(self.0.report(start.elapsed(), bytes, listed.map(|(records, _)| records)));
        }
        let answered = worker.exchange(&self.0).await;
        let duration = start.elapsed();
        let bytes = if answered.is_ok() { worker.body.len() as u64 } else { 0 };
        let checked = answered.and_then(|status| {
            let whole = check::is_sampled(info.worker_seq);
            check::rest(&operation, &self.0.universe, status, &worker.body, whole)?;
            Ok(operation.items())
        });
        Ok(self.0.report(duration, bytes, checked))
    }
}

impl Worker {
    /// Sends the request that is in hand; the body is in hand afterwards.
    async fn exchange(&mut self, shared: &Shared) -> Result<u16> {
        let mut connection = self.connection(shared).await?;
        let Self { request, body, .. } = self;
        body.clear();
        let head = connection.exchange(request, |part| body.extend_from_slice(part)).await?;
        self.connection = Some(connection);
        Ok(head.status)
    }

    /// Sends the request for the whole list; tells its records and bytes, and keeps none of them.
    async fn list(&mut self, shared: &Shared) -> Result<(u64, u64)> {
        let mut connection = self.connection(shared).await?;
        let mut list = List::default();
        let head = connection.exchange(&self.request, |part| list.read(part)).await?;
        self.connection = Some(connection);
        ensure!(head.status == 200, "status {}", head.status);
        let records = list.records()?;
        check::affiliates(&shared.universe, records)?;
        Ok((records, list.bytes()))
    }

    async fn connection(&mut self, shared: &Shared) -> Result<Connection> {
        match self.connection.take() {
            Some(connection) => Ok(connection),
            None => Connection::open(&shared.target).await,
        }
    }
}
