//! The programs of one build of the service.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, ensure};

/// The day that made data leads up to. It is fixed, so that every run has the same data.
const UNTIL: &str = "2026-11-01";
/// Bound of one command that prepares a database.
const COMMAND_TIME: Duration = Duration::from_hours(1);

/// Numbers of made records of one company.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The company.
    pub company: i64,
    /// Affiliates, at least 1.
    pub affiliates: u64,
    /// URLs.
    pub urls: u64,
    /// Cases.
    pub cases: u64,
}

/// One build of the service.
#[derive(Clone, Debug)]
pub struct Build {
    compliance: PathBuf,
}

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

    /// The build whose program `compliance` is at `path`.
    pub fn at(path: &Path) -> anyhow::Result<Self> {
        ensure!(path.is_file(), "there is no program {}; build it, or start this one with cargo", path.display());
        Ok(Self { compliance: path.to_owned() })
    }

    /// A command of the program `compliance`.
    pub fn command(&self, name: &str) -> Command {
        let mut command = Command::new(&self.compliance);
        command.arg(name);
        command
    }

    /// Brings the schema of a database up to date.
    pub async fn migrate(&self, database_url: &str) -> anyhow::Result<()> {
        let mut command = self.command("migrate");
        command.args(["--database-url", database_url]);
        run(command).await
    }

    /// Makes the records of one company.
    pub async fn make_demo_data(&self, database_url: &str, share: &Share, seed: u64) -> anyhow::Result<()> {
        let mut command = self.command("demo-data");
        for (flag, number) in [
            ("--company", share.company.unsigned_abs()),
            ("--affiliates", share.affiliates),
            ("--urls", share.urls),
            ("--cases", share.cases),
            ("--seed", seed),
        ] {
            command.args([flag, &number.to_string()]);
        }
        command.args(["--until", UNTIL, "--database-url", database_url]);
        run(command).await
    }
}

/// Runs a command to its end.
async fn run(mut command: Command) -> anyhow::Result<()> {
    command.env("COMPLIANCE_LOG", "warn");
    let shown = format!("{command:?}");
    let output = tokio::process::Command::from(command).kill_on_drop(true).output();
    let output = tokio::time::timeout(COMMAND_TIME, output).await.with_context(|| format!("{shown} takes too long"))?;
    let output = output.with_context(|| format!("{shown} cannot be run"))?;
    ensure!(output.status.success(), "{shown} failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(())
}
