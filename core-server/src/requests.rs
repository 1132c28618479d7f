//! What services ask of requests before they look at them.

use std::time::Duration;

use compliance_api::{
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

/// How long the caller will wait for the whole answer, if it says so.
pub(crate) fn timeout_of<T>(request: &Request<T>) -> Option<Duration> {
    let value = request.metadata().get("grpc-timeout")?;
    crate::serve::parse_timeout(value.to_str().ok()?)
}
