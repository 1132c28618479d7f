//! A cluster as its owner sees it: started, used, and stopped.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
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
    access::Access,
    context::Context,
    endpoint::Endpoint,
    error::Error,
    install::Installation,
    launch::launch,
    layout::Layout,
    orphan,
    server::{Condition, Slot},
    settings::Settings,
    supervise,
    user::check_data_dir,
};

/// How to run a cluster.
#[derive(Debug, Clone)]
pub struct ClusterOptions {
    /// The folder that holds everything; made when it is missing.
    pub data_dir: PathBuf,
    /// The server programs; found on the machine when not given.
    pub installation: Option<Installation>,
    /// The server's settings.
    pub settings: Settings,
    /// How long is waited for what.
    pub timeouts: Timeouts,
    /// Whether a server that ends by itself, or is killed, is started again.
    pub supervise: bool,
    /// Whether the whole data folder is removed at the end.
    pub remove_at_end: bool,
}

/// How long is waited for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// For a started server that says nothing.
    pub start: Duration,
    /// For a started server that says it is recovering from a crash.
    pub recovery: Duration,
    /// For a shutdown that lets the server write everything out; it is ended less gently after that.
    pub stop: Duration,
    /// For another process to let go of the data folder.
    pub lock: Duration,
}

impl Default for Timeouts {
    /// A minute to start, ten to recover, one to stop, and three seconds for another process to let go.
    fn default() -> Self {
        Self {
            start: Duration::from_mins(1),
            recovery: Duration::from_mins(10),
            stop: Duration::from_mins(1),
            lock: Duration::from_secs(3),
        }
    }
}

impl ClusterOptions {
    /// A cluster that lasts, for a service: durable and supervised.
    pub fn new(data_dir: impl Into<PathBuf>) -> Self {
        Self {
            data_dir: data_dir.into(),
            installation: None,
            settings: Settings::default(),
            timeouts: Timeouts::default(),
            supervise: true,
            remove_at_end: false,
        }
    }

    /// A cluster for tests: in a fresh folder under the system's temporary one, quick and crash-unsafe
    /// ([`Settings::fast_for_tests`]), and removed at the end.
    pub fn temporary() -> Self {
        let base = std::env::temp_dir();
        // Root's own temporary folder may be closed to the database's user.
        let base = if check_data_dir(&base).is_ok() { base } else { PathBuf::from("/tmp") };
        let data_dir = base.join(format!("compliance-test-{:016x}", rand::random::<u64>()));
        Self { settings: Settings::fast_for_tests(), remove_at_end: true, ..Self::new(data_dir) }
    }
}

/// A running cluster, owned by this process: it holds the data folder's lock and ends the server.
///
/// Dropped without [`Cluster::stop`], the server is told to shut down but its end is not awaited (a temporary one is
/// ended at once and its folder removed).
#[derive(Debug)]
pub struct Cluster {
    shared: Arc<Shared>,
    watcher: Option<JoinHandle<()>>,
    /// Held until after the server has been told to end.
    _lock: Option<Flock<File>>,
    remove_at_end: bool,
    stopped: bool,
}

/// What the cluster shares with the task that watches it.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) context: Context,
    pub(crate) slot: Slot,
    pub(crate) stop: watch::Sender<bool>,
    pub(crate) restarts: AtomicU64,
}

impl Cluster {
    /// Starts the cluster, making it first when there is none, and returns when it answers queries.
    ///
    /// Takes some tenths of a second, a few seconds the first time, and longer after a crash. A server of this data
    /// folder that outlived its service is taken over, or replaced when it was started with other settings. Fails with
    /// [`Error::InUse`] when another process runs it. When the future is dropped, the server is told to end.
    pub async fn start(options: ClusterOptions) -> Result<Self, Error> {
        let (supervise, remove_at_end) = (options.supervise, options.remove_at_end);
        let prepare = move || {
            let prepared = Context::prepare(&options);
            // What is in use belongs to another process, however temporary.
            if remove_at_end && prepared.as_ref().is_err_and(|error| !matches!(error, Error::InUse { .. })) {
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
            slot: Slot::default(),
            stop: watch::Sender::new(false),
            restarts: AtomicU64::new(0),
        });
        // From here on whatever happens, dropping it ends the server.
        let mut cluster = Self { shared, watcher: None, _lock: Some(lock), remove_at_end, stopped: false };
        launch(&cluster.shared.context, &cluster.shared.slot).await?;
        cluster.watcher = Some(tokio::spawn(supervise::watch(Arc::clone(&cluster.shared), supervise)));
        Ok(cluster)
    }

