//! Installs peers from package indexes, once, into a folder of their own.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, bail};
use tokio::process::Command;

/// Bound of one installation.
const INSTALL_TIME: Duration = Duration::from_mins(5);

/// The default folder of the installed peers.
pub(crate) fn default_folder() -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    cache.or_else(home).unwrap_or_else(std::env::temp_dir).join("affiliate-compliance/peers")
}

/// Creates a Python environment with some packages unless it exists, and returns its folder.
pub(crate) async fn python(folder: &Path, name: &str, packages: &[&str]) -> anyhow::Result<PathBuf> {
    let environment = folder.join(name);
    once(&environment, &packages.join(" "), async |environment| {
        let mut make = Command::new("python3");
        make.args(["-m", "venv", "--clear"]).arg(environment);
        run(make, "python3 -m venv").await?;
        let mut install = Command::new(environment.join("bin/pip"));
        install.args(["install", "--quiet", "--disable-pip-version-check"]).args(packages);
        run(install, "pip install").await
    })
    .await?;
    Ok(environment)
}

/// Installs a package from the npm index unless it exists, and returns its folder.
pub(crate) async fn npm(folder: &Path, name: &str, package: &str, version: &str) -> anyhow::Result<PathBuf> {
    let target = folder.join(name);
    once(&target, version, async |target| {
        std::fs::create_dir_all(target)?;
        let mut install = Command::new("npm");
        install.args(["install", "--silent", "--no-fund", "--no-audit", "--ignore-scripts", "--prefix"]).arg(target);
        install.arg(format!("{package}@{version}"));
        run(install, "npm install").await
    })
    .await?;
    Ok(target.join("node_modules").join(package))
}

/// Fills a folder unless that was completed before.
async fn once(target: &Path, what: &str, make: impl AsyncFnOnce(&Path) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let mark = target.join("installed");
    if std::fs::read_to_string(&mark).is_ok_and(|installed| installed == what) {
        return Ok(());
    }
    eprintln!("installing {what} …");
    if let Some(parent) = target.parent() {
        std::fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
    }
    make(target).await?;
    std::fs::write(&mark, what).with_context(|| format!("cannot write {}", mark.display()))
}

async fn run(mut command: Command, name: &str) -> anyhow::Result<()> {
    let output = tokio::time::timeout(INSTALL_TIME, command.kill_on_drop(true).output());
    let output = output.await.with_context(|| format!("`{name}` takes too long"))?;
    let output = output.with_context(|| format!("`{name}` cannot be run"))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        bail!("`{name}` failed: {}", stderr.lines().last().unwrap_or("no message"));
    }
    Ok(())
}
