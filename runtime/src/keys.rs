//! Refresh of the keys that tokens are verified with.

use std::{sync::Arc, time::Duration};

use compliance_api::token::Verifier;
use tokio_util::task::AbortOnDropHandle;

/// The longest wait after a failed attempt: the keys that stay in use meanwhile may have been revoked.
const RETRY_INTERVAL: Duration = Duration::from_secs(30);

/// Starts a task that reloads key sets from files and URLs at this interval, until the handle is dropped. Returns `None` if
/// the keys cannot change. If a reload fails, the previous keys stay in use.
pub(crate) fn refresh(verifier: &Arc<Verifier>, interval: Duration) -> Option<AbortOnDropHandle<()>> {
    let verifier = verifier.can_refresh().then(|| Arc::clone(verifier))?;
    Some(AbortOnDropHandle::new(tokio::spawn(async move {
        let mut wait = interval;
        loop {
            tokio::time::sleep(wait).await;
            wait = match verifier.refresh().await {
                Ok(()) => interval,
                Err(error) => {
                    tracing::warn!(%error, "the key set cannot be loaded; the previous keys stay in use");
                    interval.min(RETRY_INTERVAL)
                }
            };
        }
    })))
}
