//! Counts a company's affiliates, URLs and cases by status. The token needs the `monitor` scope.
//!
//! `GRPC=http://127.0.0.1:50051 TOKEN=… cargo run -p compliance-client --example overview`
//!
//! With `GRPC=https://…`, `GRPC_CA` is a PEM file with the CA certificates to trust instead of the system's. For mutual TLS, `GRPC_CERT`
//! and `GRPC_KEY` are PEM files with a client certificate and its key.

use std::{collections::BTreeMap, env, fs, pin::pin};

use anyhow::Context as _;
use compliance_client::{
    Client, List, Retries,
    v1::{ExportCasesRequest, ExportUrlsRequest, ListAffiliatesRequest},
};
use futures::TryStreamExt as _;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let endpoint = env::var("GRPC").unwrap_or_else(|_| "http://127.0.0.1:50051".to_owned());
    let mut builder = Client::builder(endpoint).token(env::var("TOKEN").context("TOKEN is not set")?);
    if let Some(authorities) = pem("GRPC_CA")? {
        builder = builder.ca_certificate(authorities);
    }
    if let Some(certificate) = pem("GRPC_CERT")? {
        builder = builder.client_certificate(certificate, pem("GRPC_KEY")?.context("GRPC_KEY is not set")?);
    }
    // Somebody is waiting for the output, so report a wrong address early.
    let client = builder.retries(Retries { tries: 4, ..Retries::default() }).build()?;

    print("affiliates by status", &client, ListAffiliatesRequest::default(), |it| it.distributor_status.clone())
        .await?;
    print("URLs by incident status", &client, ExportUrlsRequest::default(), |it| it.incident_status.clone()).await?;
    let status_of_case = |it: &compliance_client::v1::OpenCaseRequest| it.case.as_ref()?.case_status.clone();
    print("cases by status", &client, ExportCasesRequest::default(), status_of_case).await
}

/// Reads the file that an environment variable names, if the variable is set.
fn pem(variable: &str) -> anyhow::Result<Option<Vec<u8>>> {
    let Some(file) = env::var_os(variable) else { return Ok(None) };
    fs::read(&file).map(Some).with_context(|| format!("{variable}={}", file.display()))
}

/// Counts records by key as they arrive, and prints the counts.
async fn print<L: List>(
    title: &str,
    client: &Client,
    request: L,
    key: impl Fn(&L::Record) -> Option<String>,
) -> anyhow::Result<()> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut records = pin!(client.list(request));
    while let Some(record) = records.try_next().await? {
        *counts.entry(key(&record).unwrap_or_else(|| "none".to_owned())).or_default() += 1;
    }
    println!("{} {title}: {counts:?}", counts.values().sum::<usize>());
    Ok(())
}
