//! Runs short-lived programs, such as `initdb`.

use std::{
    io,
    process::{Command, Output, Stdio},
    time::Duration,
};

use tokio::time::timeout;

/// Runs a command and returns its status and output. Kills it after `limit` and returns a `TimedOut` error.
pub(crate) async fn run(command: Command, limit: Duration) -> io::Result<Output> {
    let mut command = tokio::process::Command::from(command);
    let output = command.stdin(Stdio::null()).kill_on_drop(true).output();
    timeout(limit, output).await.unwrap_or_else(|_| {
        Err(io::Error::new(io::ErrorKind::TimedOut, format!("timed out after {} s", limit.as_secs())))
    })
}

/// Returns standard output followed by standard error, as text.
pub(crate) fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).trim().to_owned()
}
