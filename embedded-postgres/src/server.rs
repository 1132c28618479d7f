//! The server's process: start, state and stop.

use std::{
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use nix::sys::signal::Signal;
use tokio::time::{Instant, sleep};

use crate::{context::Context, error::Error, initdb::clean_environment, log_file, process};

/// A server process: a child, or one that outlived an earlier service and was taken over.
#[derive(Debug)]
struct Server {
    pid: i32,
    child: Option<Child>,
}

/// The state of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ServerState {
    /// There is none.
    Absent,
    /// It runs.
    Running,
    /// It has ended, with this exit status.
    Ended(String),
}

/// The one server of a cluster.
#[derive(Debug, Default)]
pub(crate) struct ServerSlot(Mutex<Held>);

#[derive(Debug, Default)]
struct Held {
    server: Option<Server>,
    stopping: bool,
}

impl ServerSlot {
    /// Starts the server.
    pub(crate) fn spawn(&self, context: &Context) -> Result<(), Error> {
        let mut held = self.held();
        if held.stopping {
            return Err(Error::Stopping);
        }
        let log_path = &context.layout.log;
        let log = log_file::open(log_path).map_err(Error::io("open", log_path))?;
        let program = context.program();
        let mut command = Command::new(&program);
        command.args(&context.arguments).stdin(Stdio::null());
        command.stdout(log.try_clone().map_err(Error::io("open", log_path))?).stderr(log);
        // Its own process group: Ctrl-C in the terminal must only reach the service, which stops the database last.
        command.process_group(0);
        clean_environment(&mut command);
        context.account.apply(&mut command);
        let user = context.account.other_name();
        let child = command.spawn().map_err(|source| Error::Spawn { program, user, source })?;
        held.server = Some(Server { pid: child.id().cast_signed(), child: Some(child) });
        Ok(())
    }

    /// Takes over a running server that is not a child of this process.
    pub(crate) fn adopt(&self, pid: i32) -> Result<(), Error> {
        let mut held = self.held();
        if held.stopping {
            return Err(Error::Stopping);
        }
        held.server = Some(Server { pid, child: None });
        Ok(())
    }

    /// Prevents further starts.
    pub(crate) fn close(&self) {
        self.held().stopping = true;
    }

    /// The server's process ID while it runs.
    pub(crate) fn pid(&self) -> Option<i32> {
        (self.state() == ServerState::Running).then(|| self.held().server.as_ref().map(|server| server.pid))?
    }

    /// The state of the server. Reaps a child that has ended.
    pub(crate) fn state(&self) -> ServerState {
        match &mut self.held().server {
            None => ServerState::Absent,
            Some(Server { child: Some(child), .. }) => match child.try_wait() {
                Ok(Some(status)) => ServerState::Ended(status.to_string()),
                Ok(None) => ServerState::Running,
                Err(error) => ServerState::Ended(format!("its state is unknown: {error}")),
            },
            Some(Server { pid, child: None }) if process::alive(*pid) => ServerState::Running,
            Some(_) => ServerState::Ended("the exit status of a server that was taken over is unknown".to_owned()),
        }
    }

    /// Sends a signal to the server if it runs.
    pub(crate) fn signal(&self, signal: Signal) {
        if let Some(pid) = self.pid()
            && let Err(error) = process::signal(pid, signal)
        {
            tracing::warn!(pid, %error, "cannot signal the database");
        }
    }

    /// Stops managing the server. A thread reaps a child.
    pub(crate) fn abandon(&self) {
        if let Some(mut child) = self.held().server.take().and_then(|server| server.child) {
            std::thread::spawn(move || child.wait());
        }
    }

    /// Stops the server with a fast shutdown (no recovery needed) within `timeout`, then with stronger means.
    pub(crate) async fn end(&self, context: &Context, timeout: Duration) -> Result<(), Error> {
        if let Some(pid) = self.pid() {
            end(pid, || self.state() == ServerState::Running, timeout).await?;
        }
        // A killed server leaves processes behind; after a shutdown there are none.
        stop_members(context).await?;
        self.held().server = None;
        Ok(())
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        // The content is consistent at any time, so poisoning can be ignored.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Stops a server: a fast shutdown if `timeout` is not zero, then an immediate one, then SIGKILL.
pub(crate) async fn end(pid: i32, runs: impl Fn() -> bool, timeout: Duration) -> Result<(), Error> {
    let steps = [
        (Signal::SIGINT, timeout, "fast"),
        (Signal::SIGQUIT, Duration::from_secs(10), "immediate"),
        (Signal::SIGKILL, Duration::from_secs(10), "by force"),
    ];
    for (signal, timeout, name) in steps {
        if timeout.is_zero() {
            continue;
        }
        if !runs() {
            return Ok(());
        }
        tracing::debug!(pid, name, "stopping the database");
        process::signal(pid, signal).map_err(|error| Error::WontStop { pid, reason: error.to_string() })?;
        if wait_for_end(&runs, timeout).await {
            return Ok(());
        }
        tracing::warn!(pid, name, seconds = timeout.as_secs(), "the database has not stopped yet");
    }
    Err(Error::WontStop { pid, reason: "it does not end, not even after SIGKILL".to_owned() })
}

/// Stops the remaining processes of a cluster whose server has ended.
///
/// Children of a killed server end when they notice, but a child that executes a query may take long, and a new server
/// must not start before.
pub(crate) async fn stop_members(context: &Context) -> Result<(), Error> {
    let members = || process::members(&context.layout.cluster, &context.name);
    let steps = [
        (None, Duration::from_secs(2)),
        (Some(Signal::SIGQUIT), Duration::from_secs(2)),
        (Some(Signal::SIGKILL), Duration::from_secs(5)),
    ];
    for (signal, timeout) in steps {
        for pid in members() {
            if let Some(signal) = signal {
                tracing::warn!(pid, %signal, "stopping a process that a killed database left behind");
                process::signal(pid, signal).map_err(|error| Error::WontStop { pid, reason: error.to_string() })?;
            }
        }
        if wait_for_end(|| !members().is_empty(), timeout).await {
            return Ok(());
        }
    }
    let pid = members().first().copied().unwrap_or_default();
    Err(Error::WontStop { pid, reason: "a killed server left it behind and it does not end".to_owned() })
}

async fn wait_for_end(runs: impl Fn() -> bool, timeout: Duration) -> bool {
    let deadline = Instant::now() + timeout;
    while runs() {
        if Instant::now() >= deadline {
            return false;
        }
        sleep(Duration::from_millis(10)).await;
    }
    true
}
