//! Refresh of the keys that tokens are verified with.

use std::{sync::Arc, time::Duration};

use compliance_api::token::Verifier;
use tokio_util::task::AbortOnDropHandle;

/// How often a key set is loaded again.
const REFRESH_INTERVAL: Duration = Duration::from_mins(5);

/// Starts a task that reloads key sets from files and URLs, until the handle is dropped. Returns `None` if the keys
/// cannot change. If a reload fails, the previous keys stay in use.
pub fn refresh(verifier: &Arc<Verifier>) -> Option<AbortOnDropHandle<()>> {
    let verifier = verifier.can_refresh().then(|| Arc::clone(verifier))?;
    Some(AbortOnDropHandle::new(tokio::spawn(async move {
        loop {
            tokio::time::sleep(REFRESH_INTERVAL).await;
            if let Err(error) = verifier.refresh().await {
                tracing::warn!(%error, "the key set cannot be loaded; the previous keys stay in use");
            }
        }
    })))
}
