//! `ReadService`: single reads of many callers in one call. Those of one kind become one statement.

use std::{iter::repeat_n, time::Duration};

use compliance_api::{
    batch_read::MAX_READS,
    client::BoxStream,
    error::Error,
    record::Record,
    rules::Violations,
    v1::{
        Affiliate, BatchReadRequest, BatchReadResponse, ComplianceCase, ComplianceUrl, RateLimitHeaders,
        batch_read_response::Result as Outcome, read::Operation, read_service_server::ReadService,
    },
};
use futures::{
    FutureExt as _, StreamExt as _,
    stream::{self, FuturesUnordered},
};
use http::{HeaderMap, HeaderValue, header::AUTHORIZATION};
use tokio::time::timeout;
use tonic::{Code, Request, Response, Status};

use super::guard::{Admitted, Guard};
use crate::{
    access::Denied,
    reads::{Key, Reads},
    requests::timeout_of,
};

const GET_AFFILIATE: &str = "/compliance.v1.AffiliateService/GetAffiliate";
const GET_URL: &str = "/compliance.v1.ComplianceUrlService/GetComplianceUrl";
const GET_CASE: &str = "/compliance.v1.ComplianceCaseService/GetComplianceCase";

/// The service.
pub(super) struct BatchReads {
    pub(super) guard: Guard,
    /// Bounds a call that has no deadline of its own.
    pub(super) call_timeout: Duration,
    pub(super) affiliates: Reads<Affiliate>,
    pub(super) urls: Reads<ComplianceUrl>,
    pub(super) cases: Reads<ComplianceCase>,
}

/// A read that was let through.
struct Accepted {
    index: u32,
    request_id: Option<String>,
    key: Key,
    admitted: Admitted,
}

#[tonic::async_trait]
impl ReadService for BatchReads {
    type BatchReadStream = BoxStream<BatchReadResponse>;

    async fn batch_read(&self, request: Request<BatchReadRequest>) -> Result<Response<Self::BatchReadStream>, Status> {
        let limit = timeout_of(&request).map_or(self.call_timeout, |asked| asked.min(self.call_timeout));
        let BatchReadRequest { authorizations, reads } = request.into_inner();
        if reads.len() > MAX_READS {
            let message = format!("The reads field must not have more than {MAX_READS} items.");
            return Err(Error::invalid(Violations::one("reads", message)).into());
        }
        let headers: Vec<HeaderMap> = authorizations.into_iter().map(authorization).collect();
        let none = HeaderMap::new();
        let (mut affiliates, mut urls, mut cases, mut refused) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (index, read) in (0..).zip(reads) {
            let (operation, id, accepted) = match read.operation {
                Some(Operation::Affiliate(get)) => (GET_AFFILIATE, get.id, &mut affiliates),
                Some(Operation::Url(get)) => (GET_URL, get.id, &mut urls),
                Some(Operation::Case(get)) => (GET_CASE, get.case_id, &mut cases),
                None => {
                    let error = Error::invalid(Violations::one("operation", "The operation field is required."));
                    refused.push(response(index, None, Err(error.into())));
                    continue;
                }
            };
            match self.guard.admit_read(operation, headers.get(read.authorization as usize).unwrap_or(&none)) {
                Ok((company_id, admitted)) => {
                    let key = (company_id, id);
                    accepted.push(Accepted { index, request_id: read.request_id, key, admitted });
                }
                Err(Denied { error, rate_limit }) => refused.push(response(index, rate_limit, Err(error.into()))),
            }
        }
        let kinds = [
            responses(self.affiliates.clone(), affiliates, Outcome::Affiliate, limit).boxed(),
            responses(self.urls.clone(), urls, Outcome::Url, limit).boxed(),
            responses(self.cases.clone(), cases, Outcome::Case, limit).boxed(),
        ];
        let read = kinds.into_iter().collect::<FuturesUnordered<_>>().flat_map(stream::iter);
        Ok(Response::new(stream::iter(refused).chain(read).map(Ok).boxed()))
    }
}

/// The responses to all reads of one kind.
async fn responses<T: Record + Clone>(
    reads: Reads<T>,
    accepted: Vec<Accepted>,
    outcome: fn(Box<T>) -> Outcome,
    limit: Duration,
) -> Vec<BatchReadResponse> {
    if accepted.is_empty() {
        return Vec::new();
    }
    let found = timeout(limit, reads.get_all(accepted.iter().map(|read| read.key).collect())).await;
    let found = found.unwrap_or_else(|_| repeat_n(Err(Error::deadline_exceeded()), accepted.len()).collect());
    let responses = accepted.into_iter().zip(found).map(|(read, result)| {
        let result = result.map(outcome).map_err(Status::from);
        if let Err(status) = &result
            && status.code() != Code::NotFound
        {
            tracing::warn!(request_id = read.request_id, "a read failed: {}", status.message());
        }
        response(read.index, read.admitted.rate_limit, result)
    });
    responses.collect()
}

fn response(read: u32, rate_limit: Option<RateLimitHeaders>, result: Result<Outcome, Status>) -> BatchReadResponse {
    let result = result.unwrap_or_else(|status| Outcome::Status(status.into()));
    BatchReadResponse { read, rate_limit, result: Some(result) }
}

/// The headers of a read, as if its operation were called by itself.
fn authorization(value: String) -> HeaderMap {
    HeaderValue::try_from(value).map(|value| HeaderMap::from_iter([(AUTHORIZATION, value)])).unwrap_or_default()
}
