//! What is fixed before the server of a cluster is started.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use nix::unistd::{User, geteuid};

use crate::{
    endpoint::{Endpoint, PORT},
    error::Error,
    initdb,
    install::Installation,
    layout::{Layout, Lock},
    options::ClusterOptions,
    user::Account,
};

/// Timeout of a server that does not respond.
pub(crate) const START_TIMEOUT: Duration = Duration::from_mins(1);
/// Timeout of a server that reports that it is recovering from a crash: the next start would begin that again.
pub(crate) const RECOVERY_TIMEOUT: Duration = Duration::from_mins(10);
/// Timeout of a fast shutdown, in which the server flushes its data; after that it is stopped immediately.
pub(crate) const STOP_TIMEOUT: Duration = Duration::from_mins(1);

/// What is needed to start and restart the server.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) layout: Layout,
    pub(crate) account: Account,
    pub(crate) installation: Installation,
    pub(crate) endpoint: Endpoint,
    /// The name that the server's processes show, unique on this machine.
    pub(crate) name: String,
    /// The arguments of the server.
    pub(crate) arguments: Vec<OsString>,
}

impl Context {
    /// Finds the programs, locks the data folder, and creates the cluster if it is missing, which takes some seconds.
    pub(crate) async fn prepare(options: &ClusterOptions) -> Result<(Self, Lock), Error> {
        let (layout, account) = Layout::create(&options.data_dir)?;
        let lock = layout.acquire(&account, options.lock_timeout).await?;
        initdb::remove_incomplete(&layout);
        let existing = initdb::existing_major(&layout)?;
        let installation = Installation::find(existing).await?;
        if existing.is_none() {
            tracing::info!(
                path = %layout.cluster.display(), version = installation.version, user = account.name,
                "creating a new database"
            );
            initdb::create(&layout, &installation, &account, options.durable).await?;
        }
        let caller = User::from_uid(geteuid()).ok().flatten().map_or_else(|| "root".to_owned(), |user| user.name);
        initdb::configure(&layout, &account, &caller)?;
        if !options.durable {
            tracing::debug!("data is not flushed to disk: a crash of the machine can destroy this database");
        }

        let name = layout.cluster_name()?;
        let socket_dir = layout.socket_dir(&account, &name)?;
        let arguments = options.arguments(&layout, &socket_dir, &name);
        let endpoint = Endpoint::new(socket_dir, PORT);
        Ok((Self { layout, account, installation, endpoint, name, arguments }, lock))
    }

    /// The server's program.
    pub(crate) fn program(&self) -> PathBuf {
        self.installation.program("postgres")
    }
}
