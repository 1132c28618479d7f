//! Defines a load, and the workers that send its requests.

use std::sync::Arc;

use anyhow::ensure;
use http::HeaderMap;

use crate::{
    check,
    client::{Connection, Layer, headers},
    measure::Worker,
    target::Target,
    workload::{LoadRequest, Plan, Scenario, Universe},
};

/// Calls in flight on one HTTP/2 connection.
const CALLS_PER_CONNECTION: u32 = 16;

/// Sends a scenario's requests, alternating between companies.
pub struct LoadWorker {
    connection: Connection,
    /// Shared, because copies for each worker would not fit in the CPU caches.
    headers: Arc<[HeaderMap]>,
    plan: Plan,
    companies: Arc<[Universe]>,
    next: usize,
    number: u64,
}

/// A scenario for some companies' records.
#[derive(Clone, Copy, Debug)]
pub struct Load<'a> {
    /// The kind of requests.
    pub scenario: Scenario,
    /// Number of items per batch.
    pub batch: u64,
    /// Each company's records.
    pub companies: &'a [Universe],
    /// Number of requests in flight.
    pub connections: u32,
}

impl Load<'_> {
    /// Connects the workers. `tokens` contains a token for each company, in the order of `companies`.
    pub async fn workers(
        self,
        layer: Layer,
        target: &Target,
        tokens: &[Option<String>],
    ) -> anyhow::Result<Vec<LoadWorker>> {
        let headers: Arc<[_]> =
            tokens.iter().map(|token| headers(layer, token.as_deref())).collect::<anyhow::Result<_>>()?;
        let companies: Arc<[Universe]> = self.companies.into();
        let mut workers: Vec<LoadWorker> = Vec::new();
        for number in 0..self.connections {
            let shared = workers.last().filter(|_| !number.is_multiple_of(CALLS_PER_CONNECTION));
            let connection = match shared.and_then(|worker| worker.connection.share()) {
                Some(connection) => connection,
                None => Connection::open(target, layer).await?,
            };
            workers.push(LoadWorker {
                connection,
                headers: Arc::clone(&headers),
                plan: Plan::new(self.scenario, self.batch, number),
                companies: Arc::clone(&companies),
                next: number as usize,
                number: 0,
            });
        }
        Ok(workers)
    }
}

impl Worker for LoadWorker {
    async fn once(&mut self) -> anyhow::Result<()> {
        let company = self.next % self.companies.len();
        self.next += 1;
        let (whole, universe) = (check::is_sampled(self.number), &self.companies[company]);
        self.number += 1;
        let request = self.plan.step(universe);
        self.connection.call(&self.headers[company], &request, universe, whole).await
    }
}

/// Finds the records of a token's company.
pub async fn discover(target: &Target, layer: Layer, token: &str) -> anyhow::Result<Universe> {
    let (headers, mut connection) = (headers(layer, Some(token))?, Connection::open(target, layer).await?);
    let affiliates = connection.read(&headers, &LoadRequest::ListAffiliates).await?;
    let urls = connection.read(&headers, &LoadRequest::ListUrls { page: 1, per_page: 1 }).await?;
    let cases = connection.read(&headers, &LoadRequest::ListCases { page: 1, per_page: 1 }).await?;
    ensure!(!affiliates.ids.is_empty(), "the company has no affiliates");
    Ok(Universe {
        company: affiliates.company,
        affiliates: affiliates.ids.into(),
        urls: urls.meta.total as u64,
        cases: cases.meta.total as u64,
    })
}
