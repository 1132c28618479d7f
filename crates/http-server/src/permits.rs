//! Permits for connections: for all peers, for one peer, and a few more for health checks.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use parking_lot::Mutex;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use crate::connection_limits::{ConnectionLimits, HEALTH_CONNECTIONS, HEALTH_CONNECTIONS_PER_PEER, PERMIT_WAIT};

/// The permits of a port.
pub(crate) struct Permits {
    ordinary: Arc<Semaphore>,
    reserved: Arc<Semaphore>,
    per_peer: usize,
    peers: Mutex<HashMap<IpAddr, PeerConnections>>,
}

/// The connections of a peer.
#[derive(Default)]
struct PeerConnections {
    ordinary: usize,
    reserved: usize,
}

/// The permit of an open connection.
pub(crate) struct ConnectionPermit {
    permits: Arc<Permits>,
    peer: IpAddr,
    is_reserved: AtomicBool,
    permit: Mutex<OwnedSemaphorePermit>,
}

impl Permits {
    pub(crate) fn new(limits: &ConnectionLimits) -> Arc<Self> {
        Arc::new(Self {
            ordinary: Arc::new(Semaphore::new(limits.max_connections.clamp(1, Semaphore::MAX_PERMITS))),
            reserved: Arc::new(Semaphore::new(HEALTH_CONNECTIONS)),
            per_peer: limits.max_connections_per_peer.unwrap_or(limits.max_connections / 2).max(1),
            peers: Mutex::default(),
        })
    }

    /// Waits for a permit. Prefers an ordinary permit.
    pub(crate) async fn acquire(&self) -> OwnedSemaphorePermit {
        tokio::select! {
            biased;
            Ok(permit) = Arc::clone(&self.ordinary).acquire_owned() => permit,
            Ok(permit) = Arc::clone(&self.reserved).acquire_owned() => permit,
            // The semaphores are never closed.
            else => std::future::pending().await,
        }
    }

    /// Returns an ordinary permit if one is free.
    pub(crate) fn try_acquire(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.ordinary).try_acquire_owned().ok()
    }

    /// Gives a permit to a connection of a peer: a reserved permit if the peer has all its ordinary permits. `None` if it has all
    /// its reserved permits.
    pub(crate) fn open(self: &Arc<Self>, mut permit: OwnedSemaphorePermit, peer: IpAddr) -> Option<ConnectionPermit> {
        let peer = network(peer);
        let mut peers = self.peers.lock();
        let count = peers.entry(peer).or_default();
        let is_full = count.ordinary >= self.per_peer;
        let wanted = if is_full { &self.reserved } else { &self.ordinary };
        if !Arc::ptr_eq(permit.semaphore(), wanted) {
            match Arc::clone(wanted).try_acquire_owned() {
                Ok(other) => permit = other,
                Err(_) if is_full => return None,
                // An ordinary permit has not become free.
                Err(_) => {}
            }
        }
        let is_reserved = Arc::ptr_eq(permit.semaphore(), &self.reserved);
        if is_reserved && count.reserved >= HEALTH_CONNECTIONS_PER_PEER {
            return None;
        }
        *count.of(is_reserved) += 1;
        drop(peers);
        let (is_reserved, permit) = (AtomicBool::new(is_reserved), Mutex::new(permit));
        Some(ConnectionPermit { permits: Arc::clone(self), peer, is_reserved, permit })
    }
}

impl PeerConnections {
    fn of(&mut self, is_reserved: bool) -> &mut usize {
        if is_reserved { &mut self.reserved } else { &mut self.ordinary }
    }
}

impl ConnectionPermit {
    /// Whether the connection is for health checks only.
    pub(crate) fn is_reserved(&self) -> bool {
        self.is_reserved.load(Ordering::Relaxed)
    }

