//! Times requests, one after another on one connection.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::Value;

use load_test::{
    http::{self, Connection},
    target::Target,
};

use crate::service::token;

/// Bound of one response.
const RESPONSE_TIME: Duration = Duration::from_mins(5);

/// A client with the headers of one company.
#[derive(Debug)]
pub(crate) struct Caller {
    connection: Connection,
    headers: String,
    request: Vec<u8>,
    pub(crate) body: Vec<u8>,
}

impl Caller {
    /// A client of our REST with the token of a company.
    pub(crate) async fn of(target: &Target, company: i64) -> anyhow::Result<Self> {
        Self::open(target, http::headers(target, Some(&token(company)?))).await
    }

    pub(crate) async fn open(target: &Target, headers: String) -> anyhow::Result<Self> {
        let connection = Connection::open(target).await?;
        Ok(Self { connection, headers, request: Vec::new(), body: Vec::new() })
    }

    /// Sends a request, waits for the whole response, and returns the milliseconds.
    pub(crate) async fn timed(&mut self, method: &str, path: &str, body: &[u8], status: u16) -> anyhow::Result<f64> {
        http::request(&mut self.request, method, path, &self.headers, body);
        self.body.clear();
        let Self { connection, request, body, .. } = self;
        let start = Instant::now();
        let response = connection.send(request, |part| body.extend_from_slice(part));
        let response = tokio::time::timeout(RESPONSE_TIME, response).await;
        let received = response.with_context(|| format!("{path}: no response"))??;
        let taken = start.elapsed().as_secs_f64() * 1e3;
        let shown = &self.body[..self.body.len().min(200)];
        ensure!(received == status, "{path}: status {received}: {}", String::from_utf8_lossy(shown));
        Ok(taken)
    }

    /// Streams a response through `sink`. Returns the milliseconds to its first and to its last byte.
    pub(crate) async fn streamed(&mut self, path: &str, mut sink: impl FnMut(&[u8])) -> anyhow::Result<(f64, f64)> {
        http::request(&mut self.request, "GET", path, &self.headers, b"");
        let (start, mut first_byte) = (Instant::now(), None);
        let response = self.connection.send(&self.request, |part| {
            first_byte.get_or_insert_with(|| start.elapsed());
            sink(part);
        });
        let status =
            tokio::time::timeout(RESPONSE_TIME, response).await.with_context(|| format!("{path}: no end"))??;
        ensure!(status == 200, "{path}: status {status}");
        let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
        Ok((milliseconds(first_byte.unwrap_or_else(|| start.elapsed())), milliseconds(start.elapsed())))
    }

    /// The last response as JSON.
    pub(crate) fn answer(&self) -> anyhow::Result<Value> {
        serde_json::from_slice(&self.body).context("the response is no JSON")
    }
}
