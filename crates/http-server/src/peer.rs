//! The origin of a request: its peer, and the shutdown of its port.

use std::{net::SocketAddr, sync::Arc};

use tokio_util::sync::CancellationToken;

tokio::task_local! {
    static ORIGIN: (SocketAddr, Arc<CancellationToken>);
}

/// Returns the peer of the current request's TCP connection. Behind a proxy, this is the proxy.
pub fn peer() -> Option<SocketAddr> {
    ORIGIN.try_with(|(peer, _)| *peer).ok()
}

/// Returns a token that is cancelled when the port's shutdown begins.
///
/// Responses without an end stop when it is cancelled.
pub fn shutdown() -> Arc<CancellationToken> {
    ORIGIN.try_with(|(_, shutdown)| Arc::clone(shutdown)).unwrap_or_default()
}

/// Runs work for a peer.
pub(crate) fn serving<F: Future>(
    peer: SocketAddr,
    shutdown: Arc<CancellationToken>,
    work: F,
) -> impl Future<Output = F::Output> {
    ORIGIN.scope((peer, shutdown), work)
}
