//! Options of a cluster.

use std::{path::PathBuf, time::Duration};

use crate::{install::Installation, layout::check_data_dir, settings::Settings};

/// Options of a cluster.
#[derive(Debug, Clone)]
pub struct ClusterOptions {
    /// The folder that holds everything; created if it is missing.
    pub data_dir: PathBuf,
    /// The server programs; searched for on the machine if not given.
    pub installation: Option<Installation>,
    /// The server's settings.
    pub settings: Settings,
    /// How long each step may take.
    pub timeouts: Timeouts,
    /// Whether a server that exits or is killed is restarted.
    pub supervise: bool,
    /// Whether the whole data folder is removed when the cluster stops.
    pub remove_on_stop: bool,
}

/// How long each step may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Start of a server that does not respond.
    pub start: Duration,
    /// Start of a server that reports that it is recovering from a crash.
    pub recovery: Duration,
    /// Fast shutdown, in which the server flushes its data; after that it is stopped immediately.
    pub stop: Duration,
    /// Wait for another process to release the data folder.
    pub lock: Duration,
}

impl Default for Timeouts {
    /// Start 1 min, recovery 10 min, stop 1 min, lock 3 s.
    fn default() -> Self {
        Self {
            start: Duration::from_mins(1),
            recovery: Duration::from_mins(10),
            stop: Duration::from_mins(1),
            lock: Duration::from_secs(3),
        }
    }
}

impl ClusterOptions {
    /// A durable, supervised cluster for a service.
    pub fn new(data_dir: impl Into<PathBuf>) -> Self {
        Self {
            data_dir: data_dir.into(),
            installation: None,
            settings: Settings::default(),
            timeouts: Timeouts::default(),
            supervise: true,
            remove_on_stop: false,
        }
    }

    /// A cluster for tests: in a new temporary folder, fast and not crash-safe ([`Settings::fast_for_tests`]), and removed
    /// when it stops.
    pub fn temporary() -> Self {
        let base = std::env::temp_dir();
        // The temporary folder of root may be inaccessible to the database's user.
        let base = if check_data_dir(&base).is_ok() { base } else { PathBuf::from("/tmp") };
        let data_dir = base.join(format!("compliance-test-{:016x}", rand::random::<u64>()));
        Self { settings: Settings::fast_for_tests(), remove_on_stop: true, ..Self::new(data_dir) }
    }
}
