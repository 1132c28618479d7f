//! The address that a request came from, known to what serves it.

use std::net::SocketAddr;

tokio::task_local! {
    static PEER: SocketAddr;
}

/// The peer of the TCP connection of the request that is served here. Behind a proxy, it is the proxy.
pub fn peer() -> Option<SocketAddr> {
    PEER.try_with(|peer| *peer).ok()
}

/// Serves what comes from a peer.
pub(crate) fn serving<F: Future>(peer: SocketAddr, work: F) -> impl Future<Output = F::Output> {
    PEER.scope(peer, work)
}
