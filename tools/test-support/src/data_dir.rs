//! Data folders, which a test removes at its end together with their database.

use std::{
    fs,
    path::{Path, PathBuf},
};

use embedded_postgres::ClusterOptions;
use nix::sys::signal::Signal;

use crate::process::{command_line, is_running, kill_process, wait_until};

/// The path of a new data folder that the database's user can reach. When it is dropped, its database
/// stops and the folder is removed.
#[derive(Debug)]
pub struct DataDir(PathBuf);

impl Default for DataDir {
    fn default() -> Self {
        Self::new()
    }
}

impl DataDir {
    /// A folder with a random name.
    pub fn new() -> Self {
        Self::ending_in("")
    }

    /// A folder whose name ends in `suffix`.
    pub fn ending_in(suffix: &str) -> Self {
        // The database's user can reach the folder of temporary clusters, even if root has a private temporary folder.
        let temporary = ClusterOptions::temporary().data_dir;
        let name = format!("compliance-test-{:016x}{suffix}", rand::random::<u64>());
        Self(temporary.parent().unwrap().join(name))
    }

    /// An existing folder or one below it, under the same rules.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The folder of the database's files.
    pub fn cluster(&self) -> PathBuf {
        self.0.join("postgres")
    }

    /// The process ID in the file that the server keeps, whether or not the process still runs.
    pub fn postmaster(&self) -> Option<i32> {
        fs::read_to_string(self.cluster().join("postmaster.pid")).ok()?.lines().next()?.parse().ok()
    }
}

impl Drop for DataDir {
    fn drop(&mut self) {
        let in_this_folder = |pid: &i32| *pid > 1 && command_line(*pid).contains(&*self.0.to_string_lossy());
        if let Some(pid) = self.postmaster().filter(in_this_folder) {
            kill_process(pid, Signal::SIGQUIT);
            wait_until("the database has ended", || !is_running(pid));
        }
        let _ = fs::remove_dir_all(&self.0);
    }
}
