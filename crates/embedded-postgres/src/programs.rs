//! Processes of this machine: short programs, and servers of clusters with their children.

use std::{
    ffi::OsStr,
    fs, io,
    os::unix::ffi::OsStrExt,
    path::Path,
    process::{Command, Output, Stdio},
    time::Duration,
};

use nix::{
    errno::Errno,
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tokio::time::{sleep, timeout};

use crate::error::Error;

/// Runs a command and returns its status and output. Kills it after `limit`, with an error of kind `TimedOut`.
pub(crate) async fn run(command: Command, limit: Duration) -> io::Result<Output> {
    let mut command = tokio::process::Command::from(command);
    let output = command.stdin(Stdio::null()).kill_on_drop(true).output();
    timeout(limit, output).await.unwrap_or_else(|_| {
        Err(io::Error::new(io::ErrorKind::TimedOut, format!("it did not end within {} s", limit.as_secs())))
    })
}

/// Returns standard output and then standard error, as text.
pub(crate) fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).trim().to_owned()
}

/// Sends a signal. Does nothing if the process has ended.
pub(crate) fn signal(pid: i32, signal: Signal) {
    match kill(Pid::from_raw(pid), signal) {
        Ok(()) | Err(Errno::ESRCH) => {}
        Err(error) => tracing::warn!(pid, %signal, %error, "cannot signal the database"),
    }
}

/// Returns the server of a cluster. A child that is just starting looks the same.
pub(crate) fn servers(cluster_name: &str) -> Vec<i32> {
    pids(|line| is_server(line, cluster_name))
}

/// Returns the server and its children, which can outlive a killed server.
pub(crate) fn members(cluster_name: &str) -> Vec<i32> {
    pids(|line| is_server(line, cluster_name) || is_child(line, cluster_name))
}

fn pids(is_wanted: impl Fn(&[u8]) -> bool) -> Vec<i32> {
    command_lines().into_iter().filter(|(_, line)| is_wanted(line)).map(|(pid, _)| pid).collect()
}

/// Returns whether a process is a server that uses the folder.
pub(crate) fn serves(pid: i32, cluster_dir: &Path) -> bool {
    pids(|line| has_argument(line, cluster_dir.as_os_str().as_bytes())).contains(&pid)
}

fn is_server(line: &[u8], cluster_name: &str) -> bool {
    has_argument(line, format!("cluster_name={cluster_name}").as_bytes())
}

/// Returns whether a command line belongs to a server with this argument.
fn has_argument(line: &[u8], wanted: &[u8]) -> bool {
    let mut arguments = line.split(|byte| *byte == 0);
    let program = arguments.next().and_then(|first| Path::new(OsStr::from_bytes(first)).file_name());
    program.is_some_and(|name| name == "postgres") && arguments.any(|argument| argument == wanted)
}

/// Returns whether a command line is the title of a child: `postgres: <cluster name>: <activity>`.
fn is_child(line: &[u8], cluster_name: &str) -> bool {
    let title = format!("postgres: {cluster_name}: ");
    let start = line.iter().map(|byte| if *byte == 0 { b' ' } else { *byte }).take(title.len());
    start.eq(title.bytes())
}

/// Waits until `processes` returns none.
pub(crate) async fn none_left(processes: impl Fn() -> Vec<i32>) {
    let mut interval = Duration::from_millis(5);
    while !processes().is_empty() {
        sleep(interval).await;
        interval = (interval * 2).min(Duration::from_millis(100));
    }
}

/// Ends the processes of a cluster: with a fast shutdown of up to `fast`, then with stronger signals.
pub(crate) async fn end(cluster_name: &str, fast: Duration) -> Result<(), Error> {
    // Without a server, its children would not shut down.
    let fast = if servers(cluster_name).is_empty() { Duration::ZERO } else { fast };
    let steps = [
        (Signal::SIGINT, fast),
        (Signal::SIGQUIT, Duration::from_secs(10)),
        (Signal::SIGKILL, Duration::from_secs(10)),
    ];
    for (by, limit) in steps.into_iter().filter(|(_, limit)| !limit.is_zero()) {
        let signalled = if by == Signal::SIGINT { servers(cluster_name) } else { members(cluster_name) };
        for pid in signalled {
            signal(pid, by);
        }
        if timeout(limit, none_left(|| members(cluster_name))).await.is_ok() {
            return Ok(());
        }
        tracing::warn!(signal = %by, seconds = limit.as_secs(), "the database has not stopped yet");
    }
    let left = members(cluster_name);
    Err(Error::Other(format!("the PostgreSQL processes {left:?} cannot be stopped, not even by SIGKILL")))
}

/// Returns the processes of this machine with their command lines. A NUL ends an argument, and a zombie has an empty line.
fn command_lines() -> Vec<(i32, Vec<u8>)> {
    if !Path::new("/proc/self/cmdline").exists() {
        return listed_by_ps().unwrap_or_default();
    }
    let read = |entry: fs::DirEntry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        Some((pid, fs::read(entry.path().join("cmdline")).ok()?))
    };
    fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(read).collect()
}

/// Like [`command_lines`], for systems without `/proc`. Every blank ends an argument.
fn listed_by_ps() -> Option<Vec<(i32, Vec<u8>)>> {
    let output = Command::new("ps").args(["-axww", "-o", "pid=,command="]).output().ok()?;
    let listed = String::from_utf8_lossy(&output.stdout);
    let lines = listed.lines().filter_map(|line| {
        let (pid, command) = line.trim_start().split_once(' ')?;
        let words: Vec<&str> = command.split_whitespace().collect();
        Some((pid.parse().ok()?, words.join("\0").into_bytes()))
    });
    Some(lines.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_zombie_has_no_command_line() {
        let mut child = Command::new("true").spawn().unwrap();
        let pid = child.id().cast_signed();
        let shown = || command_lines().into_iter().filter(|(other, line)| *other == pid && !line.is_empty());
        timeout(Duration::from_mins(1), none_left(|| shown().map(|(pid, _)| pid).collect())).await.unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn processes_are_listed_alike_without_proc() {
        let me = std::process::id().cast_signed();
        let Some(listed) = listed_by_ps() else { return };
        let program = |lines: Vec<(i32, Vec<u8>)>| {
            let (_, line) = lines.into_iter().find(|(pid, _)| *pid == me).unwrap();
            line.split(|byte| *byte == 0).next().map(<[u8]>::to_vec)
        };
        assert_eq!(program(listed), program(command_lines()));
    }

    #[test]
    fn servers_and_children_are_identified_by_the_name_of_their_cluster() {
        for (line, expected) in [
            ("/bin/postgres\0-c\0cluster_name=compliance-1-2\0", true),
            ("/bin/postgres\0-c\0cluster_name=compliance-1-23\0", false),
            ("/bin/grep\0cluster_name=compliance-1-2\0", false),
            ("postgres: compliance-1-2: checkpointer ", true),
            ("postgres: compliance-1-23: checkpointer ", false),
            ("", false),
        ] {
            let found = is_server(line.as_bytes(), "compliance-1-2") || is_child(line.as_bytes(), "compliance-1-2");
            assert_eq!(found, expected, "{line:?}");
        }
        assert!(has_argument(b"postgres\0-D\0/data\0", b"/data") && !has_argument(b"postgres\0-D\0/data\0", b"/"));
    }
}
