//! The lifecycle of a cluster: start, use, stop.

use std::{
    fs::{self, File},
    io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use nix::{fcntl::Flock, sys::signal::Signal};
use sqlx::postgres::PgConnectOptions;
use tokio::{sync::watch, task::JoinHandle};

use crate::{
    context::Context,
    endpoint::Endpoint,
    error::Error,
    install::Installation,
    launch::launch,
    layout::Layout,
    options::{ClusterOptions, Timeouts},
    orphan,
    server::{ServerSlot, ServerState},
    supervise::{self, Shared},
};

/// A running cluster that this process owns: it holds the lock of the data folder and stops the server.
///
/// If it is dropped without [`Cluster::stop`], the server is asked to shut down but not waited for. A temporary cluster is
/// stopped at once and its folder removed.
#[derive(Debug)]
pub struct Cluster {
    shared: Arc<Shared>,
    watcher: Option<JoinHandle<()>>,
    /// Held until the server has been asked to stop.
    _lock: Option<Flock<File>>,
    remove_on_stop: bool,
    stopped: bool,
}

impl Cluster {
    /// Starts the cluster, creating it first if there is none, and returns once it answers queries.
    ///
    /// This takes some tenths of a second, a few seconds the first time, and longer after a crash. A server that
    /// outlived its service is taken over, or restarted if its settings differ. Fails with [`Error::InUse`] if another
    /// process runs the cluster. If the future is dropped, the server is asked to stop.
    pub async fn start(options: ClusterOptions) -> Result<Self, Error> {
        let (supervise, remove_on_stop) = (options.supervise, options.remove_on_stop);
        let prepare = move || {
            let prepared = Context::prepare(&options);
            // A folder in use belongs to another process, even a temporary one.
            if remove_on_stop && prepared.as_ref().is_err_and(|error| !matches!(error, Error::InUse { .. })) {
                let _ = fs::remove_dir_all(&options.data_dir);
            }
            prepared
        };
        let (context, lock) = match tokio::task::spawn_blocking(prepare).await {
            Ok(prepared) => prepared?,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The runtime is shutting down.
                Err(_) => return Err(Error::Stopping),
            },
        };
        let shared = Arc::new(Shared {
            context,
            server: ServerSlot::default(),
            stop: watch::Sender::new(false),
            restarts: AtomicU64::new(0),
        });
        // From here on, dropping the cluster stops the server.
        let mut cluster = Self { shared, watcher: None, _lock: Some(lock), remove_on_stop, stopped: false };
        launch(&cluster.shared.context, &cluster.shared.server).await?;
        cluster.watcher = Some(tokio::spawn(supervise::watch(Arc::clone(&cluster.shared), supervise)));
        Ok(cluster)
    }

    /// Finds the running cluster of a data folder, for programs that only connect. Returns `None` if it does not run.
    /// Waits up to a minute for one that is starting.
    pub async fn connect_running(data_dir: impl AsRef<Path>) -> Result<Option<Endpoint>, Error> {
        let data_dir = data_dir.as_ref();
        let layout = match Layout::of(data_dir) {
            Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        orphan::find_running(&layout, Timeouts::default().start).await
    }

    /// Connects to the running cluster of the data folder, or starts it if it does not run.
    ///
    /// Waits up to `options.timeouts.start` for a cluster that another process is creating, starting or stopping.
    pub async fn connect_or_start(options: ClusterOptions) -> Result<Access, Error> {
        let deadline = Instant::now() + options.timeouts.start;
        loop {
            if let Some(endpoint) = Self::connect_running(&options.data_dir).await? {
                return Ok(Access::Running(endpoint));
            }
            let mut attempt = options.clone();
            attempt.timeouts.lock = Duration::ZERO;
            match Self::start(attempt).await {
                Err(Error::InUse { .. }) if Instant::now() < deadline => {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                other => return other.map(Access::Started),
            }
        }
    }

    /// The address of the cluster.
    pub fn endpoint(&self) -> &Endpoint {
        &self.shared.context.endpoint
    }

    /// How to connect to `database` as the service. See [`Endpoint::connect_options`].
    pub fn connect_options(&self, database: &str) -> PgConnectOptions {
        self.endpoint().connect_options(database)
    }

    /// Creates the database `name` unless it exists. See [`Endpoint::create_database`].
    pub async fn create_database(&self, name: &str) -> Result<bool, Error> {
        self.endpoint().create_database(name).await
    }

    /// The absolute path of the data folder.
    pub fn data_dir(&self) -> &Path {
        &self.shared.context.layout.data_dir
    }

    /// The server programs in use.
    pub fn installation(&self) -> &Installation {
        &self.shared.context.installation
    }

    /// The server's process ID while it runs.
    pub fn server_pid(&self) -> Option<i32> {
        self.shared.server.pid()
    }

    /// How often the server has been restarted.
    pub fn restarts(&self) -> u64 {
        self.shared.restarts.load(Ordering::Relaxed)
    }

    /// Stops the server and releases the data folder: a fast shutdown within `timeouts.stop`, then an immediate one, then
    /// SIGKILL. Fails with [`Error::WontStop`] if the server still runs after that.
    pub async fn stop(mut self) -> Result<(), Error> {
        self.shared.server.close();
        self.shared.stop.send_replace(true);
        if let Some(mut watcher) = self.watcher.take()
            && tokio::time::timeout(Duration::from_secs(5), &mut watcher).await.is_err()
        {
            watcher.abort();
        }
        let context = &self.shared.context;
        // Data that is removed need not be flushed first.
        let timeout = if self.remove_on_stop { Duration::ZERO } else { context.timeouts.stop };
        self.shared.server.end(context, timeout).await?;
        self.stopped = true;
        self.remove_folders();
        tracing::info!(path = %self.shared.context.layout.cluster.display(), "the database has stopped");
        Ok(())
    }

    /// Removes the socket's folder, and the data folder of a temporary cluster.
    fn remove_folders(&self) {
        let context = &self.shared.context;
        let socket_dir = context.endpoint.socket_dir();
        if socket_dir != context.layout.cluster {
            // It is empty by now; if not, the next start cleans it up.
            let _ = fs::remove_dir(socket_dir);
        }
        if self.remove_on_stop
            && let Err(error) = fs::remove_dir_all(&context.layout.data_dir)
        {
            tracing::warn!(path = %context.layout.data_dir.display(), %error, "cannot remove the temporary database");
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if self.stopped {
            return;
        }
        let server = &self.shared.server;
        server.close();
        self.shared.stop.send_replace(true);
        if let Some(watcher) = &self.watcher {
            watcher.abort();
        }
        if self.remove_on_stop {
            server.signal(Signal::SIGQUIT);
            let deadline = Instant::now() + Duration::from_secs(5);
            while server.state() == ServerState::Running && Instant::now() < deadline {
                thread::sleep(Duration::from_millis(5));
            }
            self.remove_folders();
        } else {
            server.signal(Signal::SIGINT);
        }
        server.abandon();
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
