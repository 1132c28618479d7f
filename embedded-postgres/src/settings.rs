//! The server's settings, passed as flags at each start.

use std::{ffi::OsString, path::Path};

use crate::endpoint::PORT;

/// What survives a crash of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Every commit is flushed to disk before it is confirmed.
    #[default]
    Full,
    /// Nothing is flushed to disk: fast, but a power failure can destroy the cluster. For tests only.
    NoneForTests,
}

/// The configurable settings of the server; the others are fixed for a service on a small machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Size of the server's cache in MiB. The memory is allocated as it is used.
    pub shared_buffers_mib: u32,
    /// Connections, at most; three of them are reserved for [`ADMIN_ROLE`](crate::ADMIN_ROLE).
    pub max_connections: u32,
    /// What survives a crash of the machine.
    pub durability: Durability,
    /// Further server settings as name and value; they take precedence.
    pub extra: Vec<(String, String)>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { shared_buffers_mib: 256, max_connections: 100, durability: Durability::Full, extra: Vec::new() }
    }
}

impl Settings {
    /// For tests: [`Durability::NoneForTests`] and a small cache.
    pub fn fast_for_tests() -> Self {
        Self { shared_buffers_mib: 64, durability: Durability::NoneForTests, ..Self::default() }
    }

    /// The arguments of `postgres` for the cluster in `cluster_dir`.
    pub(crate) fn arguments(&self, cluster_dir: &Path, socket_dir: &Path, cluster_name: &str) -> Vec<OsString> {
        let mut arguments = vec![OsString::from("-D"), cluster_dir.into()];
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

        let durable = if self.durability == Durability::Full { "on" } else { "off" };
        for name in ["fsync", "synchronous_commit", "full_page_writes"] {
            set(name, durable);
        }
        set("shared_buffers", &format!("{}MB", self.shared_buffers_mib));
        set("work_mem", "16MB");
        set("wal_compression", "on");
        set("max_wal_size", "4GB");
        set("checkpoint_timeout", "15min");
        set("checkpoint_completion_target", "0.9");
        set("random_page_cost", "1.1");
        // The server only accepts 0 on systems without read-ahead.
        if cfg!(target_os = "linux") {
            set("effective_io_concurrency", "200");
        }
        // Statements are short, so compilation and parallel workers (which need more /dev/shm than containers have) cost
        // more than they save.
        set("jit", "off");
        set("max_parallel_workers_per_gather", "0");
        set("autovacuum", "on");

        set("timezone", "UTC");
        set("log_timezone", "UTC");
        set("logging_collector", "off");
        set("log_destination", "stderr");
        set("log_line_prefix", "%m [%p] ");
        for (name, value) in &self.extra {
            set(name, value);
        }
        arguments
    }
}
