//! Preparation of a start: the programs, the cluster, which is created if it is missing, and who may connect to it.

use std::{
    ffi::OsString,
    fs::{self, DirBuilder, File, Permissions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt},
    time::Duration,
};

use nix::unistd::{User, geteuid};

use crate::{
    endpoint::{ADMIN_ROLE, Endpoint, OWNER_ROLE, SERVICE_ROLE},
    error::Error,
    files,
    install::Installation,
    layout::{CLUSTER, Layout, Lock},
    options::ClusterOptions,
    process::{run, text},
    user::Account,
};

/// `initdb` takes a second or two; on a slow disk, flushing its 40 MB takes longer.
const INITDB_TIMEOUT: Duration = Duration::from_mins(3);

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
        remove_incomplete(&layout);
        let existing = existing_major(&layout)?;
        let installation = Installation::find(existing).await?;
        if existing.is_none() {
            tracing::info!(
                path = %layout.cluster.display(), version = installation.version, user = account.name,
                "creating a new database"
            );
            create(&layout, &installation, &account, options.durable).await?;
        }
        check_owner(&layout, &account)?;
        write_access_rules(&layout)?;
        let name = layout.cluster_name()?;
        let socket_dir = layout.create_socket_dir(&account, &name)?;
        let arguments = options.arguments(&layout, &socket_dir, &name);
        let endpoint = Endpoint::new(socket_dir);
        Ok((Self { layout, account, installation, endpoint, name, arguments }, lock))
    }
}

/// The major version of the existing cluster, if there is one. Fails if the folder holds something else.
fn existing_major(layout: &Layout) -> Result<Option<u32>, Error> {
    let cluster = &layout.cluster;
    let is_empty = match fs::read_dir(cluster) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        Err(error) => return Err(Error::io("read", cluster)(error)),
    };
    if is_empty {
        return Ok(None);
    }
    let version = fs::read_to_string(cluster.join("PG_VERSION")).ok().and_then(|text| text.trim().parse().ok());
    version.map(Some).ok_or_else(|| Error::NotACluster { path: cluster.clone() })
}

/// Creates the cluster under a temporary name, and renames it once it is complete.
async fn create(layout: &Layout, installation: &Installation, account: &Account, durable: bool) -> Result<(), Error> {
    // A new name each time: an `initdb` whose parent was killed may still write to the previous one.
    let new = layout.data_dir.join(format!("{CLUSTER}.new-{:08x}", rand::random::<u32>()));
    DirBuilder::new().mode(0o700).create(&new).map_err(Error::io("create", &new))?;
    account.chown(&new)?;
    let program = installation.program("initdb");
    let mut command = account.command(&program);
    command.arg("-D").arg(&new).args(["-U", ADMIN_ROLE, "-E", "UTF8", "--locale=C", "--data-checksums"]);
    command.args(["--auth-local=peer", "--auth-host=reject", "--no-instructions"]);
    if !durable {
        command.arg("--no-sync");
    }
    let output = run(command, INITDB_TIMEOUT).await.map_err(account.cannot_run(&program))?;
    if !output.status.success() {
        let (path, printed) = (new.display(), text(&output));
        return Err(Error::Other(format!("initdb could not create a database in {path}: {printed}")));
    }
    fs::rename(&new, &layout.cluster).map_err(Error::io("move the new database to", &layout.cluster))?;
    if durable {
        // Otherwise a crash of the machine could undo the rename.
        let synced = File::open(&layout.data_dir).and_then(|dir| dir.sync_all());
        synced.map_err(Error::io("flush", &layout.data_dir))?;
    }
    Ok(())
}

/// Removes incomplete clusters of interrupted starts. A failure does not matter: their names are not used again.
fn remove_incomplete(layout: &Layout) {
    let prefix = format!("{CLUSTER}.new-");
    for entry in fs::read_dir(&layout.data_dir).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(&prefix) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Checks that the cluster is a folder of the database's user. That of a backup which root restored belongs to root.
fn check_owner(layout: &Layout, account: &Account) -> Result<(), Error> {
    let cluster = &layout.cluster;
    let meta = fs::symlink_metadata(cluster).map_err(Error::io("look at", cluster))?;
    if !meta.is_dir() {
        return Err(Error::NotACluster { path: cluster.clone() });
    }
    if meta.uid() != account.uid {
        let (user, path) = (&account.name, cluster.display());
        return Err(Error::Other(format!(
            "the database in {path} belongs to root, and PostgreSQL does not run as root: `chown -R {user} {path}`"
        )));
    }
    Ok(())
}

/// Writes who may connect, as at each start.
fn write_access_rules(layout: &Layout) -> Result<(), Error> {
    let hba = "# Written by the service at each start. Unix socket only; the kernel identifies the caller.\n\
               local all all peer map=compliance\n";
    let caller = User::from_uid(geteuid()).ok().flatten().map_or_else(|| "root".to_owned(), |user| user.name);
    // Not the user that the database runs as, unless that is the caller: it may have processes that are not the service's.
    let mut users = vec!["root", &caller];
    users.dedup();
    let roles = [ADMIN_ROLE, OWNER_ROLE, SERVICE_ROLE];
    let lines = users.iter().flat_map(|user| roles.map(|role| format!("compliance \"{user}\" {role}\n")));
    let ident = format!("# Written by the service at each start.\n{}", lines.collect::<String>());
    // After a crash in between, the next start writes them again.
    for (path, text) in [(&layout.hba, hba), (&layout.ident, &ident)] {
        let written = files::replace(path, 0o644).and_then(|mut file| {
            // Whatever the process's mask is, the database's user reads it.
            file.set_permissions(Permissions::from_mode(0o644))?;
            file.write_all(text.as_bytes())
        });
        written.map_err(Error::io("write", path))?;
    }
    Ok(())
}
