//! The service's own programs, built when they are not there or not up to date.

use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use tokio::process::Command;

/// The folder of the programs.
#[derive(Clone, Debug)]
pub(crate) struct Binaries(PathBuf);

impl Binaries {
    /// The programs beside this one, which cargo brings up to date first; without cargo, as they are.
    pub(crate) async fn find_or_build(packages: &[&str]) -> anyhow::Result<Self> {
        let own = std::env::current_exe().context("this program cannot find itself")?;
        let folder = own.parent().context("this program is in no folder")?.to_owned();
        // Whoever runs it from elsewhere than a build folder has put the programs there.
        if let (Some(cargo), Some(target)) = (std::env::var_os("CARGO"), folder.parent()) {
            let release = folder.ends_with("release");
            eprintln!("building {} …", packages.join(", "));
            let mut command = Command::new(cargo);
            command.args([
                "build",
                "--quiet",
                "--manifest-path",
                concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml"),
            ]);
            command.arg("--target-dir").arg(target);
            command.args(release.then_some("--release"));
            command.args(packages.iter().flat_map(|package| ["-p", package]));
            let status = command.kill_on_drop(true).status().await.context("cargo cannot be run")?;
            ensure!(status.success(), "the service's programs cannot be built");
        }
        Ok(Self(folder))
    }

    /// The path of a program.
    pub(crate) fn path(&self, name: &str) -> anyhow::Result<PathBuf> {
        let path = self.0.join(name);
        ensure!(
            path.is_file(),
            "there is no program {}: build it (cargo build --release --workspace) or start this one with `cargo run`",
            path.display()
        );
        Ok(path)
    }
}
