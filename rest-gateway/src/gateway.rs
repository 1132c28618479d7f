//! The state that all handlers share: clients of the core, verifier of tokens, limits.

use std::sync::Arc;

use compliance_api::{client::Clients, token::Verifier};
use tokio::sync::Semaphore;

use crate::Settings;

/// Large requests that are processed at the same time: their messages take far more memory than most.
const LARGE_REQUESTS: usize = 8;

/// The unit in which the memory of bodies is counted.
pub(crate) const KIB: usize = 1 << 10;

/// The state that all handlers share.
pub(crate) struct Gateway {
    pub(crate) clients: Clients,
    pub(crate) verifier: Arc<Verifier>,
    pub(crate) settings: Settings,
    /// Permits for the memory of bodies, one per KiB.
    pub(crate) body_memory: Arc<Semaphore>,
    /// Permits for requests with a large body.
    pub(crate) large_requests: Arc<Semaphore>,
}

impl Gateway {
    pub(crate) fn new(clients: Clients, verifier: Arc<Verifier>, settings: Settings) -> Self {
        Self {
            clients,
            verifier,
            body_memory: Arc::new(Semaphore::new((settings.body_memory / KIB).min(Semaphore::MAX_PERMITS))),
            large_requests: Arc::new(Semaphore::new(LARGE_REQUESTS)),
            settings,
        }
    }
}
