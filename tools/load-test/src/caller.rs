//! Workers that call the operations of a scenario for several companies in turn.

use std::sync::Arc;

use crate::{
    affiliate_list::AffiliateList,
    check, grpc,
    http::{self, Connection},
    measure::Worker,
    target::Target,
    workload::{Operation, Plan, Scenario, Universe},
};

/// Calls in flight on one HTTP/2 connection, as in a service whose tasks share one channel.
const CALLS_PER_CONNECTION: u32 = 16;

/// Workers share the headers of companies: each would otherwise read its own copy from memory.
enum Client {
    /// One connection over HTTP/1.1.
    Rest { connection: Connection, headers: Arc<[String]>, request: Vec<u8>, body: Vec<u8> },
    /// A connection over HTTP/2 that others use as well.
    Grpc { connection: grpc::Connection, headers: Arc<[grpc::Headers]> },
}

/// Calls the operations of a scenario, each for the next company.
pub struct Caller {
    client: Client,
    plan: Plan,
    companies: Arc<[Universe]>,
    next: usize,
    number: u64,
}

/// A load: a scenario on the records of some companies.
#[derive(Clone, Copy, Debug)]
pub struct Load<'a> {
    /// The operations.
    pub scenario: Scenario,
    /// Items of a batch.
    pub batch: u64,
    /// Records of each company.
    pub companies: &'a [Universe],
    /// Requests in flight.
    pub connections: u32,
}

impl Load<'_> {
    /// Workers over REST. `tokens` are those of the companies, in their order.
    pub async fn rest(self, target: &Target, tokens: &[Option<String>]) -> anyhow::Result<Vec<Caller>> {
        let headers: Arc<[_]> = tokens.iter().map(|token| http::headers(target, token.as_deref())).collect();
        let mut clients = Vec::new();
        for _ in 0..self.connections {
            let (connection, headers) = (Connection::open(target).await?, Arc::clone(&headers));
            clients.push(Client::Rest { connection, headers, request: Vec::new(), body: Vec::new() });
        }
        Ok(self.callers(clients))
    }

    /// Workers over gRPC, of which several share a connection.
    pub async fn grpc(self, target: &Target, tokens: &[String]) -> anyhow::Result<Vec<Caller>> {
        let headers: Arc<[_]> = tokens.iter().map(|token| grpc::headers(token)).collect::<anyhow::Result<_>>()?;
        let mut connections = Vec::new();
        for _ in 0..self.connections.div_ceil(CALLS_PER_CONNECTION) {
            connections.push(grpc::Connection::open(target).await?);
        }
        let clients = connections.iter().cycle().take(self.connections as usize);
        let clients =
            clients.map(|connection| Client::Grpc { connection: connection.clone(), headers: Arc::clone(&headers) });
        Ok(self.callers(clients.collect()))
    }

    fn callers(self, clients: Vec<Client>) -> Vec<Caller> {
        let companies: Arc<[Universe]> = self.companies.into();
        let caller = |(next, client)| Caller {
            client,
            plan: Plan::new(self.scenario, self.batch, next as u32),
            companies: Arc::clone(&companies),
            next,
            number: 0,
        };
        clients.into_iter().enumerate().map(caller).collect()
    }
}

impl Caller {
    /// Opens another connection, after a request over REST that had no whole response.
    pub async fn reconnect(&mut self, target: &Target) -> anyhow::Result<()> {
        if let Client::Rest { connection, .. } = &mut self.client {
            *connection = Connection::open(target).await?;
        }
        Ok(())
    }
}

impl Worker for Caller {
    async fn once(&mut self) -> anyhow::Result<()> {
        let company = self.next % self.companies.len();
        self.next += 1;
        let (whole, universe) = (check::is_sampled(self.number), &self.companies[company]);
        self.number += 1;
        let operation = self.plan.step(universe);
        let (connection, headers, request, body) = match &mut self.client {
            Client::Rest { connection, headers, request, body } => (connection, headers, request, body),
            Client::Grpc { connection, headers } => {
                return connection.call(&headers[company], &operation, universe, whole).await;
            }
        };
        let (method, path, content) = operation.rest();
        http::request(request, method, &path, &headers[company], &content);
        if matches!(operation, Operation::ListAffiliates) {
            let mut list = AffiliateList::default();
            let head = connection.exchange(request, |part| list.read(part)).await?;
            check::rest_status(200, head.status, b"")?;
            return check::affiliates(universe, list.records()?);
        }
        body.clear();
        let head = connection.exchange(request, |part| body.extend_from_slice(part)).await?;
        check::rest(&operation, universe, head.status, body, whole)
    }
}
