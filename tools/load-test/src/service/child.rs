//! Child processes that stop when they are dropped.

use std::{
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

/// Bound of the time until a program accepts connections.
const START_TIME: Duration = Duration::from_mins(1);
/// Bound of a graceful stop: a service that runs its own database writes a checkpoint first.
const END_TIME: Duration = Duration::from_secs(30);

/// A running program, in a process group with the processes that it starts.
#[derive(Debug)]
pub struct Child {
    name: String,
    process: tokio::process::Child,
    /// The process ID.
    pub pid: i32,
    log: PathBuf,
}

impl Child {
    /// Starts a program. Its output goes to a file in `folder`.
    pub fn start(name: &str, folder: &Path, command: std::process::Command) -> anyhow::Result<Self> {
        let log = folder.join(format!("{name}.log"));
        let file = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        let mut command = Command::from(command);
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file).process_group(0).kill_on_drop(true);
        let child = command.spawn().with_context(|| format!("{name} cannot be started"))?;
        let pid = child.id().context("the child has no process ID")?;
        Ok(Self { name: name.to_owned(), process: child, pid: i32::try_from(pid)?, log })
    }

    /// Waits until the program accepts connections.
    pub async fn accepts(&mut self, address: SocketAddr) -> anyhow::Result<()> {
        let deadline = Instant::now() + START_TIME;
        while TcpStream::connect(address).await.is_err() {
            if let Some(status) = self.process.try_wait()? {
                bail!("{} ended ({status}): {}", self.name, self.end_of_log());
            }
            if Instant::now() > deadline {
                bail!("{} accepts no connections: {}", self.name, self.end_of_log());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    /// The last lines of the log.
    fn end_of_log(&self) -> String {
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

/// A loopback address with a free port.
pub fn free_address() -> anyhow::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("there is no free port")?;
    Ok(listener.local_addr()?)
}
