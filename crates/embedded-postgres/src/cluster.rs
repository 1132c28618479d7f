//! Cluster lifecycle: start, use and stop.

use std::{
    fs,
    path::Path,
    process::Stdio,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{sync::Notify, task::JoinHandle, time::timeout};

use crate::{
    endpoint::Endpoint,
    error::Error,
    install::Installation,
    layout::{Layout, Lock},
    options::ClusterOptions,
    prepare::Context,
    server::keep_running,
};

/// Maximum time for another process to create, start or stop the cluster.
const OTHER_TIMEOUT: Duration = Duration::from_mins(1);
/// Maximum time for a running server to recover.
const RECOVERY_TIMEOUT: Duration = Duration::from_mins(10);
/// Maximum time a stop waits for a restart in progress.
const RESTART_TIMEOUT: Duration = Duration::from_mins(1);
/// Polling interval while another process starts or stops the cluster.
const PAUSE: Duration = Duration::from_millis(50);

/// A running cluster, owned by this process. Holds the data folder's lock.
///
/// [`Cluster::stop`] waits until the server has stopped. Dropping the cluster only asks the server to shut down. Dropping a temporary cluster
/// stops the server immediately and removes its folder.
#[derive(Debug)]
pub struct Cluster {
    context: Arc<Context>,
    supervisor: Option<(JoinHandle<()>, Arc<Notify>)>,
    /// Released after the server has been asked to stop.
    _lock: Lock,
    remove_on_stop: bool,
}

impl Cluster {
    /// Starts the cluster, creating it if it is missing. Returns once the server answers queries.
    ///
    /// First stops a server left running by a killed service. Fails with [`Error::InUse`] if another process runs the cluster. Dropping the
    /// future asks the server to stop.
    pub async fn start(options: ClusterOptions) -> Result<Self, Error> {
        refuse_options()?;
        let (context, lock) = Context::prepare(&options).await?;
        // From here on, dropping the cluster stops the server.
        let mut cluster =
            Self { context: Arc::new(context), supervisor: None, _lock: lock, remove_on_stop: options.remove_on_stop };
        cluster.context.start().await?;
        if options.supervise {
            let end = Arc::new(Notify::new());
            let supervised = keep_running(Arc::clone(&cluster.context), Arc::clone(&end));
            #[allow(clippy::disallowed_methods, reason = "the task supervises PostgreSQL")]
            let supervisor = tokio::spawn(supervised);
            cluster.supervisor = Some((supervisor, end));
        }
        Ok(cluster)
    }

    /// Finds a data folder's running cluster, if any. Waits while the server starts or recovers.
    pub async fn connect_running(data_dir: impl AsRef<Path>) -> Result<Option<Endpoint>, Error> {
        // Without access to the folder, this process cannot find its cluster.
        let Ok(layout) = Layout::of(data_dir.as_ref()) else { return Ok(None) };
        let Ok(name) = layout.cluster_name() else { return Ok(None) };
        let endpoint = Endpoint::new(layout.socket_dir(&name));
        let deadline = Instant::now() + RECOVERY_TIMEOUT;
        while layout.server_pid().is_some() {
            match endpoint.probe().await {
                Ok(()) => return Ok(Some(endpoint)),
                Err(reason) if Instant::now() >= deadline => {
                    let log = layout.log.display();
                    return Err(Error::Other(format!("PostgreSQL does not respond ({reason}); see {log}")));
                }
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
        Ok(None)
    }

    /// Connects to the data folder's running cluster, or starts it.
    ///
    /// Waits up to a minute while another process creates, starts or stops the cluster.
    pub async fn connect_or_start(options: ClusterOptions) -> Result<Access, Error> {
        refuse_options()?;
        let deadline = Instant::now() + OTHER_TIMEOUT;
        let attempt = ClusterOptions { lock_timeout: Duration::ZERO, ..options };
        loop {
            if let Some(endpoint) = Self::connect_running(&attempt.data_dir).await? {
                return Ok(Access::Running(endpoint));
            }
            match Self::start(attempt.clone()).await {
                Err(Error::InUse { .. }) if Instant::now() < deadline => tokio::time::sleep(PAUSE).await,
                other => return other.map(Access::Started),
            }
        }
    }

    /// Returns the cluster's address.
    pub fn endpoint(&self) -> &Endpoint {
        &self.context.endpoint
    }

    /// Returns the server programs in use.
    pub fn installation(&self) -> &Installation {
        &self.context.installation
    }

    /// Returns the server's process ID while it runs.
    pub fn server_pid(&self) -> Option<i32> {
        self.context.server_pid()
    }

    /// Stops the server and releases the data folder.
    pub async fn stop(mut self) -> Result<(), Error> {
        if let Some((mut supervisor, end)) = self.supervisor.take() {
            end.notify_one();
            // Aborting a restart could leave a server running.
            if timeout(RESTART_TIMEOUT, &mut supervisor).await.is_err() {
                supervisor.abort();
            }
        }
        // A fast shutdown flushes data, which is pointless if the folder is about to be removed.
        self.context.stop(if self.remove_on_stop { &["immediate"] } else { &["fast", "immediate"] }).await?;
        tracing::info!(path = %self.context.layout.cluster.display(), "stopped the database");
        Ok(())
    }
}

/// Fails if `PGOPTIONS` is set, because sqlx applies it to every connection.
fn refuse_options() -> Result<(), Error> {
    if std::env::var_os("PGOPTIONS").is_some_and(|set| !set.is_empty()) {
        return Err(Error::PgOptions);
    }
    Ok(())
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if let Some((supervisor, _)) = &self.supervisor {
            supervisor.abort();
        }
        if self.server_pid().is_some() {
            let mut stop = self.context.stop_command(if self.remove_on_stop { "immediate" } else { "fast" });
            stop.stdout(Stdio::null()).stderr(Stdio::null());
            if !self.remove_on_stop {
                stop.arg("-W");
            }
            if let Err(error) = stop.status() {
                tracing::warn!(%error, "cannot stop the database");
            }
        }
        let (layout, socket_dir) = (&self.context.layout, self.context.endpoint.socket_dir());
        if socket_dir != layout.cluster {
            // If the server is still running, its folder is not empty and remains for the next start.
            let _ = fs::remove_dir(socket_dir);
        }
        if self.remove_on_stop
            && let Err(error) = fs::remove_dir_all(&layout.data_dir)
        {
            tracing::warn!(path = %layout.data_dir.display(), %error, "cannot remove the temporary database");
        }
    }
}

/// A cluster started by this or another process; see [`Cluster::connect_or_start`].
#[derive(Debug)]
pub enum Access {
    /// Another process runs the cluster.
    Running(Endpoint),
    /// This process started the cluster. Stopping it disconnects other programs.
    Started(Cluster),
}

impl Access {
    /// Returns the cluster's address.
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