    /// Waits briefly for an ordinary permit. Returns whether the connection has one.
    pub(crate) async fn become_ordinary(&self) -> bool {
        let Ok(Ok(ordinary)) = timeout(PERMIT_WAIT, Arc::clone(&self.permits.ordinary).acquire_owned()).await else {
            return !self.is_reserved();
        };
        let mut permit = self.permit.lock();
        let mut peers = self.permits.peers.lock();
        let count = peers.entry(self.peer).or_default();
        // Another request of the connection may have been faster.
        if self.is_reserved() && count.ordinary < self.permits.per_peer {
            *permit = ordinary;
            count.reserved -= 1;
            count.ordinary += 1;
            self.is_reserved.store(false, Ordering::Relaxed);
        }
        !self.is_reserved()
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut peers = self.permits.peers.lock();
        if let Some(count) = peers.get_mut(&self.peer) {
            *count.of(self.is_reserved()) -= 1;
            if count.ordinary + count.reserved == 0 {
                peers.remove(&self.peer);
            }
        }
    }
}

/// Returns the network of a peer. This is an IPv4 address, or the IPv6 network of 64 bits that one subscriber has.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{net::IpAddr, sync::Arc};

    use super::{ConnectionPermit, Permits};
    use crate::ConnectionLimits;

    fn permits(all: usize, per_peer: usize) -> Arc<Permits> {
        let limits = ConnectionLimits {
            max_connections: all,
            max_connections_per_peer: Some(per_peer),
            ..ConnectionLimits::default()
        };
        Permits::new(&limits)
    }

    async fn open(permits: &Arc<Permits>, peer: &str) -> Option<ConnectionPermit> {
        let permit = permits.acquire().await;
        permits.open(permit, peer.parse::<IpAddr>().unwrap())
    }

    #[tokio::test]
    async fn a_peer_has_its_permits_and_gets_them_back() {
        let permits = permits(10, 2);
        let is_reserved = async |peer| open(&permits, peer).await.unwrap().is_reserved();
        let first = open(&permits, "10.0.0.1").await.unwrap();
        let _second = open(&permits, "::ffff:10.0.0.1").await.unwrap();
        assert!(!first.is_reserved() && is_reserved("10.0.0.1").await && !is_reserved("10.0.0.2").await);
        drop(first);
        assert!(!is_reserved("10.0.0.1").await);
    }

    #[tokio::test]
    async fn the_addresses_of_one_network_are_one_peer() {
        let permits = permits(10, 1);
        let _first = open(&permits, "2001:db8:0:1::1").await.unwrap();
        assert!(open(&permits, "2001:db8:0:1:ffff::2").await.unwrap().is_reserved());
        assert!(!open(&permits, "2001:db8:0:2::1").await.unwrap().is_reserved());
    }

    #[tokio::test(start_paused = true)]
    async fn above_the_limit_connections_are_reserved_until_others_end() {
        let permits = permits(1, 10);
        let ordinary = open(&permits, "10.0.0.1").await.unwrap();
        assert!(!ordinary.is_reserved());
        let first = open(&permits, "10.0.0.2").await.unwrap();
        let second = open(&permits, "10.0.0.2").await.unwrap();
        assert!(first.is_reserved() && second.is_reserved());
        assert!(!first.become_ordinary().await);
        drop(ordinary);
        assert!(first.become_ordinary().await && !first.is_reserved());
        assert!(!second.become_ordinary().await);
        drop(first);
        assert!(!open(&permits, "10.0.0.3").await.unwrap().is_reserved());
        drop(second);
        assert!(permits.peers.lock().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_with_all_its_permits_may_ask_for_health() {
        let permits = permits(10, 1);
        let _ordinary = open(&permits, "10.0.0.1").await.unwrap();
        let mut reserved = Vec::new();
        while let Some(granted) = open(&permits, "10.0.0.1").await {
            assert!(granted.is_reserved() && !granted.become_ordinary().await);
            reserved.push(granted);
        }
        assert_eq!(reserved.len(), super::HEALTH_CONNECTIONS_PER_PEER);
        assert!(!open(&permits, "10.0.0.2").await.unwrap().is_reserved());
    }

    #[tokio::test]
    async fn one_peer_cannot_have_all_reserved_permits() {
        let permits = permits(1, 10);
        let _ordinary = open(&permits, "10.0.0.1").await.unwrap();
        let mut reserved = Vec::new();
        while let Some(granted) = open(&permits, "10.0.0.2").await {
            reserved.push(granted);
        }
        assert_eq!(reserved.len(), super::HEALTH_CONNECTIONS_PER_PEER);
        assert!(open(&permits, "10.0.0.3").await.unwrap().is_reserved());
    }
}
