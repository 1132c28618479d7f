//! Options of a cluster, and the settings of its server, which are passed as flags at each start.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{
    endpoint::PORT,
    layout::{Layout, check_data_dir},
};

/// The settings that are the same for every cluster, where they differ from the server's defaults.
const FIXED: [(&str, &str); 13] = [
    ("work_mem", "16MB"),
    // A bulk write logs megabytes before it commits. What is not flushed meanwhile, the next commit of anybody has to flush.
    ("wal_writer_delay", "10ms"),
    ("max_wal_size", "4GB"),
    // A new file of the log that is filled with zeros keeps every commit waiting for 14 ms, which a bulk write does to all
    // others twice a second; a sparse one takes 1 ms. Files that are used again need not be made.
    ("wal_init_zero", "off"),
    ("min_wal_size", "1GB"),
    ("checkpoint_timeout", "15min"),
    ("random_page_cost", "1.1"),
    // Statements are short, so compilation and parallel workers (which need more /dev/shm than containers have) cost
    // more than they save.
    ("jit", "off"),
    ("max_parallel_workers_per_gather", "0"),
    ("timezone", "UTC"),
    ("log_timezone", "UTC"),
    // The packages of some distributions turn it on.
    ("logging_collector", "off"),
    // Without details, which hold the values of rows.
    ("log_error_verbosity", "terse"),
];

/// Options of a cluster.
#[derive(Debug, Clone)]
pub struct ClusterOptions {
    /// The folder that holds everything; created if it is missing.
    pub data_dir: PathBuf,
    /// Size of the server's cache in MiB. The memory is allocated as it is used.
    pub shared_buffers_mib: u32,
    /// Connections, at most; three of them are reserved for [`ADMIN_ROLE`](crate::ADMIN_ROLE).
    pub max_connections: u32,
    /// Whether every commit is flushed to disk before it is confirmed. Without it, a power failure can destroy the cluster.
    pub durable: bool,
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
            shared_buffers_mib: 256,
            max_connections: 100,
            durable: true,
            lock_timeout: Duration::from_secs(3),
            supervise: true,
            remove_on_stop: false,
        }
    }

    /// A cluster for tests: in a new temporary folder, not durable, with a small cache, and removed when it stops.
    pub fn temporary() -> Self {
        let base = std::env::temp_dir();
        // The temporary folder of root may be inaccessible to the database's user.
        let base = if check_data_dir(&base).is_ok() { base } else { PathBuf::from("/tmp") };
        let data_dir = base.join(format!("compliance-test-{:016x}", rand::random::<u64>()));
        Self { shared_buffers_mib: 64, durable: false, remove_on_stop: true, ..Self::new(data_dir) }
    }

    /// The arguments of `postgres` for a cluster.
    pub(crate) fn arguments(&self, layout: &Layout, socket_dir: &Path, cluster_name: &str) -> Vec<OsString> {
        let mut arguments = vec![OsString::from("-D"), layout.cluster.clone().into()];
        // Outside of the cluster's folder, so that the database's user cannot change who may connect.
        for (name, path) in [("hba_file", &layout.hba), ("ident_file", &layout.ident)] {
            let mut setting = OsString::from(format!("{name}="));
            setting.push(path);
            arguments.extend(["-c".into(), setting]);
        }
        let mut set = |name: &str, value: &str| {
            arguments.push("-c".into());
            arguments.push(format!("{name}={value}").into());
        };
        set("cluster_name", cluster_name);
        set("listen_addresses", "");
        set("port", &PORT.to_string());
        set("unix_socket_directories", &socket_dir.to_string_lossy());
        // Only root and the server's own user connect.
        set("unix_socket_permissions", "0700");
        set("max_connections", &self.max_connections.to_string());

        let durable = if self.durable { "on" } else { "off" };
        for name in ["fsync", "synchronous_commit", "full_page_writes"] {
            set(name, durable);
        }
        set("shared_buffers", &format!("{}MB", self.shared_buffers_mib));
        for (name, value) in FIXED {
            set(name, value);
        }
        // The server only accepts 0 on systems without read-ahead.
        if cfg!(target_os = "linux") {
            set("effective_io_concurrency", "200");
            // After a crash, the server flushes its files before it recovers: one call instead of one for each file.
            set("recovery_init_sync_method", "syncfs");
        }
        arguments
    }
}
