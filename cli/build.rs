//! The commit that the program is built from. Only this crate knows it, so that a commit rebuilds no other one.

use std::{env, path::Path, process::Command};

fn main() {
    println!("cargo:rerun-if-env-changed=COMPLIANCE_COMMIT");
    let given = env::var("COMPLIANCE_COMMIT").ok().filter(|commit| !commit.is_empty());
    // Without `git` or outside of a checkout there is none.
    let commit = given.or_else(|| git(&["rev-parse", "HEAD"])).unwrap_or_default();
    let commit: String = commit.chars().filter(char::is_ascii_alphanumeric).take(12).collect();
    for file in ["HEAD", "logs/HEAD"] {
        // A file that is missing would run this at each build.
        if let Some(path) = git(&["rev-parse", "--git-path", file]).filter(|path| Path::new(path).exists()) {
            println!("cargo:rerun-if-changed={path}");
        }
    }
    println!("cargo:rerun-if-changed=build.rs");
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    println!("cargo:rustc-env=COMPLIANCE_COMMIT={commit}");
    let shown = if commit.is_empty() { version } else { format!("{version} ({commit})") };
    println!("cargo:rustc-env=COMPLIANCE_VERSION={shown}");
}

/// The first line that `git` prints about the checkout of this crate.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.lines().next()?.to_owned())
}
