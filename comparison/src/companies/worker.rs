//! Workers that call operations for several companies in turn.

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
    /// The headers of each company.
    headers: Vec<String>,
    request: Vec<u8>,
    body: Vec<u8>,
}

impl RestClient {
    pub(super) async fn open(target: &Target, companies: &[Universe]) -> anyhow::Result<Self> {
        let headers = companies.iter().map(|one| Ok(http::headers(target, Some(&token(one.company)?))));
        let headers = headers.collect::<anyhow::Result<_>>()?;
        Ok(Self { connection: Connection::open(target).await?, headers, request: Vec::new(), body: Vec::new() })
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
pub(super) struct GrpcClient(Vec<grpc::Connection>);

impl GrpcClient {
    pub(super) fn new(channel: &grpc::Channel, companies: &[Universe]) -> anyhow::Result<Self> {
        let clients = companies.iter().map(|one| grpc::Connection::over(channel.clone(), &token(one.company)?));
        Ok(Self(clients.collect::<anyhow::Result<_>>()?))
    }
}

impl Call for GrpcClient {
    async fn call(
        &mut self,
        company: usize,
        universe: &Universe,
        operation: Operation,
        _whole: bool,
    ) -> anyhow::Result<()> {
        self.0[company].call(operation, universe).await.map(|_| ())
    }
}

/// Calls the operations of a scenario, each for the next company.
pub(super) struct OperationWorker<C> {
    client: C,
    companies: Vec<(Plan, Universe)>,
    next: usize,
    number: u64,
}

impl<C> OperationWorker<C> {
    pub(super) fn new(client: C, scenario: Scenario, companies: &[Universe], worker: u32) -> Self {
        let plan = |universe: &Universe| (Plan::new(scenario, universe, 1, worker), universe.clone());
        Self { client, companies: companies.iter().map(plan).collect(), next: worker as usize, number: 0 }
    }
}

impl<C: Call> Worker for OperationWorker<C> {
    async fn once(&mut self) -> anyhow::Result<()> {
        let company = self.next % self.companies.len();
        self.next += 1;
        let whole = check::is_sampled(self.number);
        self.number += 1;
        let (plan, universe) = &mut self.companies[company];
        self.client.call(company, universe, plan.step(), whole).await
    }
}
