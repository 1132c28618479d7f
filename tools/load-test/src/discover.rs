//! Finds the records of a token's company, through the service itself.

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

/// Finds the records over REST.
pub(crate) async fn over_rest(target: &Target, token: &str) -> anyhow::Result<Universe> {
    let headers = headers(target, Some(token));
    let mut connection = Connection::open(target).await?;
    let mut out = Vec::new();
    let mut totals = [0; 2];
    for (total, path) in totals.iter_mut().zip(["/api/urls?per_page=1", "/api/cases?per_page=1"]) {
        request(&mut out, "GET", path, &headers, b"");
        let mut body = Vec::new();
        let head = connection.exchange(&out, |part| body.extend_from_slice(part)).await?;
        check::rest_status(200, head.status, &body).with_context(|| format!("GET {path}"))?;
        let answer: Value = serde_json::from_slice(&body)?;
        *total = answer["meta"]["total"].as_u64().with_context(|| format!("GET {path} returns no total"))?;
    }
    request(&mut out, "GET", "/api/affiliates", &headers, b"");
    let mut body = Vec::new();
    let head = connection.exchange(&out, |part| body.extend_from_slice(part)).await?;
    check::rest_status(200, head.status, &body).context("GET /api/affiliates")?;
    let list: List = serde_json::from_slice(&body).context("GET /api/affiliates returns no list")?;
    universe(list.data, totals)
}

/// Finds the records over gRPC.
pub(crate) async fn over_grpc(target: &Target, token: &str) -> anyhow::Result<Universe> {
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
        connection.exchange(path, &headers, message, meta).await?;
    }
    let mut list = Vec::new();
    connection.affiliates(&headers, |id, client_id| list.push(Listed { id, client_id })).await?;
    universe(list, totals)
}

/// What is read of a list of affiliates.
#[derive(Deserialize)]
struct List {
    data: Vec<Listed>,
}

#[derive(Deserialize)]
struct Listed {
    id: i64,
    client_id: i64,
}

fn universe(list: Vec<Listed>, [urls, cases]: [u64; 2]) -> anyhow::Result<Universe> {
    let company = list.first().context("the company has no affiliates")?.client_id;
    let affiliates_total = Some(list.len() as u64);
    let affiliates = Ids::of(list.iter().map(|affiliate| affiliate.id).collect())?;
    Ok(Universe { company, affiliates, affiliates_total, urls, cases })
}
