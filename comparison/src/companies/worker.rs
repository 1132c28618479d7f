//! Workers that call operations for several companies in turn.

use std::sync::Arc;

use load_test::{
    check, grpc,
    http::{self, Connection},
    service::token,
    target::Target,
    workload::{Operation, Plan, Scenario, Universe},
};

use crate::measure::Worker;

/// A client with the tokens of several companies.
pub(super) trait Call: Send + 'static {
    /// Calls an operation with the token of a company, by its index, and checks the response.
    fn call(
        &mut self,
        company: usize,
        universe: &Universe,
        operation: Operation,
        whole: bool,
    ) -> impl Future<Output = anyhow::Result<()>> + Send;
}

/// One connection over HTTP/1.1.
pub(super) struct RestClient {
    connection: Connection,
    /// The headers of each company, which all workers share: each would otherwise read its own copy from memory.
    headers: Arc<[String]>,
    request: Vec<u8>,
    body: Vec<u8>,
}

impl RestClient {
    pub(super) async fn open(target: &Target, headers: &Arc<[String]>) -> anyhow::Result<Self> {
        let (connection, headers) = (Connection::open(target).await?, Arc::clone(headers));
        Ok(Self { connection, headers, request: Vec::new(), body: Vec::new() })
    }

    /// The headers of each company.
    pub(super) fn headers(target: &Target, companies: &[Universe]) -> anyhow::Result<Arc<[String]>> {
        companies.iter().map(|one| Ok(http::headers(target, Some(&token(one.company)?)))).collect()
    }
}

impl Call for RestClient {
    async fn call(
        &mut self,
        company: usize,
        universe: &Universe,
        operation: Operation,
        whole: bool,
    ) -> anyhow::Result<()> {
        let (method, path, content) = operation.rest();
        let Self { connection, headers, request, body } = self;
        http::request(request, method, &path, &headers[company], &content);
        body.clear();
        let head = connection.exchange(request, |part| body.extend_from_slice(part)).await?;
        check::rest(&operation, universe, head.status, body, whole)
    }
}

/// Calls over gRPC, on a connection that others use as well.
pub(super) struct GrpcClient {
    connection: grpc::Connection,
    /// The headers of each company, which all workers share.
    headers: Arc<[grpc::Headers]>,
}

impl GrpcClient {
    pub(super) fn new(connection: &grpc::Connection, headers: &Arc<[grpc::Headers]>) -> Self {
        Self { connection: connection.clone(), headers: Arc::clone(headers) }
    }

    /// The headers of each company.
    pub(super) fn headers(companies: &[Universe]) -> anyhow::Result<Arc<[grpc::Headers]>> {
        companies.iter().map(|one| grpc::headers(&token(one.company)?)).collect()
    }
}

impl Call for GrpcClient {
    async fn call(
        &mut self,
        company: usize,
        universe: &Universe,
        operation: Operation,
        whole: bool,
    ) -> anyhow::Result<()> {
        self.connection.call(&self.headers[company], &operation, universe, whole).await.map(|_| ())
    }
}

/// Calls the operations of a scenario, each for the next company.
pub(super) struct OperationWorker<C> {
    client: C,
    plan: Plan,
    companies: Arc<[Universe]>,
    next: usize,
    number: u64,
}

impl<C> OperationWorker<C> {
    pub(super) fn new(client: C, scenario: Scenario, companies: &Arc<[Universe]>, worker: u32) -> Self {
        let plan = Plan::new(scenario, 1, worker);
        Self { client, plan, companies: Arc::clone(companies), next: worker as usize, number: 0 }
    }
}

impl<C: Call> Worker for OperationWorker<C> {
    async fn once(&mut self) -> anyhow::Result<()> {
        let company = self.next % self.companies.len();
        self.next += 1;
        let whole = check::is_sampled(self.number);
        self.number += 1;
        let universe = &self.companies[company];
        self.client.call(company, universe, self.plan.step(universe), whole).await
    }
}
