//! Checks and properties that requests of every service have in common.

use std::time::Duration;

use compliance_api::{
    error::Error,
    rules::{Check, Violations, check},
};
use http::HeaderMap;
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

/// The `grpc-timeout` of a call. Transports enforce it too; a call in this process has no transport.
pub(crate) fn grpc_timeout(headers: &HeaderMap) -> Option<Duration> {
    parse_timeout(headers.get("grpc-timeout")?.to_str().ok()?)
}

/// Reads up to eight digits and a unit.
fn parse_timeout(text: &str) -> Option<Duration> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if number.is_empty() || number.len() > 8 || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number: u64 = number.parse().ok()?;
    match unit {
        "H" => Some(Duration::from_secs(number * 3600)),
        "M" => Some(Duration::from_secs(number * 60)),
        "S" => Some(Duration::from_secs(number)),
        "m" => Some(Duration::from_millis(number)),
        "u" => Some(Duration::from_micros(number)),
        "n" => Some(Duration::from_nanos(number)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    #[test]
    fn timeouts_are_read_as_grpc_writes_them() {
        let timeout = super::parse_timeout;
        assert_eq!(timeout("250m"), Some(Duration::from_millis(250)));
        assert_eq!(timeout("2S"), Some(Duration::from_secs(2)));
        for wrong in ["", "S", "5", "-1S", "123456789S", "5x", "5é"] {
            assert_eq!(timeout(wrong), None, "{wrong}");
        }
    }
}