    /// Finds the cluster of a data folder when some process runs it already, for programs that only want to connect;
    /// nothing when none does. One that is just starting is waited for, up to a minute.
    pub async fn connect_running(data_dir: impl AsRef<Path>) -> Result<Option<Endpoint>, Error> {
        let data_dir = data_dir.as_ref();
        let layout = match Layout::of(data_dir) {
            Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        orphan::find_running(&layout, Timeouts::default().start).await
    }

    /// Connects to the running cluster of the data folder, or starts it when none runs.
    ///
    /// A cluster that another process is just making, starting or stopping is waited for, up to `options.timeouts.start`.
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

    /// Where the cluster is reached.
    pub fn endpoint(&self) -> &Endpoint {
        &self.shared.context.endpoint
    }

    /// How to connect to `database` as the service. See [`Endpoint::connect_options`].
    pub fn connect_options(&self, database: &str) -> PgConnectOptions {
        self.endpoint().connect_options(database)
    }

    /// Makes the database `name` unless there is one. See [`Endpoint::create_database`].
    pub async fn create_database(&self, name: &str) -> Result<bool, Error> {
        self.endpoint().create_database(name).await
    }

    /// The data folder, its path in full.
    pub fn data_dir(&self) -> &Path {
        &self.shared.context.layout.data_dir
    }

    /// The server programs in use.
    pub fn installation(&self) -> &Installation {
        &self.shared.context.installation
    }

    /// The server's process number, while it runs.
    pub fn server_pid(&self) -> Option<i32> {
        self.shared.slot.pid()
    }

    /// How often the server had to be started again.
    pub fn restarts(&self) -> u64 {
        self.shared.restarts.load(Ordering::Relaxed)
    }

    /// Stops the server and lets go of the data folder: a fast shutdown within `timeouts.stop`, then an immediate one,
    /// then by force. Fails with [`Error::WontStop`] when nothing helps.
    pub async fn stop(mut self) -> Result<(), Error> {
        self.shared.slot.close();
        self.shared.stop.send_replace(true);
        if let Some(mut watcher) = self.watcher.take()
            && tokio::time::timeout(Duration::from_secs(5), &mut watcher).await.is_err()
        {
            watcher.abort();
        }
        let context = &self.shared.context;
        // What is thrown away need not be written out first.
        let patience = if self.remove_at_end { Duration::ZERO } else { context.timeouts.stop };
        self.shared.slot.end(context, patience).await?;
        self.stopped = true;
        self.remove_folders();
        tracing::info!(path = %self.shared.context.layout.cluster.display(), "the database has stopped");
        Ok(())
    }

    /// Removes what does not outlive the server.
    fn remove_folders(&self) {
        let context = &self.shared.context;
        let socket_dir = context.endpoint.socket_dir();
        if socket_dir != context.layout.cluster {
            // Empty by now, or the next start deals with it.
            let _ = fs::remove_dir(socket_dir);
        }
        if self.remove_at_end
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
        let slot = &self.shared.slot;
        slot.close();
        self.shared.stop.send_replace(true);
        if let Some(watcher) = &self.watcher {
            watcher.abort();
        }
        if self.remove_at_end {
            slot.signal(Signal::SIGQUIT);
            let deadline = Instant::now() + Duration::from_secs(5);
            while slot.condition() == Condition::Running && Instant::now() < deadline {
                thread::sleep(Duration::from_millis(5));
            }
            self.remove_folders();
        } else {
            slot.signal(Signal::SIGINT);
        }
        slot.abandon();
    }
}
