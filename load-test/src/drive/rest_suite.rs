//! The workers of `load-test rest`.

use anyhow::Result;
use rlt::{BenchSuite, IterInfo, IterReport};
use tokio::time::Instant;

use super::Shared;
use crate::{
    check,
    http::{self, Connection},
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
        let answered = worker.exchange(&self.0, &operation).await;
        let duration = start.elapsed();
        let bytes = answered.as_ref().map_or(0, |(_, bytes)| *bytes);
        let checked = answered.and_then(|(status, _)| {
            // A whole list is checked each time: it is one answer in a second or so.
            let whole = check::is_sampled(info.worker_seq) || matches!(operation, Operation::ListAffiliates);
            check::rest(&operation, &self.0.universe, status, &worker.body, whole)?;
            Ok(operation.items())
        });
        Ok(self.0.report(duration, bytes, checked))
    }
}

impl Worker {
    /// Sends the request that is in hand; the body is in hand afterwards.
    async fn exchange(&mut self, shared: &Shared, operation: &Operation) -> Result<(u16, u64)> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => Connection::open(&shared.target).await?,
        };
        let Self { request, body, .. } = self;
        body.clear();
        if !matches!(operation, Operation::ListAffiliates) {
            body.shrink_to(1 << 20);
        }
        let head = connection.exchange(request, |part| body.extend_from_slice(part)).await?;
        self.connection = Some(connection);
        Ok((head.status, self.body.len() as u64))
    }
}
