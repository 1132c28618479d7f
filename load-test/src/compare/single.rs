//! One request after the other on one connection, timed.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::Value;

use crate::{
    http::{self, Connection},
    service::token,
    target::Target,
};

/// How long one answer may take.
const PATIENCE: Duration = Duration::from_mins(5);

/// A caller of one company's.
#[derive(Debug)]
pub(super) struct Caller {
    connection: Connection,
    headers: String,
    request: Vec<u8>,
    pub(super) body: Vec<u8>,
}

impl Caller {
    pub(super) async fn open(target: &Target, company: i64) -> anyhow::Result<Self> {
        let headers = http::headers(target, Some(&token(company)?));
        let connection = Connection::open(target).await?;
        Ok(Self { connection, headers, request: Vec::new(), body: Vec::new() })
    }

    /// Sends a request and waits for the whole answer; tells how many milliseconds that took.
    pub(super) async fn timed(&mut self, method: &str, path: &str, body: &[u8], status: u16) -> anyhow::Result<f64> {
        http::request(&mut self.request, method, path, &self.headers, body);
        self.body.clear();
        let Self { connection, request, body, .. } = self;
        let start = Instant::now();
        let answered = connection.exchange(request, |part| body.extend_from_slice(part));
        let head = tokio::time::timeout(PATIENCE, answered).await.with_context(|| format!("{path}: no answer"))??;
        let taken = start.elapsed().as_secs_f64() * 1e3;
        let shown = &self.body[..self.body.len().min(200)];
        ensure!(head.status == status, "{path}: status {}: {}", head.status, String::from_utf8_lossy(shown));
        Ok(taken)
    }

    /// Streams an answer through `sink`; tells the milliseconds to its first byte and to its last.
    pub(super) async fn streamed(&mut self, path: &str, sink: impl FnMut(&[u8])) -> anyhow::Result<(f64, f64)> {
        http::request(&mut self.request, "GET", path, &self.headers, b"");
        let start = Instant::now();
        let answered = self.connection.exchange(&self.request, sink);
        let head = tokio::time::timeout(PATIENCE, answered).await.with_context(|| format!("{path}: no end"))??;
        ensure!(head.status == 200, "{path}: status {}", head.status);
        Ok((head.first_byte.as_secs_f64() * 1e3, start.elapsed().as_secs_f64() * 1e3))
    }

    /// The answer as it came last.
    pub(super) fn answer(&self) -> anyhow::Result<Value> {
        serde_json::from_slice(&self.body).context("the answer is no JSON")
    }
}
