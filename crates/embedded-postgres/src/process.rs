//! Processes of this machine: short programs, and the identity and the end of servers.

use std::{
    ffi::OsStr,
    fs, io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
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

/// Runs `command` and returns its status and output. Kills it after `limit`, which is an error of kind `TimedOut`.
pub(crate) async fn run(command: Command, limit: Duration) -> io::Result<Output> {
    let mut command = tokio::process::Command::from(command);
    let output = command.stdin(Stdio::null()).kill_on_drop(true).output();
    timeout(limit, output).await.unwrap_or_else(|_| {
        Err(io::Error::new(io::ErrorKind::TimedOut, format!("it did not end within {} s", limit.as_secs())))
    })
}

/// Standard output and then standard error, as text.
pub(crate) fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).trim().to_owned()
}

/// What the process ID in `postmaster.pid` refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Identity {
    /// The server of this cluster.
    Ours,
    /// No process, or another program that has got the same process ID.
    Other,
    /// A `PostgreSQL` server of an unknown cluster.
    Unknown,
}

/// Whether the process runs. A zombie does not.
pub(crate) fn alive(pid: i32) -> bool {
    let exists = pid > 0 && !matches!(kill(Pid::from_raw(pid), None), Err(Errno::ESRCH));
    // The first process of a container often does not reap orphans, so zombies remain.
    exists && !fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| is_dead(&stat))
}

/// Whether `/proc/<pid>/stat` shows a process that has ended. (One that starts a program has no command line, either.)
fn is_dead(stat: &str) -> bool {
    // The state follows the name of the program, which may contain blanks and parentheses.
    let state = stat.rsplit_once(") ").map(|(_, rest)| rest.chars().next());
    matches!(state, Some(Some('Z' | 'X' | 'x')))
}

/// Waits until the process has ended.
pub(crate) async fn ended(pid: i32) {
    let mut interval = Duration::from_millis(5);
    while alive(pid) {
        sleep(interval).await;
        interval = (interval * 2).min(Duration::from_millis(100));
    }
}

/// Sends a signal. Succeeds if the process has ended.
pub(crate) fn signal(pid: i32, signal: Signal) -> Result<(), Error> {
    match kill(Pid::from_raw(pid), signal) {
        Ok(()) | Err(Errno::ESRCH) => Ok(()),
        Err(error) => Err(will_not_stop(pid, error.desc())),
    }
}

pub(crate) fn will_not_stop(pid: i32, reason: &str) -> Error {
    Error::Other(format!("the PostgreSQL server, process {pid}, cannot be stopped: {reason}"))
}

/// Stops a server: a fast shutdown if `fast` is not zero, then an immediate one, then SIGKILL.
pub(crate) async fn end(pid: i32, fast: Duration) -> Result<(), Error> {
    let steps = [
        (Signal::SIGINT, fast),
        (Signal::SIGQUIT, Duration::from_secs(10)),
        (Signal::SIGKILL, Duration::from_secs(10)),
    ];
    for (by, limit) in steps.into_iter().filter(|(_, limit)| !limit.is_zero()) {
        tracing::debug!(pid, signal = %by, "stopping the database");
        signal(pid, by)?;
        if timeout(limit, ended(pid)).await.is_ok() {
            return Ok(());
        }
        tracing::warn!(pid, signal = %by, seconds = limit.as_secs(), "the database has not stopped yet");
    }
    Err(will_not_stop(pid, "it does not end, not even after SIGKILL"))
}

/// Identifies a process with respect to the cluster in `cluster_dir`, whose server has the name `cluster_name`.
pub(crate) fn examine(pid: i32, cluster_dir: &Path, cluster_name: &str) -> Identity {
    match command_line(pid) {
        _ if !alive(pid) => Identity::Other,
        Some(line) => identify(pid, &line, cluster_dir, cluster_name),
        None => Identity::Unknown,
    }
}

fn identify(pid: i32, line: &[u8], cluster_dir: &Path, cluster_name: &str) -> Identity {
    let arguments: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
    let program = arguments.first().and_then(|first| Path::new(OsStr::from_bytes(first)).file_name());
    if !program.is_some_and(|name| name == "postgres" || name == "postmaster") {
        return Identity::Other;
    }
    let prefix = b"cluster_name=".as_slice();
    if let Some(name) = arguments.iter().find_map(|argument| argument.strip_prefix(prefix))
        && name.starts_with(b"compliance-")
    {
        return if name == cluster_name.as_bytes() { Identity::Ours } else { Identity::Other };
    }
    // Not started by this library, but perhaps manually.
    let given = arguments.iter().position(|argument| *argument == b"-D").and_then(|at| arguments.get(at + 1));
    let folder = match given.map(|dir| PathBuf::from(OsStr::from_bytes(dir))) {
        Some(dir) if dir.is_absolute() => fs::canonicalize(dir),
        // The server changes to its folder when it starts.
        _ => fs::read_link(format!("/proc/{pid}/cwd")),
    };
    match folder {
        Ok(folder) if folder == cluster_dir => Identity::Ours,
        Ok(_) => Identity::Other,
        Err(_) => Identity::Unknown,
    }
}

