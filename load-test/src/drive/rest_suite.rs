//! The workers of `load-test rest`.

use anyhow::Result;
use rlt::{BenchSuite, IterInfo, IterReport};
use tokio::time::Instant;

use super::shared::Shared;
use load_test::{
    affiliate_list::AffiliateList,
    check,
    http::{self, Connection},
    workload::{Operation, Plan, Universe},
};

/// Load on REST.
#[derive(Clone, Debug)]
pub(super) struct Rest(pub(super) Shared);

/// One connection with its buffers.
#[derive(Debug)]
pub(super) struct Worker {
    /// `None` after a failure. The next request opens a new connection.
    connection: Option<Connection>,
    headers: String,
    plan: Plan,
    universe: Universe,
    request: Vec<u8>,
    body: Vec<u8>,
}

#[async_trait::async_trait]
impl BenchSuite for Rest {
    type WorkerState = Worker;

    async fn state(&self, worker: u32) -> Result<Worker> {
        let shared = &self.0;
        let company = shared.company(worker);
        Ok(Worker {
            connection: Some(Connection::open(&shared.target).await?),
            headers: http::headers(&shared.target, Some(&company.token)),
            plan: Plan::new(shared.scenario, shared.batch, worker),
            universe: company.universe.clone(),
            request: Vec::new(),
            body: Vec::new(),
        })
    }

    async fn bench(&mut self, worker: &mut Worker, info: &IterInfo) -> Result<IterReport> {
        let operation = worker.plan.step(&worker.universe);
        let (method, path, body) = operation.rest();
        http::request(&mut worker.request, method, &path, &worker.headers, &body);
        let start = Instant::now();
        if matches!(operation, Operation::ListAffiliates) {
            let listed = worker.list(&self.0).await;
            let bytes = listed.as_ref().map_or(0, |(_, bytes)| *bytes);
            return Ok(self.0.report(start.elapsed(), bytes, listed.map(|(records, _)| records)));
        }
        let response = worker.exchange(&self.0).await;
        let duration = start.elapsed();
        let bytes = if response.is_ok() { worker.body.len() as u64 } else { 0 };
        let checked = response.and_then(|status| {
            let whole = check::is_sampled(info.worker_seq);
            check::rest(&operation, &worker.universe, status, &worker.body, whole)?;
            Ok(operation.items())
        });
        Ok(self.0.report(duration, bytes, checked))
    }
}

impl Worker {
    /// Sends the request in the buffer, and reads the body of the response into the other buffer.
    async fn exchange(&mut self, shared: &Shared) -> Result<u16> {
        let mut connection = self.connection(shared).await?;
        let Self { request, body, .. } = self;
        body.clear();
        let head = connection.exchange(request, |part| body.extend_from_slice(part)).await?;
        self.connection = Some(connection);
        Ok(head.status)
    }

    /// Sends the request for the whole list. Returns its number of records and bytes without keeping them.
    async fn list(&mut self, shared: &Shared) -> Result<(u64, u64)> {
        let mut connection = self.connection(shared).await?;
        let mut list = AffiliateList::default();
        let head = connection.exchange(&self.request, |part| list.read(part)).await?;
        self.connection = Some(connection);
        check::rest_status(200, head.status, b"")?;
        let records = list.records()?;
        check::affiliates(&self.universe, records)?;
        Ok((records, list.bytes()))
    }

    async fn connection(&mut self, shared: &Shared) -> Result<Connection> {
        match self.connection.take() {
            Some(connection) => Ok(connection),
            None => Connection::open(&shared.target).await,
        }
    }
}
