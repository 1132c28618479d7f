//! The server: removes the remains of an earlier run, starts, and restarts when it has ended.

use std::{
    fs,
    os::unix::process::CommandExt,
    sync::{
        Arc,
        atomic::{AtomicI32, Ordering},
    },
    time::Duration,
};

use nix::sys::{signal::Signal, statvfs::statvfs};
use tokio::{
    process::{Child, Command},
    time::{Instant, sleep},
};

use crate::{error::Error, files, layout::socket_file, prepare::Context, process};

/// Timeout of a fast shutdown, which flushes data. After it, the server is stopped immediately.
pub(crate) const STOP_TIMEOUT: Duration = Duration::from_mins(1);
/// How often the size of the server's log is checked.
const LOG_INTERVAL: Duration = Duration::from_mins(1);
/// Delay before a restart. It doubles up to the longest, and begins again once the server was healthy.
const FIRST_WAIT: Duration = Duration::from_millis(50);
const LONGEST_WAIT: Duration = Duration::from_secs(10);
const HEALTHY_AFTER: Duration = Duration::from_mins(1);
/// Size of a file of the write-ahead log, in bytes.
const LEAST_SPACE: u64 = 16 << 20;
/// Delay before the second attempt if the server ends while it starts.
const SECOND_TRY: Duration = Duration::from_millis(250);

/// Process ID of the server while it runs, or 0.
#[derive(Debug, Clone, Default)]
pub(crate) struct ServerPid(Arc<AtomicI32>);

impl ServerPid {
    pub(crate) fn get(&self) -> Option<i32> {
        Some(self.0.load(Ordering::Relaxed)).filter(|pid| *pid > 0)
    }

    pub(crate) fn set(&self, pid: i32) {
        self.0.store(pid, Ordering::Relaxed);
    }
}

/// The server of a cluster, or none. A drop asks it to shut down.
#[derive(Debug, Default)]
pub(crate) struct Server {
    pub(crate) pid: ServerPid,
    child: Option<Child>,
}

impl Server {
    /// Starts the server and returns once it answers. Stops a server that does not.
    pub(crate) async fn launch(&mut self, context: &Context) -> Result<(), Error> {
        let begin = Instant::now();
        clear(context).await?;
        let mut started = self.start(context).await;
        if started.is_err() && self.pid.get().is_none() {
            // The kernel can release the memory of a killed server shortly after its processes have ended.
            sleep(SECOND_TRY).await;
            started = self.start(context).await;
        }
        if started.is_err() {
            process::end(&context.name, Duration::ZERO).await?;
            self.pid.set(0);
            return started;
        }
        tracing::info!(
            pid = self.pid.get(), version = context.installation.version,
            milliseconds = begin.elapsed().as_millis() as u64, path = %context.layout.cluster.display(),
            "the database responds"
        );
        Ok(())
    }

    async fn start(&mut self, context: &Context) -> Result<(), Error> {
        let log = &context.layout.log;
        let output = files::open_log(log, context.account.uid).map_err(Error::io("open", log))?;
        let log_length = output.metadata().map_or(0, |meta| meta.len());
        let errors = output.try_clone().map_err(Error::io("open", log))?;
        let program = context.installation.program("postgres");
        let mut command = context.account.command(&program);
        // With its own process group, Ctrl-C reaches only the service, which stops the database last.
        command.args(&context.arguments).stdout(output).stderr(errors).process_group(0);
        let child = Command::from(command).spawn().map_err(context.account.cannot_run(&program))?;
        self.pid.set(child.id().unwrap_or_default().cast_signed());
        self.child = Some(child);

        let ready = async {
            let ready = context.endpoint.until_ready().await;
            ready.map_err(|reason| Error::Other(format!("{reason}; see {}", log.display())))?;
            context.endpoint.ensure_roles().await
        };
        tokio::select! {
            ready = ready => ready,
            status = self.ended() => {
                let tail = files::tail_of_log(log, log_length, context.account.uid);
                let log = log.display();
                Err(Error::Other(format!("PostgreSQL ended while starting ({status}); the end of {log}:\n{tail}")))
            }
        }
    }

    /// Waits until the server has ended. Returns its exit status, or immediately if it does not run.
    async fn ended(&mut self) -> String {
        let Some(child) = &mut self.child else { return "it could not be started".to_owned() };
        let status = child.wait().await.map_or_else(|error| error.to_string(), |status| status.to_string());
        self.pid.set(0);
        self.child = None;
        status
    }

    /// Watches the server. Restarts it if `restart` is set.
    pub(crate) async fn supervise(mut self, context: Arc<Context>, restart: bool) {
        tokio::select! {
            () = self.restart_when_ended(&context, restart) => {}
            () = bound_log(&context) => {}
        }
    }

    async fn restart_when_ended(&mut self, context: &Context, restart: bool) {
        let log = context.layout.log.display();
        let mut wait = FIRST_WAIT;
        loop {
            let up_since = Instant::now();
            let status = self.ended().await;
            report_full_disk(context);
            if !restart {
                tracing::error!(status, %log, "the database has ended");
                return;
            }
            if up_since.elapsed() >= HEALTHY_AFTER {
                wait = FIRST_WAIT;
            }
            let wait_milliseconds = wait.as_millis() as u64;
            tracing::warn!(status, wait_milliseconds, %log, "the database has ended unexpectedly and is restarted");
            sleep(wait).await;
            wait = (wait * 2).min(LONGEST_WAIT);
            if let Err(error) = self.launch(context).await {
                report_full_disk(context);
                tracing::error!(%error, "the database could not be restarted");
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(pid) = self.pid.get() {
            process::signal(pid, Signal::SIGINT);
        }
    }
}

/// Stops processes of an earlier run, and removes files that would prevent a start.
async fn clear(context: &Context) -> Result<(), Error> {
    let cluster = &context.layout.cluster;
    for pid in process::servers(&context.name) {
        tracing::info!(pid, "stopping the database of an earlier run");
    }
    process::end(&context.name, STOP_TIMEOUT).await?;
    let pid_file = cluster.join("postmaster.pid");
    let found = fs::read_to_string(&pid_file).ok().and_then(|text| text.lines().next()?.trim().parse().ok());
    if let Some(pid) = found.filter(|pid| process::serves(*pid, cluster)) {
        return Err(Error::Other(format!(
            "process {pid} is a PostgreSQL server that uses {} and was not started by this service: stop it first",
            cluster.display()
        )));
    }
    let socket = socket_file(context.endpoint.socket_dir());
    for path in [socket.with_added_extension("lock"), socket, pid_file] {
        files::remove(&path).map_err(Error::io("remove", path))?;
    }
    Ok(())
}

/// Logs a full disk. The server's own log may be on this disk, so it may be unable to report it.
fn report_full_disk(context: &Context) {
    let cluster = &context.layout.cluster;
    if statvfs(cluster).is_ok_and(|disk| disk.blocks_available() * disk.fragment_size() < LEAST_SPACE) {
        let folder = cluster.display();
        tracing::error!(
            %folder,
            "the disk of the database is full: free space there, and the database starts again. No saved write is lost"
        );
    }
}

/// Bounds the size of the server's log.
async fn bound_log(context: &Context) {
    loop {
        sleep(LOG_INTERVAL).await;
        // After a failure, the next check tries again.
        let _ = files::bound_log(&context.layout.log, context.account.uid);
    }
}
