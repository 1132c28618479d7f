//! Manages data folders that a test removes at its end, with their databases.

use std::{
    fs,
    path::{Path, PathBuf},
};

use embedded_postgres::ClusterOptions;
use nix::sys::signal::Signal;

use crate::process::{command_line, is_running, kill_process, wait_until};

/// The path of a new data folder that the database's user can access.
///
/// Dropping it stops its database and removes the folder.
#[derive(Debug)]
pub struct DataDir(PathBuf);

impl Default for DataDir {
    fn default() -> Self {
        Self::new()
    }
}

impl DataDir {
    /// Returns a folder with a random name.
    pub fn new() -> Self {
        Self::ending_in("")
    }

    /// Returns a folder with a random name that ends in `suffix`.
    pub fn ending_in(suffix: &str) -> Self {
        // The database's user can access the folder of temporary clusters, even if root has a private temporary folder.
        let temporary = ClusterOptions::temporary().data_dir;
        let name = format!("compliance-test-{:016x}{suffix}", rand::random::<u64>());
        Self(temporary.parent().unwrap().join(name))
    }

    /// Returns the folder at this path, which exists or has an existing parent.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Returns the folder.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the folder with the database's files.
    pub fn cluster(&self) -> PathBuf {
        self.0.join("postgres")
    }

    /// Returns the process ID in the server's PID file, even if the process has exited.
    pub fn postmaster(&self) -> Option<i32> {
        fs::read_to_string(self.cluster().join("postmaster.pid")).ok()?.lines().next()?.parse().ok()
    }
}

impl Drop for DataDir {
    fn drop(&mut self) {
        let in_this_folder = |pid: &i32| *pid > 1 && command_line(*pid).contains(&*self.0.to_string_lossy());
        if let Some(pid) = self.postmaster().filter(in_this_folder) {
            kill_process(pid, Signal::SIGQUIT);
            wait_until("the database has stopped", || !is_running(pid));
        }
        let _ = fs::remove_dir_all(&self.0);
    }
}
