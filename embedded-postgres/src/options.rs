//! Options of a cluster.

use std::{path::PathBuf, time::Duration};

use crate::{layout::check_data_dir, settings::ServerSettings};

/// Options of a cluster.
#[derive(Debug, Clone)]
pub struct ClusterOptions {
    /// The folder that holds everything; created if it is missing.
    pub data_dir: PathBuf,
    /// The server's settings.
    pub settings: ServerSettings,
    /// How long to wait for another process to release the data folder.
    pub lock_timeout: Duration,
    /// Whether a server that exits or is killed is restarted.
    pub supervise: bool,
    /// Whether the whole data folder is removed when the cluster stops.
    pub remove_on_stop: bool,
}

impl ClusterOptions {
    /// A durable, supervised cluster for a service.
    pub fn new(data_dir: impl Into<PathBuf>) -> Self {
        Self {
            data_dir: data_dir.into(),
            settings: ServerSettings::default(),
            lock_timeout: Duration::from_secs(3),
            supervise: true,
            remove_on_stop: false,
        }
    }

    /// A cluster for tests: in a new temporary folder, fast and not crash-safe ([`ServerSettings::fast_for_tests`]), and removed
    /// when it stops.
    pub fn temporary() -> Self {
        let base = std::env::temp_dir();
        // The temporary folder of root may be inaccessible to the database's user.
        let base = if check_data_dir(&base).is_ok() { base } else { PathBuf::from("/tmp") };
        let data_dir = base.join(format!("compliance-test-{:016x}", rand::random::<u64>()));
        Self { settings: ServerSettings::fast_for_tests(), remove_on_stop: true, ..Self::new(data_dir) }
    }
}
