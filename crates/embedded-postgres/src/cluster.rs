//! The lifecycle of a cluster: start, use, stop.

use std::{
    fs,
    path::Path,
    sync::{Arc, atomic::Ordering},
    thread,
    time::{Duration, Instant},
};

use nix::sys::signal::Signal;
use tokio::{sync::oneshot, task::JoinHandle};

use crate::{
    context::{Context, START_TIMEOUT, STOP_TIMEOUT},
    endpoint::Endpoint,
    error::Error,
    install::Installation,
    layout::{Layout, Lock},
    options::ClusterOptions,
    orphan, process,
    server::{Server, ServerStatus},
    supervise::{launch, supervise},
};

/// A running cluster that this process owns: it holds the lock of the data folder and stops the server.
///
/// If it is dropped without [`Cluster::stop`], or its tokio runtime ends, the server is asked to shut down but not waited
/// for. A temporary cluster is stopped at once and its folder removed.
#[derive(Debug)]
pub struct Cluster {
    context: Arc<Context>,
    status: Arc<ServerStatus>,
    /// The task that runs the server until the sender is dropped.
    supervisor: Option<(oneshot::Sender<()>, JoinHandle<Server>)>,
    /// Held until the server has been asked to stop.
    _lock: Lock,
    remove_on_stop: bool,
}

impl Cluster {
    /// Starts the cluster, creating it first if there is none, and returns once it answers queries.
    ///
    /// A server that outlived its service is taken over, or restarted if its settings differ. Fails with [`Error::InUse`] if
    /// another process runs the cluster. If the future is dropped, the server is asked to stop.
    pub async fn start(options: ClusterOptions) -> Result<Self, Error> {
        let prepared = Context::prepare(&options).await;
        // A folder in use belongs to another process, even a temporary one.
        if options.remove_on_stop && prepared.as_ref().is_err_and(|error| !matches!(error, Error::InUse { .. })) {
            let _ = fs::remove_dir_all(&options.data_dir);
        }
        let (context, lock) = prepared?;
        let (context, status) = (Arc::new(context), Arc::default());
        let mut server = Server::new(&status);
        // From here on, dropping the cluster stops the server.
        let mut cluster =
            Self { context, status, supervisor: None, _lock: lock, remove_on_stop: options.remove_on_stop };
        launch(&cluster.context, &mut server).await?;
        let (stop, stopped) = oneshot::channel();
        let supervisor = supervise(server, Arc::clone(&cluster.context), options.supervise, stopped);
        cluster.supervisor = Some((stop, tokio::spawn(supervisor)));
        Ok(cluster)
    }

    /// Finds the running cluster of a data folder, if it runs. Waits up to a minute for one that is starting.
    pub async fn connect_running(data_dir: impl AsRef<Path>) -> Result<Option<Endpoint>, Error> {
        let data_dir = data_dir.as_ref();
        if data_dir.exists() { orphan::find_running(&Layout::of(data_dir)?).await } else { Ok(None) }
    }

    /// Connects to the running cluster of the data folder, or starts it if it does not run. Waits up to a minute for one that
    /// another process is creating, starting or stopping.
    pub async fn connect_or_start(options: ClusterOptions) -> Result<Access, Error> {
        let deadline = Instant::now() + START_TIMEOUT;
        let attempt = ClusterOptions { lock_timeout: Duration::ZERO, ..options };
        loop {
            if let Some(endpoint) = Self::connect_running(&attempt.data_dir).await? {
                return Ok(Access::Running(endpoint));
            }
            match Self::start(attempt.clone()).await {
                Err(Error::InUse { .. }) if Instant::now() < deadline => {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                other => return other.map(Access::Started),
            }
        }
    }

    /// The address of the cluster.
    pub fn endpoint(&self) -> &Endpoint {
        &self.context.endpoint
    }

    /// The server programs in use.
    pub fn installation(&self) -> &Installation {
        &self.context.installation
    }

    /// The server's process ID while it runs.
    pub fn server_pid(&self) -> Option<i32> {
        self.status.pid()
    }

    /// How often the server has been restarted.
    pub fn restarts(&self) -> u64 {
        self.status.restarts.load(Ordering::Relaxed)
    }

    /// Stops the server and releases the data folder. Fails if the server still runs after a minute and stronger means.
    pub async fn stop(mut self) -> Result<(), Error> {
        if let Some((stop, supervisor)) = self.supervisor.take() {
            drop(stop);
            // Data that is removed need not be flushed first.
            let fast = if self.remove_on_stop { Duration::ZERO } else { STOP_TIMEOUT };
            let mut server = supervisor.await.unwrap_or_else(|_| Server::new(&self.status));
            server.end(&self.context, fast).await?;
        }
        tracing::info!(path = %self.context.layout.cluster.display(), "the database has stopped");
        Ok(())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if let Some(pid) = self.server_pid() {
            let signal = if self.remove_on_stop { Signal::SIGQUIT } else { Signal::SIGINT };
            if let Err(error) = process::signal(pid, signal) {
                tracing::warn!(%error, "cannot signal the database");
            }
            let deadline = Instant::now() + Duration::from_secs(5);
            while self.remove_on_stop && process::alive(pid) && Instant::now() < deadline {
                thread::sleep(Duration::from_millis(5));
            }
            // The supervisor does not signal it again.
            self.status.set_pid(0);
        }
        let (layout, socket_dir) = (&self.context.layout, self.context.endpoint.socket_dir());
        if socket_dir != layout.cluster {
            // If the server still runs, the folder is not empty; the next start uses it again.
            let _ = fs::remove_dir(socket_dir);
        }
        if self.remove_on_stop
            && let Err(error) = fs::remove_dir_all(&layout.data_dir)
        {
            tracing::warn!(path = %layout.data_dir.display(), %error, "cannot remove the temporary database");
        }
    }
}

/// A cluster that this process may or may not have started: see [`Cluster::connect_or_start`].
#[derive(Debug)]
pub enum Access {
    /// Another process runs it.
    Running(Endpoint),
    /// This process started it and stops it; other programs lose their connections then.
    Started(Cluster),
}

impl Access {
    /// The address of the cluster.
    pub fn endpoint(&self) -> &Endpoint {
        match self {
            Self::Running(endpoint) => endpoint,
            Self::Started(cluster) => cluster.endpoint(),
        }
    }

    /// Stops the cluster if this process started it.
    pub async fn release(self) -> Result<(), Error> {
        match self {
            Self::Running(_) => Ok(()),
            Self::Started(cluster) => cluster.stop().await,
        }
    }
}
