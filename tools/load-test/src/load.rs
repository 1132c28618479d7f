//! A load, and the workers that make its requests. Each worker alternates between companies.

use std::sync::Arc;

use crate::{
    affiliate_list::AffiliateList,
    check, grpc,
    http::{self, Connection},
    measure::Worker,
    target::Target,
    workload::{LoadRequest, Plan, Scenario, Universe},
};

/// Calls in flight on one HTTP/2 connection.
const CALLS_PER_CONNECTION: u32 = 16;

/// The connection of a worker. Workers share the headers of companies, because copies would not fit in the caches.
enum Client {
    /// An HTTP/1.1 connection.
    Rest { connection: Connection, headers: Arc<[String]>, bytes: Vec<u8>, body: Vec<u8> },
    /// An HTTP/2 connection that workers share.
    Grpc { connection: grpc::Connection, headers: Arc<[grpc::Headers]> },
}

/// Makes the requests of a scenario, one company after another.
pub struct LoadWorker {
    client: Client,
    plan: Plan,
    companies: Arc<[Universe]>,
    next: usize,
    /// Added to `next` after each request; zero stays with one company.
    step: usize,
    number: u64,
}

/// A load: a scenario on the records of some companies.
#[derive(Clone, Copy, Debug)]
pub struct Load<'a> {
    /// The kind of requests.
    pub scenario: Scenario,
    /// Items of a batch.
    pub batch: u64,
    /// Records of each company.
    pub companies: &'a [Universe],
    /// Requests in flight.
    pub connections: u32,
}

impl Load<'_> {
    /// Opens workers over REST. `tokens` has a token for each company, in the order of `companies`.
    pub async fn rest(self, target: &Target, tokens: &[Option<String>]) -> anyhow::Result<Vec<LoadWorker>> {
        let headers: Arc<[_]> = tokens.iter().map(|token| http::headers(target, token.as_deref())).collect();
        let mut clients = Vec::new();
        for _ in 0..self.connections {
            let (connection, headers) = (Connection::open(target).await?, Arc::clone(&headers));
            clients.push(Client::Rest { connection, headers, bytes: Vec::new(), body: Vec::new() });
        }
        Ok(self.workers(clients))
    }

    /// Opens workers over gRPC. Several share a connection.
    pub async fn grpc(self, target: &Target, tokens: &[String]) -> anyhow::Result<Vec<LoadWorker>> {
        let headers: Arc<[_]> = tokens.iter().map(|token| grpc::headers(token)).collect::<anyhow::Result<_>>()?;
        let mut connections = Vec::new();
        for _ in 0..self.connections.div_ceil(CALLS_PER_CONNECTION) {
            connections.push(grpc::Connection::open(target).await?);
        }
        let clients = connections.iter().cycle().take(self.connections as usize);
        let clients =
            clients.map(|connection| Client::Grpc { connection: connection.clone(), headers: Arc::clone(&headers) });
        Ok(self.workers(clients.collect()))
    }

    fn workers(self, clients: Vec<Client>) -> Vec<LoadWorker> {
        let companies: Arc<[Universe]> = self.companies.into();
        let worker = |(next, client)| LoadWorker {
            client,
            plan: Plan::new(self.scenario, self.batch, next as u32),
            companies: Arc::clone(&companies),
            next,
            step: 1,
            number: 0,
        };
        clients.into_iter().enumerate().map(worker).collect()
    }
}

impl LoadWorker {
    /// Makes all requests for one company. With as many workers as companies, each company has its own.
    pub fn keep_company(&mut self) {
        self.step = 0;
    }

    /// Opens another REST connection, after a request without a complete response.
    pub async fn reconnect(&mut self, target: &Target) -> anyhow::Result<()> {
        if let Client::Rest { connection, .. } = &mut self.client {
            *connection = Connection::open(target).await?;
        }
        Ok(())
    }
}

impl Worker for LoadWorker {
    async fn once(&mut self) -> anyhow::Result<()> {
        let company = self.next % self.companies.len();
        self.next += self.step;
        let (whole, universe) = (check::is_sampled(self.number), &self.companies[company]);
        self.number += 1;
        let request = self.plan.step(universe);
        let (connection, headers, bytes, body) = match &mut self.client {
            Client::Rest { connection, headers, bytes, body } => (connection, headers, bytes, body),
            Client::Grpc { connection, headers } => {
                return connection.call(&headers[company], &request, universe, whole).await;
            }
        };
        let (method, path, content) = request.rest();
        http::request(bytes, method, &path, &headers[company], &content);
        if matches!(request, LoadRequest::ListAffiliates) {
            let mut list = AffiliateList::default();
            let status = connection.send(bytes, |part| list.read(part)).await?;
            check::rest_status(200, status, b"")?;
            return check::affiliates(universe, list.records()?);
        }
        body.clear();
        let status = connection.send(bytes, |part| body.extend_from_slice(part)).await?;
        check::rest(&request, universe, status, body, whole)
    }
}
