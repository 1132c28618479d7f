//! Finds the records of a token's company, through the service.

use anyhow::Context as _;
use compliance_api::v1::{ListComplianceCasesResponse, ListComplianceUrlsResponse};
use prost::Message as _;
use serde::Deserialize;
use serde_json::Value;

use load_test::{
    check, grpc,
    http::{Connection, headers, request},
    target::Target,
    workload::{Ids, LoadRequest, Universe},
};

/// Finds the records of a company over REST or gRPC.
pub(crate) async fn discover(target: &Target, token: &str, is_grpc: bool) -> anyhow::Result<Universe> {
    let (list, [urls, cases]) =
        if is_grpc { over_grpc(target, token).await? } else { over_rest(target, token).await? };
    let company = list.first().context("the company has no affiliates")?.client_id;
    let affiliates_total = Some(list.len() as u64);
    let affiliates = Ids::of(list.iter().map(|affiliate| affiliate.id).collect())?;
    Ok(Universe { company, affiliates, affiliates_total, urls, cases })
}

/// A list of affiliates, reduced to what the load needs.
#[derive(Deserialize)]
struct List {
    data: Vec<Listed>,
}

#[derive(Deserialize)]
struct Listed {
    id: i64,
    client_id: i64,
}

async fn over_rest(target: &Target, token: &str) -> anyhow::Result<(Vec<Listed>, [u64; 2])> {
    let headers = headers(target, Some(token));
    let mut connection = Connection::open(target).await?;
    let mut get = async |path: &str| -> anyhow::Result<Vec<u8>> {
        let (mut bytes, mut body) = (Vec::new(), Vec::new());
        request(&mut bytes, "GET", path, &headers, b"");
        let status = connection.send(&bytes, |part| body.extend_from_slice(part)).await?;
        check::rest_status(200, status, &body).with_context(|| format!("GET {path}"))?;
        Ok(body)
    };
    let mut totals = [0; 2];
    for (total, path) in totals.iter_mut().zip(["/api/urls?per_page=1", "/api/cases?per_page=1"]) {
        let page: Value = serde_json::from_slice(&get(path).await?)?;
        *total = page["meta"]["total"].as_u64().with_context(|| format!("GET {path} returns no total"))?;
    }
    let list: List = serde_json::from_slice(&get("/api/affiliates").await?)?;
    Ok((list.data, totals))
}

async fn over_grpc(target: &Target, token: &str) -> anyhow::Result<(Vec<Listed>, [u64; 2])> {
    let headers = grpc::headers(token)?;
    let mut connection = grpc::Connection::open(target).await?;
    let mut totals = [0; 2];
    let (urls, cases) =
        (LoadRequest::ListUrls { page: 1, per_page: 1 }, LoadRequest::ListCases { page: 1, per_page: 1 });
    for (total, request) in totals.iter_mut().zip([urls, cases]) {
        let (path, message) = request.grpc();
        let meta = |message: &[u8]| {
            let meta = match request {
                LoadRequest::ListUrls { .. } => ListComplianceUrlsResponse::decode(message)?.meta,
                _ => ListComplianceCasesResponse::decode(message)?.meta,
            };
            *total = meta.with_context(|| format!("{path} returns no total"))?.total as u64;
            Ok(())
        };
        connection.send(path, &headers, message, meta).await?;
    }
    let mut list = Vec::new();
    connection.affiliates(&headers, |id, client_id| list.push(Listed { id, client_id })).await?;
    Ok((list, totals))
}
