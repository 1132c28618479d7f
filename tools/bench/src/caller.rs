//! Sends single reads to a contender over HTTP/1.1.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use http::HeaderMap;
use load_test::{
    client::{Connection, Layer, Response},
    target::Target,
};
use serde_json::Value;

/// Maximum response time.
const RESPONSE_TIME: Duration = Duration::from_mins(1);

/// A client with the headers for one company.
#[derive(Debug)]
pub(crate) struct Caller {
    connection: Connection,
    headers: HeaderMap,
}

impl Caller {
    pub(crate) async fn open(target: &Target, headers: HeaderMap) -> anyhow::Result<Self> {
        Ok(Self { connection: Connection::open(target, Layer::Rest).await?, headers })
    }

    /// Gets a path.
    pub(crate) async fn get(&mut self, path: &str) -> anyhow::Result<Response> {
        let response = self.connection.send("GET", path, &self.headers, bytes::Bytes::new());
        let response = tokio::time::timeout(RESPONSE_TIME, response).await;
        let response = response.with_context(|| format!("{path}: no response"))??;
        ensure!(response.status == 200, "{path}: status {}", response.status);
        Ok(response)
    }

    /// Gets a path, and returns the response's JSON.
    pub(crate) async fn json(&mut self, path: &str) -> anyhow::Result<Value> {
        serde_json::from_slice(&self.get(path).await?.body).with_context(|| format!("{path}: the response is not JSON"))
    }
}
