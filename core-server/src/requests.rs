//! Checks and properties that requests of every service have in common.

use std::time::Duration;

use compliance_api::{
    deadline::grpc_timeout,
    error::Error,
    rules::{Check, Violations, check},
};
use tonic::Request;

/// IDs in one call, at most.
const MOST_IDS: usize = 1000;

/// Refuses a request that does not hold what it must.
pub(crate) fn valid(request: &impl Check) -> Result<(), Error> {
    let violations = check(request);
    if violations.is_empty() { Ok(()) } else { Err(Error::invalid(violations)) }
}

/// The IDs of a batch read, unless they are too many.
pub(crate) fn check_ids(ids: Vec<i64>) -> Result<Vec<i64>, Error> {
    if ids.len() > MOST_IDS {
        let message = format!("The ids field must not have more than {MOST_IDS} items.");
        return Err(Error::invalid(Violations::one("ids", message)));
    }
    Ok(ids)
}

/// How long the caller waits for the whole response, if the request says so.
pub(crate) fn timeout_of<T>(request: &Request<T>) -> Option<Duration> {
    grpc_timeout(request.metadata().as_ref())
}
