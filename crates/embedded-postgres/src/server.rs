//! Starts and stops the server with `pg_ctl`, and restarts it after it ends.

use std::{
    ffi::OsString,
    os::unix::ffi::{OsStrExt, OsStringExt},
    process::Command,
    sync::Arc,
    time::Duration,
};

use nix::sys::statvfs::statvfs;
use tokio::{
    sync::Notify,
    time::{Instant, sleep},
};

use crate::{
    error::Error,
    files,
    layout::socket_file,
    prepare::Context,
    programs::{run, text},
};

/// Timeout for a start, in seconds. Includes crash recovery, which the next start would have to begin again.
const START_SECONDS: &str = "600";
/// Timeout for a shutdown, in seconds. A fast shutdown flushes data.
const STOP_SECONDS: &str = "60";
/// Maximum number of start attempts. A killed server's children use its memory until they notice, up to a second later if they are busy.
const START_TRIES: u32 = 10;
/// Pause between start attempts.
const RETRY_PAUSE: Duration = Duration::from_millis(500);
/// How often to check the server and its log size.
const CHECK_INTERVAL: Duration = Duration::from_millis(200);
/// Free space below which the disk is considered full, in bytes: the size of one write-ahead log file.
const LEAST_SPACE: u64 = 16 << 20;
/// Maximum pause after failed restarts.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

impl Context {
    /// Returns the server's process ID while it runs.
    pub(crate) fn server_pid(&self) -> Option<i32> {
        self.layout.server_pid()
    }

    /// Starts the server and returns once it responds. First stops a server left running by a killed service.
    pub(crate) async fn start(&self) -> Result<(), Error> {
        let begin = Instant::now();
        self.clear().await?;
        for _ in 1..START_TRIES {
            if self.try_start().await.is_ok() {
                return self.started(begin).await;
            }
            sleep(RETRY_PAUSE).await;
        }
        self.try_start().await?;
        self.started(begin).await
    }

    async fn started(&self, begin: Instant) -> Result<(), Error> {
        tracing::info!(
            pid = self.server_pid(), version = self.installation.version,
            milliseconds = begin.elapsed().as_millis() as u64, path = %self.layout.cluster.display(),
            "started the database"
        );
        self.endpoint.ensure_roles().await
    }

    async fn try_start(&self) -> Result<(), Error> {
        let log = &self.layout.log;
        let output = files::open_log(log, self.account.uid).map_err(Error::io("open", log))?;
        let log_length = output.metadata().map_or(0, |meta| meta.len());
        let errors = output.try_clone().map_err(Error::io("open", log))?;
        let mut command = self.pg_ctl("start");
        // The server inherits the log as its output. With `-l`, its user could make `pg_ctl` write elsewhere.
        command.args(["-t", START_SECONDS, "-o"]).arg(quoted(&self.arguments)).stdout(output).stderr(errors);
        let program = self.installation.program("pg_ctl");
        let status =
            tokio::process::Command::from(command).status().await.map_err(self.account.cannot_run(&program))?;
        if status.success() {
            return Ok(());
        }
        // After a timeout, the server may still start.
        self.stop(&["immediate"]).await?;
        let (tail, log) = (files::tail_of_log(log, log_length, self.account.uid), log.display());
        Err(Error::Other(format!("PostgreSQL failed to start. The last lines of {log}:\n{tail}")))
    }

    /// Stops a server left by an earlier run and removes its files.
    async fn clear(&self) -> Result<(), Error> {
        if let Some(pid) = self.server_pid() {
            tracing::info!(pid, "stopping a database that an earlier run left running");
            self.stop(&["fast", "immediate"]).await?;
        }
        self.layout.clear(&self.account, &socket_file(self.endpoint.socket_dir()))
    }

    /// Stops the server, trying each of these shutdown modes until it has ended.
    pub(crate) async fn stop(&self, modes: &[&str]) -> Result<(), Error> {
        let mut said = String::new();
        for mode in modes {
            if self.server_pid().is_none() {
                return Ok(());
            }
            let program = self.installation.program("pg_ctl");
            let stopped = run(self.stop_command(mode), Duration::from_mins(2)).await;
            said = text(&stopped.map_err(self.account.cannot_run(&program))?);
        }
        match self.server_pid() {
            None => Ok(()),
            Some(pid) => Err(Error::Other(format!("cannot stop the database (process {pid}): {said}"))),
        }
    }

    /// Returns the command that stops the server.
    pub(crate) fn stop_command(&self, mode: &str) -> Command {
        let mut command = self.pg_ctl("stop");
        command.args(["-t", STOP_SECONDS, "-m", mode]);
        command
    }

    fn pg_ctl(&self, action: &str) -> Command {
        let mut command = self.account.command(&self.installation.program("pg_ctl"));
        // `pg_ctl` passes the value of `-D` to a shell in double quotes.
        command.args([action, "-s", "-w"]).env("PGDATA", &self.layout.cluster);
        command
    }
}

/// Quotes arguments for the shell that `pg_ctl` uses.
fn quoted(arguments: &[OsString]) -> OsString {
    let mut line = Vec::new();
    for argument in arguments {
        line.extend(b" '");
        for byte in argument.as_bytes() {
            if *byte == b'\'' { line.extend(br"'\''") } else { line.push(*byte) }
        }
        line.push(b'\'');
    }
    OsString::from_vec(line)
}

/// Restarts the server whenever it ends, and limits its log size, until `end` is notified.
pub(crate) async fn keep_running(context: Arc<Context>, end: Arc<Notify>) {
    let mut pause = CHECK_INTERVAL;
    loop {
        tokio::select! {
            () = end.notified() => return,
            () = sleep(pause) => {}
        }
        // The next check retries after a failure.
        let _ = files::bound_log(&context.layout.log, context.account.uid);
        if context.server_pid().is_some() {
            pause = CHECK_INTERVAL;
            continue;
        }
        tracing::warn!(log = %context.layout.log.display(), "the database stopped unexpectedly; restarting it");
        report_full_disk(&context);
        if let Err(error) = context.start().await {
            tracing::error!(%error, "cannot restart the database");
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

/// Logs an error if the disk is full. The server's own log may be on the same disk and unable to report the problem.
fn report_full_disk(context: &Context) {
    let cluster = &context.layout.cluster;
    if statvfs(cluster).is_ok_and(|disk| disk.blocks_available() * disk.fragment_size() < LEAST_SPACE) {
        let folder = cluster.display();
        tracing::error!(
            %folder,
            "the database's disk is full: free some space to let the database restart; no saved writes are lost"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn arguments_are_shell_quoted() {
        let line = quoted(&["-c".into(), "a=b $c \"d\" 'e'".into()]);
        assert_eq!(line, r#" '-c' 'a=b $c "d" '\''e'\'''"#);
    }
}
