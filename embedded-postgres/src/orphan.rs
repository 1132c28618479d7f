//! What an earlier run left in the cluster's folder: a server that still runs, or only its traces.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::time::{Instant, sleep};

use crate::{
    context::Context,
    endpoint::{Answer, Endpoint},
    error::Error,
    layout::{Layout, socket_file},
    process::{self, Kind},
    server,
};

/// How long a server may be silent before its socket has to answer.
const SILENCE_LIMIT: Duration = Duration::from_secs(15);

/// `postmaster.pid`, which a server writes when it starts and removes when it ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PidFile {
    pub(crate) pid: i32,
    /// Where it listens; missing from a file of a server that has only begun to start.
    pub(crate) endpoint: Option<Endpoint>,
}

impl PidFile {
    /// Reads the file of the cluster in `cluster_dir`; nothing when there is none, or none that makes sense.
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

/// Before a start: finds a server of this very cluster that still runs, and gives back its process number when it can
/// be taken over. Otherwise it is stopped, and what it left behind is removed.
///
/// The caller holds the data folder's lock, so no other service starts or stops the cluster meanwhile.
pub(crate) async fn clear_the_way(context: &Context) -> Result<Option<i32>, Error> {
    let cluster = &context.layout.cluster;
    if let Some(found) = PidFile::read(cluster)? {
        match process::examine(found.pid, cluster, &context.name) {
            Kind::Ours if takes_over(context, found.pid).await => return Ok(Some(found.pid)),
            Kind::Ours => {
                tracing::info!(pid = found.pid, "stopping the database an earlier run left behind");
                server::end(found.pid, || process::alive(found.pid), context.timeouts.stop).await?;
            }
            Kind::Unclear => return Err(Error::UnknownServer { pid: found.pid, path: cluster.clone() }),
            Kind::Gone | Kind::Other => {
                tracing::info!(pid = found.pid, "an earlier database ended without cleaning up; it will recover");
            }
        }
    }
    // The file must not go before the last process has: it is what keeps a second server away from them.
    server::end_members(context).await?;
    let socket = socket_file(context.endpoint.socket_dir());
    let mut socket_lock = socket.clone().into_os_string();
    socket_lock.push(".lock");
    for path in [PidFile::path(cluster), socket, PathBuf::from(socket_lock)] {
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(Error::io("remove", path)(error)),
            _ => {}
        }
    }
    Ok(None)
}

/// Whether the running server is just what would be started, and answers.
async fn takes_over(context: &Context, pid: i32) -> bool {
    if !context.started_alike(pid) {
        tracing::info!(pid, "an earlier run left a database with other settings");
        return false;
    }
    let answer = wait_for(&context.endpoint, context.timeouts.recovery, || process::alive(pid)).await;
    if let Err(last) = &answer {
        tracing::info!(pid, last, "an earlier run left a database that does not answer");
    }
    answer.is_ok()
}

/// Finds the running server of a cluster that another process has started, for a program that only wants to connect.
///
/// Nothing when none runs. A server that is just starting is waited for, within `patience`.
pub(crate) async fn find_running(layout: &Layout, patience: Duration) -> Result<Option<Endpoint>, Error> {
    if !layout.cluster.exists() {
        return Ok(None);
    }
    let name = layout.cluster_name()?;
    let deadline = Instant::now() + patience;
    loop {
        let Some(found) = PidFile::read(&layout.cluster)? else { return Ok(None) };
        match process::examine(found.pid, &layout.cluster, &name) {
            Kind::Gone | Kind::Other => return Ok(None),
            // Whether it answers on the socket in this cluster's file is proof enough for connecting.
            Kind::Ours | Kind::Unclear => {}
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if let Some(endpoint) = found.endpoint {
            return match wait_for(&endpoint, left, || process::alive(found.pid)).await {
                Ok(()) => Ok(Some(endpoint)),
                Err(_) if !process::alive(found.pid) => Ok(None),
                Err(last) => Err(Error::NoAnswer { waited: patience, last, log: layout.log.clone() }),
            };
        }
        if left.is_zero() {
            let last = "it has not opened its socket".to_owned();
            return Err(Error::NoAnswer { waited: patience, last, log: layout.log.clone() });
        }
        sleep(Duration::from_millis(20)).await;
    }
}

/// Waits until the server answers: within `patience` as long as it asks for patience, much shorter when it is silent.
/// The error is the last thing heard.
async fn wait_for(endpoint: &Endpoint, patience: Duration, runs: impl Fn() -> bool) -> Result<(), String> {
    let start = Instant::now();
    loop {
        let (limit, last) = match endpoint.ask().await {
            Answer::Ready => return Ok(()),
            Answer::NotYet(words) if words.contains("shutting down") => {
                // It will not come back; but its end has to be awaited before anything else is done.
                while runs() && start.elapsed() < patience {
                    sleep(Duration::from_millis(20)).await;
                }
                return Err(words);
            }
            Answer::NotYet(words) => (patience, words),
            Answer::Silent(words) => (SILENCE_LIMIT.min(patience), words),
        };
        if !runs() || start.elapsed() >= limit {
            return Err(last);
        }
        sleep(Duration::from_millis(20)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_file_tells_where_the_server_listens() {
        let text = "4711\n/data/postgres\n1700000000\n5432\n/data/postgres\n\n  65541 3\nready   \n";
        let endpoint = Some(Endpoint::new(PathBuf::from("/data/postgres"), 5432));
        assert_eq!(PidFile::parse(text), Some(PidFile { pid: 4711, endpoint }));
    }

    #[test]
    fn a_partial_or_damaged_file_does_no_harm() {
        assert_eq!(PidFile::parse("4711\n/data/postgres\n"), Some(PidFile { pid: 4711, endpoint: None }));
        for text in ["", "\n", "x\n", "-1\n", "99999999999\n"] {
            assert_eq!(PidFile::parse(text), None, "{text:?}");
        }
    }
}
