//! Prepares a start: finds the programs, creates a missing cluster, and writes the access rules.

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
    programs::{run, text},
    user::Account,
};

/// Timeout for `initdb`. It usually takes seconds, but flushing its 40 MB to a slow disk takes longer.
const INITDB_TIMEOUT: Duration = Duration::from_mins(3);

/// Everything needed to start and restart the server.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) layout: Layout,
    pub(crate) account: Account,
    pub(crate) installation: Installation,
    pub(crate) endpoint: Endpoint,
    /// Server arguments.
    pub(crate) arguments: Vec<OsString>,
}

impl Context {
    /// Finds the programs, locks the data folder, and creates a missing cluster.
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
        Ok((Self { layout, account, installation, endpoint, arguments }, lock))
    }
}

/// Returns an existing cluster's major version. Fails if the folder contains something else.
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

/// Creates the cluster under a temporary name and renames it once complete.
async fn create(layout: &Layout, installation: &Installation, account: &Account, durable: bool) -> Result<(), Error> {
    // Each attempt uses a new name, because an `initdb` whose parent was killed may still be writing to its folder.
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
        return Err(Error::Other(format!("initdb failed to create a database in {path}: {printed}")));
    }
    fs::rename(&new, &layout.cluster).map_err(Error::io("move the new database to", &layout.cluster))?;
    if durable {
        // A machine crash could undo an unflushed rename.
        let synced = File::open(&layout.data_dir).and_then(|dir| dir.sync_all());
        synced.map_err(Error::io("flush", &layout.data_dir))?;
    }
    Ok(())
}

/// Removes incomplete clusters left by interrupted starts. Ignores errors, because new attempts use new names.
fn remove_incomplete(layout: &Layout) {
    let prefix = format!("{CLUSTER}.new-");
    for entry in fs::read_dir(&layout.data_dir).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(&prefix) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Checks that the cluster is a folder owned by the database's user. A backup restored by root belongs to root.
fn check_owner(layout: &Layout, account: &Account) -> Result<(), Error> {
    let cluster = &layout.cluster;
    let meta = fs::symlink_metadata(cluster).map_err(Error::io("inspect", cluster))?;
    if !meta.is_dir() {
        return Err(Error::NotACluster { path: cluster.clone() });
    }
    if meta.uid() != account.uid {
        let (user, path) = (&account.name, cluster.display());
        return Err(Error::Other(format!(
            "the database in {path} belongs to root, but PostgreSQL does not run as root: run `chown -R {user} {path}`"
        )));
    }
    Ok(())
}

/// Writes the access rules. Each start rewrites them.
fn write_access_rules(layout: &Layout) -> Result<(), Error> {
    let hba = "# Written by the service at each start. Unix socket only; the kernel identifies the caller.\n\
               local all all peer map=compliance\n";
    let caller = User::from_uid(geteuid()).ok().flatten().map_or_else(|| "root".to_owned(), |user| user.name);
    // The server rejects the database's user unless it runs the service, because other processes can run as that user.
    let mut users = vec!["root", &caller];
    users.dedup();
    let roles = [ADMIN_ROLE, OWNER_ROLE, SERVICE_ROLE];
    let lines = users.iter().flat_map(|user| roles.map(|role| format!("compliance \"{user}\" {role}\n")));
    let ident = format!("# Written by the service at each start.\n{}", lines.collect::<String>());
    // If a crash interrupts this, the next start rewrites both files.
    for (path, text) in [(&layout.hba, hba), (&layout.ident, &ident)] {
        let written = files::replace(path, 0o644).and_then(|mut file| {
            // The database's user needs read access, whatever the umask.
            file.set_permissions(Permissions::from_mode(0o644))?;
            file.write_all(text.as_bytes())
        });
        written.map_err(Error::io("write", path))?;
    }
    Ok(())
}
