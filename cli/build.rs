//! Embeds the commit that the program is built from. Only this crate depends on the commit, so a new commit rebuilds no other crate.

use std::{env, path::Path, process::Command};

fn main() {
    println!("cargo:rerun-if-env-changed=COMPLIANCE_COMMIT");
    let given = env::var("COMPLIANCE_COMMIT").ok().filter(|commit| !commit.is_empty());
    // The commit is unknown without `git` or outside a checkout.
    let commit = given.or_else(|| git(&["rev-parse", "HEAD"])).unwrap_or_default();
    let commit: String = commit.chars().filter(char::is_ascii_alphanumeric).take(12).collect();
    for file in ["HEAD", "logs/HEAD"] {
        // Cargo reruns this script on every build if a listed file is missing.
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

/// Returns the first line of output of a `git` command.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.lines().next()?.to_owned())
}
