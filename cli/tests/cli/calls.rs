//! Makes calls, each on its own connection. Dropping a call disconnects its caller.

use std::{sync::LazyLock, time::Duration};

use anyhow::{Context as _, ensure};
use load_test::{
    check,
    client::{Connection, Layer, headers},
    target::Target,
    workload::{LoadRequest, Universe},
};
use serde_json::Value;

/// Empty universe for checking writes, which need no expected records.
static NOTHING: LazyLock<Universe> =
    LazyLock::new(|| Universe { company: 1, affiliates: [].into(), urls: 0, cases: 0 });

/// Addresses of one topology: a single process, or a gateway and a core.
#[derive(Clone)]
pub(crate) struct Side {
    pub(crate) rest: Target,
    pub(crate) grpc: Target,
}

/// Protocol of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Via {
    Rest,
    /// REST over HTTP/2. Dropping the call resets its stream.
    Http2,
    Grpc,
    /// gRPC with a deadline in milliseconds.
    Deadline(u64),
}

/// Sends a write. Fails unless the service acknowledges every item.
pub(crate) async fn write(side: &Side, via: Via, token: &str, id: &str, write: &LoadRequest) -> anyhow::Result<()> {
    match via {
        Via::Rest => rest(&side.rest, token, id, write).await,
        Via::Http2 => http2(&side.rest, token, id, write).await,
        Via::Grpc => grpc(&side.grpc, token, id, None, write).await,
        Via::Deadline(ms) => grpc(&side.grpc, token, id, Some(ms), write).await,
    }
}

/// Returns an affiliate's notes.
pub(crate) async fn notes(side: &Side, token: &str, id: i64) -> anyhow::Result<String> {
    let (status, body) = send(&side.rest, token, "other", &LoadRequest::GetAffiliate(id)).await?;
    ensure!(status == 200, "expected status 200, got status {status}");
    let read: Value = serde_json::from_slice(&body)?;
    Ok(read["data"]["notes"].as_str().unwrap_or_default().to_owned())
}

/// Returns the IDs and names of a company's affiliates.
pub(crate) async fn names(side: &Side, token: &str) -> anyhow::Result<Vec<(i64, String)>> {
    let (status, body) = send(&side.rest, token, "other", &LoadRequest::ListAffiliates).await?;
    ensure!(status == 200, "expected status 200, got status {status}");
    let list: Value = serde_json::from_slice(&body)?;
    let listed = list["data"].as_array().context("the list contains no data")?.iter();
    let name = |one: &Value| Some((one["id"].as_i64()?, one["distributor_name"].as_str()?.to_owned()));
    listed.map(name).collect::<Option<_>>().context("an affiliate has no ID or name")
}

/// Returns a company's total number of URLs.
pub(crate) async fn total_of_urls(side: &Side, token: &str) -> anyhow::Result<i64> {
    let (status, body) = send(&side.rest, token, "other", &LoadRequest::ListUrls { page: 1, per_page: 1 }).await?;
    ensure!(status == 200, "expected status 200, got status {status}");
    let list: Value = serde_json::from_slice(&body)?;
    list["meta"]["total"].as_i64().context("the list contains no total")
}

async fn send(target: &Target, token: &str, id: &str, call: &LoadRequest) -> anyhow::Result<(u16, Vec<u8>)> {
    let mut headers = headers(Layer::Rest, Some(token))?;
    headers.insert("x-request-id", id.parse()?);
    let response = Connection::open(target, Layer::Rest).await?.ask(&headers, call).await?;
    Ok((response.status.as_u16(), response.body.to_vec()))
}

async fn rest(target: &Target, token: &str, id: &str, call: &LoadRequest) -> anyhow::Result<()> {
    let (status, received) = send(target, token, id, call).await?;
    check::rest(call, &NOTHING, status, &received, true)
}

/// Makes a call over HTTP/2, on a connection that outlives the call.
async fn http2(target: &Target, token: &str, id: &str, call: &LoadRequest) -> anyhow::Result<()> {
    let client = reqwest::Client::builder().tls_certs_only([]).no_proxy().http2_prior_knowledge().build()?;
    let kept = client.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(2)).await;
        drop(kept);
    });
    let (method, path, body) = call.rest();
    let request = client.request(method.parse()?, format!("http://{}{path}", target.authority)).bearer_auth(token);
    let request = request.header("x-request-id", id).header("content-type", "application/json").body(body);
    let response = request.send().await?;
    let status = response.status().as_u16();
    check::rest(call, &NOTHING, status, &response.bytes().await?, true)
}

async fn grpc(target: &Target, token: &str, id: &str, deadline: Option<u64>, call: &LoadRequest) -> anyhow::Result<()> {
    let mut headers = headers(Layer::Grpc, Some(token))?;
    headers.insert("x-request-id", id.parse()?);
    if let Some(ms) = deadline {
        headers.insert("grpc-timeout", format!("{ms}m").parse()?);
    }
    let mut connection = Connection::open(target, Layer::Grpc).await.context("cannot connect")?;
    connection.call(&headers, call, &NOTHING, true).await
}
