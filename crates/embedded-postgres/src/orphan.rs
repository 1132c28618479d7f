//! What an earlier run left in the cluster's folder: a running server, or only its files.

use std::{
    fs, io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::time::{Instant, sleep};

use crate::{
    context::{Context, RECOVERY_TIMEOUT, START_TIMEOUT, STOP_TIMEOUT},
    endpoint::Endpoint,
    error::Error,
    layout::{Layout, socket_file},
    process::{self, Identity},
    safe_file, server,
};

/// How long a server may take to answer on its socket.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(15);

/// `postmaster.pid`, which a server writes at its start and removes at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PidFile {
    pub(crate) pid: i32,
    /// The server's address; missing at the beginning of a start.
    pub(crate) endpoint: Option<Endpoint>,
}

impl PidFile {
    /// Reads the file of the cluster in `cluster_dir`. Returns `None` if it is missing or malformed.
    pub(crate) fn read(cluster_dir: &Path) -> Result<Option<Self>, Error> {
        let path = Self::path(cluster_dir);
        match fs::read_to_string(&path) {
            Ok(text) => Ok(Self::parse(&text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io("read", path)(error)),
        }
    }

    fn path(cluster_dir: &Path) -> PathBuf {
        cluster_dir.join("postmaster.pid")
    }

    fn parse(text: &str) -> Option<Self> {
        // Its lines: process, data folder, start time, port, socket directory, address, shared memory, state.
        let lines: Vec<&str> = text.lines().collect();
        let pid = lines.first()?.trim().parse().ok().filter(|pid| *pid > 0)?;
        let port = lines.get(3).and_then(|line| line.trim().parse().ok());
        let socket_dir = lines.get(4).filter(|line| line.starts_with('/'));
        let endpoint = port.zip(socket_dir).map(|(port, dir)| Endpoint::new(PathBuf::from(dir), port));
        Some(Self { pid, endpoint })
    }
}

/// Prepares a start by the holder of the data folder's lock. Returns the process ID of a running server that can be taken over.
/// Otherwise stops the server and removes the files that it left behind.
pub(crate) async fn reclaim(context: &Context) -> Result<Option<i32>, Error> {
    let cluster = &context.layout.cluster;
    if let Some(found) = PidFile::read(cluster)? {
        match process::examine(found.pid, cluster, &context.name) {
            Identity::Ours if can_take_over(context, found.pid).await => return Ok(Some(found.pid)),
            Identity::Ours => {
                tracing::info!(pid = found.pid, "stopping the database of an earlier run");
                process::end(found.pid, STOP_TIMEOUT).await?;
            }
            Identity::Unknown => {
                return Err(Error::Other(format!(
                    "process {} looks like a PostgreSQL server that uses {path}, but was not started by this service: \
                     stop it first (if it is not one, remove {path}/postmaster.pid)",
                    found.pid,
                    path = cluster.display()
                )));
            }
            Identity::Other => {
                tracing::info!(pid = found.pid, "an earlier database was killed; it will recover");
            }
        }
    }
    // The file is removed last: it keeps a second server from starting while processes of the first one run.
    server::stop_members(context).await?;
    let socket = socket_file(context.endpoint.socket_dir());
    let socket_lock = socket.with_added_extension("lock");
    for path in [PidFile::path(cluster), socket, socket_lock] {
        safe_file::remove(&path).map_err(Error::io("remove", path))?;
    }
    Ok(None)
}

/// Whether the running server has the right settings and answers.
async fn can_take_over(context: &Context, pid: i32) -> bool {
    let mut wanted = vec![context.program().into_os_string()];
    wanted.extend_from_slice(&context.arguments);
    if process::command_line(pid).is_none_or(|found| found != wanted.join("\0".as_ref()).as_bytes()) {
        tracing::info!(pid, "the database of an earlier run has other settings");
        return false;
    }
    tokio::select! {
        ready = context.endpoint.until_ready(RECOVERY_TIMEOUT, SILENCE_TIMEOUT) => {
            if let Err(reason) = &ready {
                tracing::info!(pid, reason, "the database of an earlier run does not respond");
            }
            ready.is_ok()
        }
        () = process::ended(pid) => false,
    }
}

/// Finds the server of a cluster that another process runs. Returns `None` if there is none. Waits for one that is starting.
pub(crate) async fn find_running(layout: &Layout) -> Result<Option<Endpoint>, Error> {
    if !layout.cluster.exists() {
        return Ok(None);
    }
    let name = layout.cluster_name()?;
    let start = Instant::now();
    loop {
        let Some(found) = PidFile::read(&layout.cluster)? else { return Ok(None) };
        match process::examine(found.pid, &layout.cluster, &name) {
            Identity::Other => return Ok(None),
            // It belongs to this cluster if it answers on the socket in this cluster's file.
            Identity::Ours | Identity::Unknown => {}
        }
        let left = START_TIMEOUT.saturating_sub(start.elapsed());
        let ready = async {
            match &found.endpoint {
                Some(endpoint) => endpoint.until_ready(left, SILENCE_TIMEOUT.min(left)).await.map(|()| true),
                None if left.is_zero() => Err("PostgreSQL has not opened its socket".to_owned()),
                None => Ok(false),
            }
        };
        let ready = tokio::select! {
            ready = ready => ready,
            () = process::ended(found.pid) => return Ok(None),
        };
        if ready.map_err(|reason| Error::Other(format!("{reason}; see {}", layout.log.display())))? {
            return Ok(found.endpoint);
        }
        sleep(Duration::from_millis(20)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complete_file_has_the_address() {
        let text = "4711\n/data/postgres\n1700000000\n5432\n/data/postgres\n\n  65541 3\nready   \n";
        let endpoint = Some(Endpoint::new(PathBuf::from("/data/postgres"), 5432));
        assert_eq!(PidFile::parse(text), Some(PidFile { pid: 4711, endpoint }));
    }

    #[test]
    fn a_partial_or_malformed_file_is_handled() {
        assert_eq!(PidFile::parse("4711\n/data/postgres\n"), Some(PidFile { pid: 4711, endpoint: None }));
        for text in ["", "\n", "x\n", "-1\n", "99999999999\n"] {
            assert_eq!(PidFile::parse(text), None, "{text:?}");
        }
    }
}
