//! Raises the process's file descriptor limit, and lowers connection limits to fit.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Highest limit to set. Some systems have a hard limit of a billion.
const MOST: u64 = 1 << 20;
/// Descriptors reserved for logs, timers, ports, key sets and files.
const OTHERS: usize = 64;
/// Minimum number of connections per port, even if descriptors are scarce.
const FEWEST_CONNECTIONS: usize = 8;

/// The process's file descriptor limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Descriptors(usize);

impl Descriptors {
    /// Returns the hard limit, or `None` if it cannot be read.
    pub(crate) fn most() -> Option<u64> {
        getrlimit(Resource::RLIMIT_NOFILE).ok().map(|(_, hard)| hard)
    }

    /// Raises the limit as far as allowed, and logs the new limit.
    pub(crate) fn raise() -> Self {
        let (soft, hard) = match getrlimit(Resource::RLIMIT_NOFILE) {
            Ok(limits) => limits,
            Err(error) => {
                tracing::warn!(%error, "cannot read the file descriptor limit");
                return Self(MOST as usize);
            }
        };
        let wanted = hard.min(MOST).max(soft);
        let limit = match setrlimit(Resource::RLIMIT_NOFILE, wanted, hard) {
            Ok(()) => wanted,
            Err(error) => {
                tracing::warn!(%error, "cannot raise the file descriptor limit");
                soft
            }
        };
        tracing::info!(limit, before = soft, "file descriptors");
        Self(usize::try_from(limit).unwrap_or(usize::MAX))
    }

    /// Lowers the connection limit of a port if there are too few descriptors. `ports` is the number of ports, and `others` is the
    /// number of outgoing connections.
    pub(crate) fn bound(self, port: &str, max_connections: &mut usize, ports: usize, others: usize) {
        let available = self.0.saturating_sub(OTHERS + others) / ports;
        let connections = available.max(FEWEST_CONNECTIONS);
        if connections < *max_connections {
            tracing::warn!(
                port,
                connections,
                wanted = *max_connections,
                "too few file descriptors for all connections: raise the limit (LimitNOFILE, ulimit -Hn), or lower the connection limit of the port"
            );
            *max_connections = connections;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Descriptors;

    #[test]
    fn ports_share_descriptors_evenly() {
        let connections = |descriptors, ports| {
            let mut connections = 10_000;
            Descriptors(descriptors).bound("REST", &mut connections, ports, 16);
            connections
        };
        assert_eq!(connections(1 << 20, 2), 10_000);
        assert_eq!((connections(256, 2), connections(256, 1), connections(10, 2)), (88, 176, 8));
    }
}
