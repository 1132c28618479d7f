//! The lifecycle of a cluster: start, use, stop.

use std::{
    fs,
    path::Path,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use nix::sys::signal::Signal;
use tokio::task::JoinHandle;

use crate::{
    endpoint::{Endpoint, START_TIMEOUT},
    error::Error,
    install::Installation,
    layout::{Layout, Lock},
    options::ClusterOptions,
    prepare::Context,
    process,
    server::{STOP_TIMEOUT, Server, ServerPid},
};

/// A running cluster that this process owns. It has the lock of the data folder, and stops the server.
///
/// Without [`Cluster::stop`], a drop or the end of the tokio runtime asks the server to shut down and does not wait. The drop of a temporary
/// cluster stops it immediately and removes its folder.
#[derive(Debug)]
pub struct Cluster {
    context: Arc<Context>,
    server_pid: ServerPid,
    supervisor: Option<JoinHandle<()>>,
    /// Released after the server was asked to stop.
    _lock: Lock,
    remove_on_stop: bool,
}

impl Cluster {
    /// Starts the cluster, and creates it if it is missing. Returns once it answers queries.
    ///
    /// Stops a server that outlived its service first. Fails with [`Error::InUse`] if another process runs the cluster. If the future is
    /// dropped, the server is asked to stop.
    pub async fn start(options: ClusterOptions) -> Result<Self, Error> {
        let (context, lock) = Context::prepare(&options).await?;
        let (context, mut server) = (Arc::new(context), Server::default());
        // From here on, dropping the cluster stops the server.
        let mut cluster = Self {
            context,
            server_pid: server.pid.clone(),
            supervisor: None,
            _lock: lock,
            remove_on_stop: options.remove_on_stop,
        };
        server.launch(&cluster.context).await?;
        let supervised = server.supervise(Arc::clone(&cluster.context), options.supervise);
        #[allow(clippy::disallowed_methods, reason = "it is the supervisor of PostgreSQL")]
        let supervisor = tokio::spawn(supervised);
        cluster.supervisor = Some(supervisor);
        Ok(cluster)
    }

    /// Finds the running cluster of a data folder, if any. Waits while it starts or recovers.
    pub async fn connect_running(data_dir: impl AsRef<Path>) -> Result<Option<Endpoint>, Error> {
        // This process cannot find the cluster of a folder that is missing or inaccessible.
        let Ok(layout) = Layout::of(data_dir.as_ref()) else { return Ok(None) };
        let Ok(name) = layout.cluster_name() else { return Ok(None) };
        if process::servers(&name).is_empty() {
            return Ok(None);
        }
        let endpoint = Endpoint::new(layout.socket_dir(&name));
        tokio::select! {
            ready = endpoint.until_ready() => match ready {
                Ok(()) => Ok(Some(endpoint)),
                Err(reason) => Err(Error::Other(format!("{reason}; see {}", layout.log.display()))),
            },
            () = process::none_left(|| process::servers(&name)) => Ok(None),
        }
    }

    /// Connects to the running cluster of the data folder, or starts it.
    ///
    /// Waits up to a minute while another process creates, starts or stops it.
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

    /// Returns the address of the cluster.
    pub fn endpoint(&self) -> &Endpoint {
        &self.context.endpoint
    }

    /// Returns the server programs in use.
    pub fn installation(&self) -> &Installation {
        &self.context.installation
    }

    /// Returns the server's process ID while it runs.
    pub fn server_pid(&self) -> Option<i32> {
        self.server_pid.get()
    }

    /// Stops the server and releases the data folder. Fails if the server survives even `SIGKILL`.
    pub async fn stop(mut self) -> Result<(), Error> {
        if let Some(supervisor) = self.supervisor.take() {
            supervisor.abort();
            // After this, the supervisor cannot start another server.
            let _ = supervisor.await;
        }
        // A fast shutdown flushes data, which is useless before the folder is removed.
        let fast = if self.remove_on_stop { Duration::ZERO } else { STOP_TIMEOUT };
        process::end(&self.context.name, fast).await?;
        self.server_pid.set(0);
        tracing::info!(path = %self.context.layout.cluster.display(), "the database has stopped");
        Ok(())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if let Some(supervisor) = &self.supervisor {
            supervisor.abort();
        }
        if let Some(pid) = self.server_pid.get() {
            process::signal(pid, if self.remove_on_stop { Signal::SIGQUIT } else { Signal::SIGINT });
            let deadline = Instant::now() + Duration::from_secs(5);
            while self.remove_on_stop && !process::members(&self.context.name).is_empty() && Instant::now() < deadline {
                thread::sleep(Duration::from_millis(10));
            }
        }
        let (layout, socket_dir) = (&self.context.layout, self.context.endpoint.socket_dir());
        if socket_dir != layout.cluster {
            // The folder of a server that still runs is not empty. The next start uses it again.
            let _ = fs::remove_dir(socket_dir);
        }
        if self.remove_on_stop
            && let Err(error) = fs::remove_dir_all(&layout.data_dir)
        {
            tracing::warn!(path = %layout.data_dir.display(), %error, "cannot remove the temporary database");
        }
    }
}

/// A cluster that this process or another one started; see [`Cluster::connect_or_start`].
#[derive(Debug)]
pub enum Access {
    /// Another process runs it.
    Running(Endpoint),
    /// This process started it. When it stops it, other programs lose their connections.
    Started(Cluster),
}

impl Access {
    /// Returns the address of the cluster.
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
