//! Programs started for a measurement. They end with it, however it ends.

use std::{
    ffi::OsString,
    fs::File,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use tokio::{net::TcpStream, process::Command};

/// How long a program may take until it accepts connections.
const START_TIME: Duration = Duration::from_mins(1);
/// How long it may take to end when told to.
const END_TIME: Duration = Duration::from_secs(3);

/// A running program, in a group of its own with whatever it starts itself.
#[derive(Debug)]
pub(crate) struct Child {
    name: String,
    process: tokio::process::Child,
    pub(crate) pid: i32,
    log: PathBuf,
}

impl Child {
    /// Starts a program; what it prints goes to a file in `folder`.
    pub(crate) fn start(name: &str, folder: &Path, command: std::process::Command) -> anyhow::Result<Self> {
        let log = folder.join(format!("{name}.log"));
        let file = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        let mut command = Command::from(command);
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file).process_group(0).kill_on_drop(true);
        // Settings of whoever runs the measurement are none of its own.
        for (variable, _) in std::env::vars_os().filter(|(variable, _)| is_setting(variable)) {
            if !command.as_std().get_envs().any(|(set, value)| set == variable && value.is_some()) {
                command.env_remove(variable);
            }
        }
        let child = command.spawn().with_context(|| format!("{name} cannot be started"))?;
        let pid = child.id().context("a program that has just started has no number")?;
        Ok(Self { name: name.to_owned(), process: child, pid: i32::try_from(pid)?, log })
    }

    /// Waits until the program accepts connections.
    pub(crate) async fn accepts(&mut self, address: SocketAddr) -> anyhow::Result<()> {
        let deadline = Instant::now() + START_TIME;
        while TcpStream::connect(address).await.is_err() {
            if let Some(status) = self.process.try_wait()? {
                bail!("{} ended at once ({status}): {}", self.name, self.last_words());
            }
            if Instant::now() > deadline {
                bail!("{} accepts no connections: {}", self.name, self.last_words());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    /// The end of what it printed.
    pub(crate) fn last_words(&self) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().rev().take(5).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join(" / ")
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if matches!(self.process.try_wait(), Ok(Some(_))) {
            return;
        }
        let group = Pid::from_raw(self.pid);
        let _ = killpg(group, Signal::SIGTERM);
        let deadline = Instant::now() + END_TIME;
        while matches!(self.process.try_wait(), Ok(None)) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = killpg(group, Signal::SIGKILL);
    }
}

fn is_setting(variable: &OsString) -> bool {
    let variable = variable.to_string_lossy();
    variable.starts_with("COMPLIANCE_") || variable == "DATABASE_URL"
}

/// An address of this machine that nobody listens at.
pub(crate) fn free_address() -> anyhow::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("there is no free port")?;
    Ok(listener.local_addr()?)
}
