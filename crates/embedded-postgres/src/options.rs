//! Cluster options, and the server settings passed as flags at each start.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

use nix::sys::statvfs::{Statvfs, statvfs};

use crate::{
    endpoint::PORT,
    layout::{Layout, check_data_dir},
};

/// Settings that differ from the server's defaults in every cluster.
const FIXED: [(&str, &str); 13] = [
    ("work_mem", "16MB"),
    // A bulk write logs megabytes before it commits. With the default, another client's next commit would flush them.
    ("wal_writer_delay", "10ms"),
    ("max_wal_size", "4GB"),
    // A bulk write needs a new log file twice a second, and every commit waits for it: 14 ms for a zeroed file, 1 ms for a sparse file.
    // Reused files cost nothing.
    ("wal_init_zero", "off"),
    ("min_wal_size", "1GB"),
    ("checkpoint_timeout", "15min"),
    ("random_page_cost", "1.1"),
    // Statements are short, so JIT compilation and parallel workers cost more than they save. Parallel workers also need more /dev/shm
    // than containers provide.
    ("jit", "off"),
    ("max_parallel_workers_per_gather", "0"),
    ("timezone", "UTC"),
    ("log_timezone", "UTC"),
    // Some distributions enable this setting.
    ("logging_collector", "off"),
    // Error details contain row values.
    ("log_error_verbosity", "terse"),
];

/// A file system in memory. Tests create and remove many thousands of files, which takes most of their time on a disk.
const IN_MEMORY: &str = "/dev/shm";
/// Free memory that tests need to keep their files there, in bytes.
const LEAST_MEMORY: u64 = 8 << 30;

/// Options for a cluster.
#[derive(Debug, Clone)]
pub struct ClusterOptions {
    /// Folder for all files. Created if missing.
    pub data_dir: PathBuf,
    /// Server cache size, in MiB. The server allocates memory on use.
    pub shared_buffers_mib: u32,
    /// Maximum number of connections. Three are reserved for [`ADMIN_ROLE`](crate::ADMIN_ROLE).
    pub max_connections: u32,
    /// Whether each commit is flushed to disk. Otherwise, a power failure can destroy the cluster.
    pub durable: bool,
    /// How long to wait for another process to release the data folder.
    pub lock_timeout: Duration,
    /// Whether to restart the server if it ends.
    pub supervise: bool,
    /// Whether to remove the data folder when the cluster stops.
    pub remove_on_stop: bool,
}

impl ClusterOptions {
    /// Returns options for a service's durable, supervised cluster.
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

    /// Returns options for tests: a temporary folder, in memory if possible, no durability and a small cache.
    pub fn temporary() -> Self {
        let data_dir = temporary_base().join(format!("compliance-test-{:016x}", rand::random::<u64>()));
        Self { shared_buffers_mib: 64, durable: false, remove_on_stop: true, ..Self::new(data_dir) }
    }

    /// Returns the arguments of `postgres`.
    pub(crate) fn arguments(&self, layout: &Layout, socket_dir: &Path, cluster_name: &str) -> Vec<OsString> {
        let mut arguments = vec![OsString::from("-D"), layout.cluster.clone().into()];
        // These files are outside the cluster's folder, so the database's user cannot change the access rules.
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
        // Only root and the server's own user can connect.
        set("unix_socket_permissions", "0700");
        set("max_connections", &self.max_connections.to_string());

        let durable = if self.durable { "on" } else { "off" };
        // Autovacuum would visit the hundreds of databases of the tests again and again.
        for name in ["fsync", "synchronous_commit", "full_page_writes", "autovacuum"] {
            set(name, durable);
        }
        set("shared_buffers", &format!("{}MB", self.shared_buffers_mib));
        for (name, value) in FIXED {
            set(name, value);
        }
        // Systems without read-ahead accept only 0.
        if cfg!(target_os = "linux") {
            set("effective_io_concurrency", "200");
            // Crash recovery begins by flushing all files. This method flushes them with a single call.
            set("recovery_init_sync_method", "syncfs");
        }
        arguments
    }
}

/// Returns the folder for temporary clusters. `TMPDIR` takes precedence.
fn temporary_base() -> PathBuf {
    let is_roomy = |disk: Statvfs| disk.blocks_available() * disk.fragment_size() >= LEAST_MEMORY;
    let in_memory = env::var_os("TMPDIR").is_none() && statvfs(IN_MEMORY).is_ok_and(is_roomy);
    let base = if in_memory { PathBuf::from(IN_MEMORY) } else { env::temp_dir() };
    // The database's user may lack access to root's temporary folder.
    if check_data_dir(&base).is_ok() { base } else { PathBuf::from("/tmp") }
}
