//! A call as it arrives.

use http::{HeaderMap, Method};

use super::operations::Called;
use crate::access::Verified;

/// A call as it arrives, before anything is checked.
pub(super) struct Arrival<'r> {
    pub(super) called: Called,
    pub(super) headers: &'r HeaderMap,
    pub(super) origin: Origin<'r>,
    /// The result for its token, if that was verified before.
    pub(super) verified: Option<Verified>,
}

/// Where a call comes from.
pub(super) enum Origin<'r> {
    /// The network, with this method of HTTP.
    Network(&'r Method),
    Batch,
    Gateway,
}
