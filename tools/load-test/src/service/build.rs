//! A build of the service.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, ensure};

/// Bound of one command that runs to its end.
const COMMAND_TIME: Duration = Duration::from_hours(1);
/// The one setting that commands inherit: where PostgreSQL's programs are.
const POSTGRES_BIN: &str = "COMPLIANCE_POSTGRES_BIN";

/// A build of the service: its program `compliance`.
#[derive(Clone, Debug)]
pub struct Build(PathBuf);

impl Build {
    /// The build next to this program. Under cargo, it is brought up to date first, in the profile of this program.
    pub async fn own() -> anyhow::Result<Self> {
        let own = std::env::current_exe().context("this program cannot find itself")?;
        let folder = own.parent().context("this program is in no folder")?;
        if let (Some(cargo), Some(target), Some(name)) =
            (std::env::var_os("CARGO"), folder.parent(), folder.file_name().and_then(|name| name.to_str()))
        {
            let profile = if name == "debug" { "dev" } else { name };
            eprintln!("building the service in the profile {profile}");
            let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");
            let mut command = tokio::process::Command::new(cargo);
            command.args(["build", "--quiet", "-p", "compliance", "--profile", profile, "--manifest-path", manifest]);
            command.arg("--target-dir").arg(target).kill_on_drop(true);
            ensure!(command.status().await.context("cargo cannot be run")?.success(), "the service cannot be built");
        }
        Self::at(&folder.join("compliance"))
    }

    /// The build whose program is at `path`.
    pub fn at(path: &Path) -> anyhow::Result<Self> {
        ensure!(path.is_file(), "there is no program {}; build it, or start this one with cargo", path.display());
        Ok(Self(path.to_owned()))
    }

    /// A command of the program, without the settings of this process's environment.
    pub fn command(&self, name: &str) -> Command {
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

    /// Runs a command to its end and returns its output.
    pub async fn run(&self, name: &str, arguments: &[&str]) -> anyhow::Result<String> {
        let mut command = self.command(name);
        command.args(arguments);
        let output = tokio::process::Command::from(command).kill_on_drop(true).output();
        let output = tokio::time::timeout(COMMAND_TIME, output).await;
        let output = output.with_context(|| format!("compliance {name} takes too long"))?;
        let output = output.with_context(|| format!("compliance {name} cannot be run"))?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "compliance {name} failed: {}", errors.trim());
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    }
}

/// A folder that is removed when it is dropped.
#[derive(Debug)]
pub struct TemporaryFolder(pub PathBuf);

impl TemporaryFolder {
    /// Creates a folder for temporary files.
    pub fn create() -> anyhow::Result<Self> {
        let folder = std::env::temp_dir().join(format!("compliance-load-{}", std::process::id()));
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
