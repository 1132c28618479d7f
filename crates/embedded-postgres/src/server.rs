//! The server's process: start, supervision of its life, and stop.

use std::{
    os::unix::process::CommandExt,
    sync::Arc,
    sync::atomic::{AtomicI32, AtomicU64, Ordering},
    time::Duration,
};

use nix::sys::signal::Signal;
use tokio::{
    process::{Child, Command},
    time::timeout,
};

use crate::{context::Context, error::Error, log_file, process};

/// What a cluster knows of its server, while another task runs it.
#[derive(Debug, Default)]
pub(crate) struct ServerStatus {
    /// 0 if the server does not run.
    pid: AtomicI32,
    pub(crate) restarts: AtomicU64,
}

impl ServerStatus {
    /// The server's process ID while it runs.
    pub(crate) fn pid(&self) -> Option<i32> {
        Some(self.pid.load(Ordering::Relaxed)).filter(|pid| *pid > 0)
    }

    pub(crate) fn set_pid(&self, pid: i32) {
        self.pid.store(pid, Ordering::Relaxed);
    }
}

/// The server of a cluster: a child, one that was taken over, or none. It is asked to shut down when this is dropped.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) status: Arc<ServerStatus>,
    child: Option<Child>,
}

impl Server {
    pub(crate) fn new(status: &Arc<ServerStatus>) -> Self {
        Self { status: Arc::clone(status), child: None }
    }

    /// Starts the server.
    pub(crate) fn spawn(&mut self, context: &Context) -> Result<(), Error> {
        let log_path = &context.layout.log;
        let open = || log_file::open(log_path, context.account.uid).map_err(Error::io("open", log_path));
        let program = context.program();
        let mut command = context.account.command(&program);
        // Its own process group: Ctrl-C in the terminal must only reach the service, which stops the database last.
        command.args(&context.arguments).stdout(open()?).stderr(open()?).process_group(0);
        let child = Command::from(command).spawn().map_err(context.account.cannot_run(&program))?;
        self.status.set_pid(child.id().unwrap_or_default().cast_signed());
        self.child = Some(child);
        Ok(())
    }

    /// Takes over a running server that is not a child of this process.
    pub(crate) fn adopt(&mut self, pid: i32) {
        self.status.set_pid(pid);
        self.child = None;
    }

    /// Waits until the server has ended, and returns its exit status. Returns at once if it does not run.
    pub(crate) async fn ended(&mut self) -> String {
        let status = if let Some(child) = &mut self.child {
            child.wait().await.map_or_else(|error| error.to_string(), |status| status.to_string())
        } else {
            process::ended(self.status.pid().unwrap_or_default()).await;
            "the exit status of a server that was taken over is unknown".to_owned()
        };
        self.status.set_pid(0);
        status
    }

    /// Stops the server with a fast shutdown (no recovery needed) within `fast`, then with stronger means.
    pub(crate) async fn end(&mut self, context: &Context, fast: Duration) -> Result<(), Error> {
        if let Some(pid) = self.status.pid() {
            process::end(pid, fast).await?;
            self.status.set_pid(0);
        }
        // A killed server leaves processes behind; after a shutdown there are none.
        stop_members(context).await
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.status.pid().map(|pid| process::signal(pid, Signal::SIGINT));
    }
}

/// Stops the remaining processes of a cluster whose server has ended: a child that executes a query may notice that late, and a
/// new server must not start before.
pub(crate) async fn stop_members(context: &Context) -> Result<(), Error> {
    let members = || process::members(&context.layout.cluster, &context.name);
    let ended = async || {
        while !members().is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let steps = [
        (None, Duration::from_millis(100)),
        (Some(Signal::SIGQUIT), Duration::from_millis(500)),
        (Some(Signal::SIGKILL), Duration::from_secs(10)),
    ];
    for (signal, limit) in steps {
        if let Some(signal) = signal {
            for pid in members() {
                tracing::warn!(pid, %signal, "stopping a process that a killed database left behind");
                process::signal(pid, signal)?;
            }
        }
        if timeout(limit, ended()).await.is_ok() {
            return Ok(());
        }
    }
    let pid = members().first().copied().unwrap_or_default();
    Err(process::will_not_stop(pid, "a killed server left it behind and it does not end"))
}
