//! Builds the service, and runs it as child processes.

use std::{
    fs::File,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail, ensure};
use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use tokio::net::TcpStream;

/// Maximum duration of a command.
const COMMAND_TIME: Duration = Duration::from_hours(1);
/// Variable for the PostgreSQL program folder, the only setting that commands inherit.
const POSTGRES_BIN: &str = "COMPLIANCE_POSTGRES_BIN";
/// Maximum time until a program accepts connections.
const START_TIME: Duration = Duration::from_mins(1);
/// Maximum duration of a graceful stop. A service with its own database writes a checkpoint first.
const END_TIME: Duration = Duration::from_secs(30);

/// A build of the service, identified by its `compliance` program.
#[derive(Clone, Debug)]
pub(crate) struct Build(PathBuf);

impl Build {
    /// Returns the build next to this program. If cargo runs this program, first rebuilds it with the same profile.
    pub(crate) async fn own() -> anyhow::Result<Self> {
        let own = std::env::current_exe().context("cannot find this program's path")?;
        let folder = own.parent().context("this program's path has no parent folder")?;
        if let (Some(cargo), Some(target), Some(name)) =
            (std::env::var_os("CARGO"), folder.parent(), folder.file_name().and_then(|name| name.to_str()))
        {
            let profile = if name == "debug" { "dev" } else { name };
            eprintln!("building the service with the profile {profile}");
            let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");
            let mut command = tokio::process::Command::new(cargo);
            command.args(["build", "--quiet", "-p", "compliance", "--profile", profile, "--manifest-path", manifest]);
            command.arg("--target-dir").arg(target).kill_on_drop(true);
            ensure!(command.status().await.context("cannot run cargo")?.success(), "cargo cannot build the service");
        }
        Self::at(&folder.join("compliance"))
    }

    /// Returns the build whose program is at `path`.
    pub(crate) fn at(path: &Path) -> anyhow::Result<Self> {
        ensure!(path.is_file(), "{} does not exist; build it, or run this program with cargo", path.display());
        Ok(Self(path.to_owned()))
    }

    /// Returns a command for the program, without settings from the environment.
    pub(crate) fn command(&self, name: &str) -> Command {
        let mut command = Command::new(&self.0);
        for (variable, _) in std::env::vars_os() {
            let variable = variable.to_string_lossy();
            if variable == "DATABASE_URL" || variable.starts_with("COMPLIANCE_") && variable != POSTGRES_BIN {
                command.env_remove(&*variable);
            }
        }
        command.arg(name).env("COMPLIANCE_LOG", "warn");
        command
    }

    /// Runs a command, and returns its output.
    pub(crate) async fn run(&self, name: &str, arguments: &[&str]) -> anyhow::Result<String> {
        let mut command = self.command(name);
        command.args(arguments);
        let output = tokio::process::Command::from(command).kill_on_drop(true).output();
        let output = tokio::time::timeout(COMMAND_TIME, output).await;
        let output = output.with_context(|| format!("compliance {name} timed out"))?;
        let output = output.with_context(|| format!("cannot run compliance {name}"))?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "compliance {name} failed: {}", errors.trim());
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    }
}

/// A temporary folder, removed when dropped.
#[derive(Debug)]
pub(crate) struct TemporaryFolder(pub(crate) PathBuf);

impl TemporaryFolder {
    /// Creates the folder.
    pub(crate) fn create() -> anyhow::Result<Self> {
        let folder = std::env::temp_dir().join(format!("compliance-bench-{}", std::process::id()));
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        Ok(Self(folder))
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            eprintln!("cannot remove {}: {error}", self.0.display());
        }
    }
}

/// A running program, in a process group with its child processes.
#[derive(Debug)]
pub(crate) struct Child {
    name: String,
    process: tokio::process::Child,
    /// The process ID.
    pub(crate) pid: i32,
    log: PathBuf,
}

impl Child {
    /// Starts a program, with its output in a file in `folder`.
    pub(crate) fn start(name: &str, folder: &Path, command: Command) -> anyhow::Result<Self> {
        let log = folder.join(format!("{name}.log"));
        let file = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        let mut command = tokio::process::Command::from(command);
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file).process_group(0).kill_on_drop(true);
        let child = command.spawn().with_context(|| format!("cannot start {name}"))?;
        let pid = child.id().context("the child has no process ID")?;
        Ok(Self { name: name.to_owned(), process: child, pid: i32::try_from(pid)?, log })
    }

    /// Waits until the program accepts connections.
    pub(crate) async fn accepts(&mut self, address: SocketAddr) -> anyhow::Result<()> {
        let deadline = Instant::now() + START_TIME;
        while TcpStream::connect(address).await.is_err() {
            if let Some(status) = self.process.try_wait()? {
                bail!("{} exited ({status}): {}", self.name, self.end_of_log());
            }
            if Instant::now() > deadline {
                bail!("{} does not accept connections: {}", self.name, self.end_of_log());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    /// Returns the last lines of the log.
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

/// Returns a loopback address with a free port.
pub(crate) fn free_address() -> anyhow::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot find a free port")?;
    Ok(listener.local_addr()?)
}
