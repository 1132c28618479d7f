//! Who made a change is for audits only: callers without the scope read changes without their writers.

use compliance_api::{token::SCOPE_AUDIT, v1::Change};
use tonic::{Request, Status};

use crate::access::Identity;

/// Whether the caller may read who made changes.
pub(super) fn sees_writers<T>(request: &Request<T>) -> Result<bool, Status> {
    Ok(Identity::of(request)?.claims.has_scope(SCOPE_AUDIT))
}

/// Removes who made a change.
pub(crate) fn hide_writer(change: &mut Change) {
    (change.subject, change.request_id) = (None, None);
}
