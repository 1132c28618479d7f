//! Checks and properties that requests of every service have in common.

use std::time::Duration;

use admission::{Reservation, ResponseMemory};
use compliance_api::{
    deadline::grpc_timeout,
    error::Error,
    rules::{Check, check},
};
use tonic::{Request, Response, Status};

use crate::access::Caller;

/// The caller's company and the message of a request. Refuses a message that breaks a rule.
pub(crate) fn accept<M: Check>(request: Request<M>) -> Result<(i64, M), Status> {
    let company_id = Caller::of(&request)?.company_id;
    let message = request.into_inner();
    valid(&message)?;
    Ok((company_id, message))
}

/// A response that holds what it takes until it was sent.
pub(crate) fn holding<T>(message: T, memory: Reservation) -> Response<T> {
    let mut response = Response::new(message);
    if memory.bytes() > 0 {
        response.extensions_mut().insert(ResponseMemory::new(memory));
    }
    response
}

/// Refuses a request that does not hold what it must.
pub(crate) fn valid(request: &impl Check) -> Result<(), Error> {
    let violations = check(request);
    if violations.is_empty() { Ok(()) } else { Err(Error::invalid(violations)) }
}

/// How long the caller waits for the whole response, if the request says so.
pub(crate) fn timeout_of<T>(request: &Request<T>) -> Option<Duration> {
    grpc_timeout(request.metadata().as_ref())
}