/// The running processes of the cluster: the server and its children.
pub(crate) fn members(cluster_dir: &Path, cluster_name: &str) -> Vec<i32> {
    // The title of a child is `postgres: <cluster name>: <activity>`.
    let title = format!("postgres: {cluster_name}: ");
    let belongs = |(pid, line): (i32, Vec<u8>)| {
        let start = line.iter().map(|byte| if *byte == 0 { b' ' } else { *byte }).take(title.len());
        let ours = start.eq(title.bytes()) || identify(pid, &line, cluster_dir, cluster_name) == Identity::Ours;
        ours.then_some(pid)
    };
    command_lines().into_iter().filter_map(belongs).collect()
}

/// The command line of a process, or its title if it has set one, with a NUL between two arguments.
pub(crate) fn command_line(pid: i32) -> Option<Vec<u8>> {
    command_lines().into_iter().find_map(|(other, line)| (other == pid).then_some(line))
}

/// The processes of this machine and their command lines.
fn command_lines() -> Vec<(i32, Vec<u8>)> {
    if !Path::new("/proc/self/cmdline").exists() {
        return listed_by_ps().unwrap_or_default();
    }
    let read = |entry: fs::DirEntry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let mut line = fs::read(entry.path().join("cmdline")).ok()?;
        line.pop_if(|last| *last == 0);
        Some((pid, line))
    };
    fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(read).collect()
}

/// As systems without `/proc` show them: without a sign of where an argument with a blank ends.
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

    #[test]
    fn the_test_process_is_alive_and_not_a_server() {
        let me = std::process::id().cast_signed();
        assert!(alive(me));
        assert_eq!(examine(me, Path::new("/nonexistent"), "compliance-0-0"), Identity::Other);
        assert!(!alive(0) && !alive(i32::MAX));
    }

    #[tokio::test]
    async fn a_process_that_nobody_has_waited_for_is_not_alive() {
        let mut child = Command::new("true").spawn().unwrap();
        let pid = child.id().cast_signed();
        timeout(Duration::from_mins(1), ended(pid)).await.unwrap();
        assert_eq!(examine(pid, Path::new("/nonexistent"), "compliance-0-0"), Identity::Other);
        child.wait().unwrap();
    }

    #[test]
    fn the_state_follows_the_name_of_the_program() {
        assert!(is_dead("17 (a) R (b) Z 1 17 17") && is_dead("17 (postgres) X 1"));
        assert!(!is_dead("17 (Z) Z) S 1 17 17") && !is_dead("17 (postgres) D 1") && !is_dead(""));
    }

    #[test]
    fn processes_are_listed_alike_without_proc() {
        let me = std::process::id().cast_signed();
        let Some(listed) = listed_by_ps() else { return };
        let (_, line) = listed.into_iter().find(|(pid, _)| *pid == me).unwrap();
        let program = |line: &[u8]| line.split(|byte| *byte == 0).next().map(<[u8]>::to_vec);
        assert_eq!(program(&line), program(&command_line(me).unwrap()));
    }

    #[test]
    fn servers_are_identified_by_their_arguments() {
        let folder = fs::canonicalize(std::env::temp_dir()).unwrap();
        let dir = folder.display();
        for (line, expected) in [
            ("/bin/postgres\0-c\0cluster_name=compliance-1-2".to_owned(), Identity::Ours),
            ("/bin/postgres\0-c\0cluster_name=compliance-1-3".to_owned(), Identity::Other),
            ("/bin/grep\0cluster_name=compliance-1-2".to_owned(), Identity::Other),
            (format!("postgres\0-D\0{dir}"), Identity::Ours),
            ("postgres\0-D\0/".to_owned(), Identity::Other),
            ("postgres\0-D\0/nonexistent".to_owned(), Identity::Unknown),
        ] {
            assert_eq!(identify(1, line.as_bytes(), &folder, "compliance-1-2"), expected, "{line:?}");
        }
    }
}
