//! Information about processes that are not children of this one.

use std::{
    ffi::OsStr,
    fs, io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use nix::{
    errno::Errno,
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use crate::run::run;

/// What the process ID in `postmaster.pid` refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Identity {
    /// No process, or a zombie.
    Gone,
    /// The server of this cluster.
    Ours,
    /// Another program that has got the same process ID.
    Other,
    /// A `PostgreSQL` server of an unknown cluster.
    Unknown,
}

/// Whether the process runs. A zombie does not.
pub(crate) fn alive(pid: i32) -> bool {
    let exists = pid > 0 && !matches!(kill(Pid::from_raw(pid), None), Err(Errno::ESRCH));
    // The first process of a container often does not reap orphans, so zombies remain.
    exists && !fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| has_ended(&stat))
}

/// Whether the state in `<pid> (<name>) <state> …` is that of an ended process. The name may contain parentheses.
fn has_ended(stat: &str) -> bool {
    stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with(['Z', 'X']))
}

/// Sends a signal. Succeeds if the process has ended.
pub(crate) fn signal(pid: i32, signal: Signal) -> Result<(), Errno> {
    match kill(Pid::from_raw(pid), signal) {
        Err(Errno::ESRCH) => Ok(()),
        other => other,
    }
}

/// Identifies a process with respect to the cluster in `cluster_dir`, whose server has the name `cluster_name`.
pub(crate) fn examine(pid: i32, cluster_dir: &Path, cluster_name: &str) -> Identity {
    if !alive(pid) {
        return Identity::Gone;
    }
    let Some(arguments) = arguments(pid) else {
        // It may have ended in the meantime.
        return if alive(pid) { Identity::Unknown } else { Identity::Gone };
    };
    let program = arguments.first().map(|first| Path::new(OsStr::from_bytes(first)));
    if !program.and_then(Path::file_name).is_some_and(|name| name == "postgres" || name == "postmaster") {
        return Identity::Other;
    }
    let named = arguments.iter().find_map(|argument| argument.strip_prefix(b"cluster_name=compliance-".as_slice()));
    if let Some(name) = named {
        let ours = cluster_name.strip_prefix("compliance-").is_some_and(|ours| ours.as_bytes() == name);
        return if ours { Identity::Ours } else { Identity::Other };
    }
    // Not started by this library, but perhaps manually.
    let given = arguments.iter().position(|argument| argument == b"-D").and_then(|at| arguments.get(at + 1));
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
    let belongs = |pid: i32| {
        arguments(pid).is_some_and(|all| all.first().is_some_and(|first| first.starts_with(title.as_bytes())))
            || examine(pid, cluster_dir, cluster_name) == Identity::Ours
    };
    if let Ok(entries) = fs::read_dir("/proc")
        && Path::new("/proc/self/cmdline").exists()
    {
        let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        return pids.filter(|pid| belongs(*pid) && alive(*pid)).collect();
    }
    let listed = ps(&["-axww", "-o", "pid=,command="]).unwrap_or_default();
    let ours = listed.lines().filter(|line| {
        line.contains(&title) || line.split_whitespace().any(|word| word == format!("cluster_name={cluster_name}"))
    });
    ours.filter_map(|line| line.split_whitespace().next()?.parse().ok()).collect()
}

/// The arguments of a process, or its title if it has set one.
pub(crate) fn arguments(pid: i32) -> Option<Vec<Vec<u8>>> {
    match fs::read(format!("/proc/{pid}/cmdline")) {
        Ok(bytes) => {
            let bytes = bytes.strip_suffix(b"\0").unwrap_or(&bytes);
            Some(bytes.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect())
        }
        // Without /proc: `ps`, which does not show where an argument with a blank ends.
        Err(error) if error.kind() == io::ErrorKind::NotFound && !Path::new("/proc/self/cmdline").exists() => {
            let text = ps(&["-ww", "-o", "command=", "-p", &pid.to_string()])?;
            Some(text.split_whitespace().map(|word| word.as_bytes().to_vec()).collect())
        }
        Err(_) => None,
    }
}

fn ps(arguments: &[&str]) -> Option<String> {
    let mut command = Command::new("ps");
    command.args(arguments);
    run(command, Duration::from_secs(5)).ok().filter(|end| end.success).map(|end| end.output)
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

    #[test]
    fn an_ended_process_is_recognised_by_its_state() {
        assert!(has_ended("12 (postgres) Z 1 12"));
        assert!(!has_ended("12 (Z) odd) S 1 12"));
    }
}
