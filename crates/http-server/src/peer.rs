//! What a request came by, known to what serves it: the address that it came from, and the end of its port.

use std::{net::SocketAddr, sync::Arc};

use tokio_util::sync::CancellationToken;

tokio::task_local! {
    static ORIGIN: (SocketAddr, Arc<CancellationToken>);
}

/// The peer of the TCP connection of the request that is served here. Behind a proxy, it is the proxy.
pub fn peer() -> Option<SocketAddr> {
    ORIGIN.try_with(|(peer, _)| *peer).ok()
}

/// Is cancelled when the shutdown of the port begins whose request is served here: for responses that have no end of their own.
pub fn shutdown() -> Arc<CancellationToken> {
    ORIGIN.try_with(|(_, shutdown)| Arc::clone(shutdown)).unwrap_or_default()
}

/// Serves what comes from a peer.
pub(crate) fn serving<F: Future>(
    peer: SocketAddr,
    shutdown: Arc<CancellationToken>,
    work: F,
) -> impl Future<Output = F::Output> {
    ORIGIN.scope((peer, shutdown), work)
}
