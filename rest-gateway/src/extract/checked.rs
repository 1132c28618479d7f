//! Requests that were read, with all that they violate.

use compliance_api::{
    error::Error,
    rules::{self, Check, Violations},
};

use super::path::PathId;

/// The ID of a record in a path. Violations of the rest of the request come before an ID that no record can have.
pub(crate) fn id_with(path: PathId, rest: &impl Check, not_found: fn(String) -> Error) -> Result<i64, Error> {
    let refuse = |not_found| {
        let violations = rules::check(rest);
        if violations.is_empty() { not_found } else { Error::invalid(violations) }
    };
    path.record_id(not_found).map_err(refuse)
}

/// Returns the message, or all violations including violations of the rules.
pub(super) fn accept<M: Check>(mut violations: Violations, message: M) -> Result<M, Error> {
    if violations.is_empty() {
        return Ok(message);
    }
    violations.merge(rules::check(&message));
    Err(Error::invalid(violations))
}
