//! Finds the records of a token's company, through the service itself.

use std::sync::Arc;

use anyhow::Context as _;
use compliance_api::v1::{ListComplianceCasesResponse, ListComplianceUrlsResponse};
use prost::Message as _;
use serde_json::Value;

use load_test::{
    check, grpc,
    http::{Connection, headers, request},
    target::Target,
    workload::{Ids, Operation, Universe},
};

/// At most this many affiliate IDs are kept.
const ENOUGH: usize = 100_000;

/// Finds the records over REST.
pub(super) async fn over_rest(target: &Target, token: &str, ids: Option<Ids>) -> anyhow::Result<Universe> {
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
    let mut list = Sample::default();
    let head = connection.exchange(&out, |part| list.read(part)).await?;
    check::rest_status(200, head.status, b"").context("GET /api/affiliates")?;
    universe(list, ids, totals)
}

/// Finds the records over gRPC.
pub(super) async fn over_grpc(target: &Target, token: &str, ids: Option<Ids>) -> anyhow::Result<Universe> {
    let headers = grpc::headers(token)?;
    let mut connection = grpc::Connection::open(target).await?;
    let mut totals = [0; 2];
    let (urls, cases) = (Operation::ListUrls { page: 1, per_page: 1 }, Operation::ListCases { page: 1, per_page: 1 });
    for (total, operation) in totals.iter_mut().zip([urls, cases]) {
        let (path, message) = operation.grpc();
        let meta = |message: &[u8]| {
            let meta = match operation {
                Operation::ListUrls { .. } => ListComplianceUrlsResponse::decode(message)?.meta,
                _ => ListComplianceCasesResponse::decode(message)?.meta,
            };
            *total = meta.with_context(|| format!("{path} returns no total"))?.total as u64;
            Ok(())
        };
        connection.exchange(path, &headers, message, meta).await?;
    }
    let mut list = Sample::default();
    let listed = connection.affiliates(&headers, |id, company| {
        list.company = Some(company);
        list.add(id);
    });
    listed.await?;
    universe(list, ids, totals)
}

fn universe(list: Sample, ids: Option<Ids>, [urls, cases]: [u64; 2]) -> anyhow::Result<Universe> {
    let total = list.count;
    let affiliates = match ids {
        Some(ids) => ids,
        None if total as usize <= ENOUGH => Ids::of(list.ids)?,
        None => Ids::Known(Arc::from(list.ids)),
    };
    let company = list.company.context("the company has no affiliates")?;
    Ok(Universe { company, affiliates, affiliates_total: Some(total), urls, cases })
}

/// Counts the list of affiliates while it is read, and keeps IDs at even intervals.
#[derive(Default)]
struct Sample {
    /// The end of the previous piece, which may hold the beginning of a record.
    rest: Vec<u8>,
    count: u64,
    ids: Vec<i64>,
    /// One ID in this many is kept.
    step: u64,
    company: Option<i64>,
}

/// The beginning of a record, and what follows its ID.
const ID: &[u8] = b"{\"id\":";
const COMPANY: &[u8] = b",\"client_id\":";

impl Sample {
    /// Reads a piece of the JSON text. No string can contain the beginning of a record, since quotes are escaped.
    fn read(&mut self, part: &[u8]) {
        self.rest.extend_from_slice(part);
        let rest = std::mem::take(&mut self.rest);
        let mut at = 0;
        while let Some(found) = memchr::memmem::find(&rest[at..], ID) {
            let start = at + found;
            let fields = number(&rest[start + ID.len()..])
                .and_then(|(id, after)| Some((id, number(after.strip_prefix(COMPANY)?)?.0)));
            // The next piece has the rest of them.
            let Some((id, company)) = fields else { break };
            at = start + ID.len();
            self.add(id);
            self.company = Some(company);
        }
        // Keep what may be the beginning of a record up to its company.
        let kept = rest[at..].len().min(96);
        self.rest = rest[rest.len() - kept..].to_vec();
    }

    fn add(&mut self, id: i64) {
        self.step = self.step.max(1);
        if self.count.is_multiple_of(self.step) {
            self.ids.push(id);
        }
        self.count += 1;
        if self.ids.len() > ENOUGH {
            let mut kept = false;
            self.ids.retain(|_| {
                kept = !kept;
                kept
            });
            self.step *= 2;
        }
    }
}

/// The number at the beginning, if something follows it.
fn number(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let digits = bytes.iter().position(|byte| !byte.is_ascii_digit())?;
    Some((str::from_utf8(&bytes[..digits]).ok()?.parse().ok()?, &bytes[digits..]))
}

#[cfg(test)]
mod tests {
    use super::Sample;

    #[test]
    fn records_are_counted_in_pieces_of_any_size() {
        let text = r#"{"data":[{"id":12,"client_id":7,"n":"x"},{"id":345,"client_id":7},{"id":6789,"client_id":7}]}"#;
        for size in 1..text.len() {
            let mut list = Sample::default();
            text.as_bytes().chunks(size).for_each(|part| list.read(part));
            assert_eq!((list.ids.as_slice(), list.count), ([12, 345, 6789].as_slice(), 3), "in pieces of {size}");
            assert_eq!(list.company, Some(7), "in pieces of {size}");
        }
    }
}
