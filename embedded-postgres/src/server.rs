//! The server's process: started, watched, and ended.

use std::{
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use nix::sys::signal::Signal;
use tokio::time::{Instant, sleep};

use crate::{context::Context, error::Error, initdb::clean_environment, log_file, process};

/// The server of a cluster: our child, or one that outlived a former service and was taken over.
#[derive(Debug)]
struct Server {
    pid: i32,
    child: Option<Child>,
}

/// How the server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Condition {
    /// There has been none, or it was given up.
    Absent,
    /// It runs.
    Running,
    /// It has ended, in the words of the system.
    Ended(String),
}

/// The place of the one server of a cluster.
#[derive(Debug, Default)]
pub(crate) struct Slot(Mutex<Held>);

#[derive(Debug, Default)]
struct Held {
    server: Option<Server>,
    stopping: bool,
}

impl Slot {
    /// Starts the server; the slot has it from the first moment, so that no interruption loses it.
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
        // Its own process group: a Ctrl-C in the terminal is for the service, which ends the database last.
        command.process_group(0);
        clean_environment(&mut command);
        context.account.apply(&mut command);
        let user = context.account.other_name();
        let child = command.spawn().map_err(|source| Error::Spawn { program, user, source })?;
        held.server = Some(Server { pid: child.id().cast_signed(), child: Some(child) });
        Ok(())
    }

    /// Takes over a running server that is not our child.
    pub(crate) fn adopt(&self, pid: i32) -> Result<(), Error> {
        let mut held = self.held();
        if held.stopping {
            return Err(Error::Stopping);
        }
        held.server = Some(Server { pid, child: None });
        Ok(())
    }

    /// From now on no server is started any more.
    pub(crate) fn close(&self) {
        self.held().stopping = true;
    }

    /// The server's process number, while it runs.
    pub(crate) fn pid(&self) -> Option<i32> {
        (self.condition() == Condition::Running).then(|| self.held().server.as_ref().map(|server| server.pid))?
    }

    /// Looks at the server, collecting it when it has ended.
    pub(crate) fn condition(&self) -> Condition {
        match &mut self.held().server {
            None => Condition::Absent,
            Some(Server { child: Some(child), .. }) => match child.try_wait() {
                Ok(Some(status)) => Condition::Ended(status.to_string()),
                Ok(None) => Condition::Running,
                Err(error) => Condition::Ended(format!("it cannot be watched: {error}")),
            },
            Some(Server { pid, child: None }) if process::alive(*pid) => Condition::Running,
            Some(_) => Condition::Ended("it had been taken over; how it ended is not known".to_owned()),
        }
    }

    /// Sends a signal to the server, if it runs.
    pub(crate) fn signal(&self, signal: Signal) {
        if let Some(pid) = self.pid()
            && let Err(error) = process::signal(pid, signal)
        {
            tracing::warn!(pid, %error, "cannot signal the database");
        }
    }

    /// Leaves the server to itself; a child is still collected when it ends, aside.
    pub(crate) fn abandon(&self) {
        if let Some(mut child) = self.held().server.take().and_then(|server| server.child) {
            std::thread::spawn(move || child.wait());
        }
    }

    /// Ends the server: `fast` (connections are cut, nothing needs recovery) within `patience`, then less gently.
    pub(crate) async fn end(&self, context: &Context, patience: Duration) -> Result<(), Error> {
        if let Some(pid) = self.pid() {
            end(pid, || self.condition() == Condition::Running, patience).await?;
        }
        // One that was killed has left some; after a shutdown this is one look.
        end_members(context).await?;
        self.held().server = None;
        Ok(())
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        // The content is whole between any two statements, so a panic elsewhere takes nothing from its use.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends a server: a fast shutdown first, when `patience` is not zero; then an immediate one; then by force.
pub(crate) async fn end(pid: i32, runs: impl Fn() -> bool, patience: Duration) -> Result<(), Error> {
    let steps = [
        (Signal::SIGINT, patience, "fast"),
        (Signal::SIGQUIT, Duration::from_secs(10), "immediate"),
        (Signal::SIGKILL, Duration::from_secs(10), "by force"),
    ];
    for (signal, patience, name) in steps {
        if patience.is_zero() {
            continue;
        }
        if !runs() {
            return Ok(());
        }
        tracing::debug!(pid, name, "stopping the database");
        process::signal(pid, signal).map_err(|error| Error::WontStop { pid, reason: error.to_string() })?;
        if ended_within(&runs, patience).await {
            return Ok(());
        }
        tracing::warn!(pid, name, seconds = patience.as_secs(), "the database has not stopped yet");
    }
    Err(Error::WontStop { pid, reason: "it does not end, not even by SIGKILL".to_owned() })
}

/// Sees to it that no process of the cluster is left; to be called when its server is gone.
///
/// Children of a killed server end by themselves when they notice, but one busy with a query may take long, and no new
/// server may start beside it.
pub(crate) async fn end_members(context: &Context) -> Result<(), Error> {
    let members = || process::members(&context.layout.cluster, &context.name);
    let steps = [
        (None, Duration::from_secs(2)),
        (Some(Signal::SIGQUIT), Duration::from_secs(2)),
        (Some(Signal::SIGKILL), Duration::from_secs(5)),
    ];
    for (signal, patience) in steps {
        for pid in members() {
            if let Some(signal) = signal {
                tracing::warn!(pid, %signal, "ending a process left by a database that was killed");
                process::signal(pid, signal).map_err(|error| Error::WontStop { pid, reason: error.to_string() })?;
            }
        }
        if ended_within(|| !members().is_empty(), patience).await {
            return Ok(());
        }
    }
    let pid = members().first().copied().unwrap_or_default();
    Err(Error::WontStop { pid, reason: "it is left from a killed server and does not end".to_owned() })
}

async fn ended_within(runs: impl Fn() -> bool, patience: Duration) -> bool {
    let deadline = Instant::now() + patience;
    while runs() {
        if Instant::now() >= deadline {
            return false;
        }
        sleep(Duration::from_millis(10)).await;
    }
    true
}
