//! Peers that come from package indexes: installed once into a folder of their own, by the indexes' own clients.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, bail};
use tokio::process::Command;

/// How long one installation may take.
const INSTALL_TIME: Duration = Duration::from_mins(5);

/// The folder of the installed peers, when none is given.
pub(crate) fn default_folder() -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    cache.or_else(home).unwrap_or_else(std::env::temp_dir).join("affiliate-compliance/peers")
}

/// Makes a Python environment with some packages, unless it is there; tells its folder.
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

/// Installs a package of the npm index, unless it is there; tells its folder.
pub(crate) async fn npm(folder: &Path, name: &str, package: &str, version: &str) -> anyhow::Result<PathBuf> {
    let place = folder.join(name);
    once(&place, version, async |place| {
        std::fs::create_dir_all(place)?;
        let mut install = Command::new("npm");
        install.args(["install", "--silent", "--no-fund", "--no-audit", "--ignore-scripts", "--prefix"]).arg(place);
        install.arg(format!("{package}@{version}"));
        run(install, "npm install").await
    })
    .await?;
    Ok(place.join("node_modules").join(package))
}

/// Does what makes a folder unless it was done to its end before.
async fn once(place: &Path, what: &str, make: impl AsyncFnOnce(&Path) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let mark = place.join("installed");
    if std::fs::read_to_string(&mark).is_ok_and(|installed| installed == what) {
        return Ok(());
    }
    eprintln!("installing {what} …");
    if let Some(parent) = place.parent() {
        std::fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
    }
    make(place).await?;
    std::fs::write(&mark, what).with_context(|| format!("cannot write {}", mark.display()))
}

async fn run(mut command: Command, name: &str) -> anyhow::Result<()> {
    let output = tokio::time::timeout(INSTALL_TIME, command.kill_on_drop(true).output());
    let output = output.await.with_context(|| format!("`{name}` takes too long"))?;
    let output = output.with_context(|| format!("`{name}` cannot be run"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("`{name}` failed: {}", said.lines().last().unwrap_or("nothing said"));
    }
    Ok(())
}
