//! What is fixed before the server of a cluster is started.

use std::{ffi::OsString, fs::File, os::unix::ffi::OsStrExt, path::PathBuf};

use nix::{
    fcntl::Flock,
    unistd::{User, geteuid},
};

use crate::{
    endpoint::{Endpoint, PORT},
    error::Error,
    initdb,
    install::Installation,
    layout::Layout,
    options::{ClusterOptions, Timeouts},
    process,
    settings::Durability,
    user::Account,
};

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
    pub(crate) timeouts: Timeouts,
}

impl Context {
    /// Finds the programs, locks the data folder, and creates the cluster if it is missing.
    ///
    /// Blocks the thread, for some seconds if the cluster is created.
    pub(crate) fn prepare(options: &ClusterOptions) -> Result<(Self, Flock<File>), Error> {
        let (layout, account) = Layout::create(&options.data_dir)?;
        let lock = layout.acquire(options.timeouts.lock)?;
        initdb::remove_incomplete(&layout);
        let existing = initdb::existing_major(&layout)?;
        let installation = choose(options.installation.as_ref(), existing, &layout)?;
        if existing.is_none() {
            tracing::info!(
                path = %layout.cluster.display(), version = installation.version(), user = account.name,
                "creating a new database"
            );
            initdb::create(&layout, &installation, &account, options.settings.durability)?;
        }
        let caller = User::from_uid(geteuid()).ok().flatten().map_or_else(|| "root".to_owned(), |user| user.name);
        initdb::configure(&layout, &account, &caller)?;
        if options.settings.durability == Durability::NoneForTests {
            tracing::debug!("data is not flushed to disk: a crash of the machine can destroy this database");
        }

        let name = layout.cluster_name()?;
        let socket_dir = layout.socket_dir(&account, &name)?;
        let arguments = options.settings.arguments(&layout.cluster, &socket_dir, &name);
        let endpoint = Endpoint::new(socket_dir, PORT);
        let timeouts = options.timeouts;
        Ok((Self { layout, account, installation, endpoint, name, arguments, timeouts }, lock))
    }

    /// The server's program.
    pub(crate) fn program(&self) -> PathBuf {
        self.installation.program("postgres")
    }

    /// Whether a running server was started with the same program and arguments.
    pub(crate) fn matches_running(&self, pid: i32) -> bool {
        let program = self.program();
        let wanted = std::iter::once(program.as_os_str()).chain(self.arguments.iter().map(OsString::as_os_str));
        process::arguments(pid).is_some_and(|found| found.iter().map(Vec::as_slice).eq(wanted.map(OsStrExt::as_bytes)))
    }
}

/// The programs that run the cluster: the given or found ones, unless another major version created the cluster; then
/// those of that version.
fn choose(given: Option<&Installation>, existing: Option<u32>, layout: &Layout) -> Result<Installation, Error> {
    let found = given.cloned().map_or_else(Installation::find, Ok)?;
    match existing {
        Some(cluster) if cluster != found.major() => Installation::find_major(cluster)
            .ok()
            .filter(|other| other.major() == cluster)
            .ok_or(Error::WrongVersion { path: layout.cluster.clone(), cluster, found: found.major() }),
        _ => Ok(found),
    }
}
