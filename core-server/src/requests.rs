//! Requests and responses of every service.

use std::time::Duration;

use admission::{Reservation, ResponseMemory};
use compliance_api::{
    error::Error,
    record::Record,
    rules::{Check, Violations, check},
};
use http_server::FinishBy;
use storage::{deadline, reads::Reads};
use tokio::time::Instant;
use tonic::{Request, Response, Status};

use crate::{access::caller, backend::Backend, changes::past};

/// How long a client may take to read that its deadline has passed.
const DEADLINE_SLACK: Duration = Duration::from_secs(2);

/// The result of an operation.
pub(crate) type Served<T> = Result<Response<T>, Status>;

/// The caller's company and the message of a request. Refuses a message that breaks a rule.
pub(crate) fn accept<M: Check>(request: Request<M>) -> Result<(i64, M), Status> {
    let company_id = caller(&request)?.company_id;
    let message = request.into_inner();
    valid(&message)?;
    Ok((company_id, message))
}

/// Returns the current record, or, with `as_of`, the record at the end of that second.
pub(crate) async fn get<T: Record>(
    backend: &Backend,
    reads: &Reads<T>,
    company_id: i64,
    id: i64,
    as_of: Option<String>,
) -> Served<T> {
    let (record, memory) = match as_of.filter(|as_of| !as_of.is_empty()) {
        Some(as_of) => past(backend, reads, company_id, id, &as_of).await?,
        None => reads.get(company_id, id).await?,
    };
    Ok(with_memory(record, memory))
}

/// A response that holds its memory until it was sent.
pub(crate) fn with_memory<T>(message: T, memory: impl Into<Option<Reservation>>) -> Response<T> {
    let mut response = Response::new(message);
    if let Some(memory) = memory.into().filter(|memory| memory.bytes() > 0) {
        response.extensions_mut().insert(ResponseMemory::new(memory));
    }
    response
}

/// A stream that its client must read by its deadline. A client that does not read never polls the stream, so the server keeps the
/// time. The response holds the resources of its request until then.
pub(crate) fn streamed<S>(messages: S, deadline: Instant) -> Response<S> {
    let mut response = Response::new(messages);
    response.extensions_mut().insert(FinishBy(deadline + DEADLINE_SLACK));
    response
}

/// Refuses a request that breaks a rule.
pub(crate) fn valid(request: &impl Check) -> Result<(), Error> {
    no_violations(check(request))
}

/// Refuses a request with violations.
pub(crate) fn no_violations(violations: Violations) -> Result<(), Error> {
    if violations.is_empty() { Ok(()) } else { Err(Error::invalid(violations)) }
}

/// How long the whole response to a request may take, at most `longest`.
pub(crate) fn timeout_of<T>(request: &Request<T>, longest: Duration) -> Duration {
    deadline::timeout(request.metadata().as_ref(), longest)
}

/// The revisions that an etag of a request allows: one or several, separated by commas. `None` without an etag. Text that is not a
/// revision matches no record.
pub(crate) fn revisions(etag: &str) -> Option<Vec<i64>> {
    (!etag.is_empty()).then(|| etag.split(',').filter_map(|etag| etag.trim().parse().ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::revisions;

    #[test]
    fn text_that_is_not_a_revision_matches_nothing() {
        assert_eq!(revisions(""), None);
        assert_eq!(revisions("7"), Some(vec![7]));
        assert_eq!(revisions("7, 9"), Some(vec![7, 9]));
        assert_eq!(revisions("W/7"), Some(vec![]));
        assert_eq!(revisions(","), Some(vec![]));
    }
}
