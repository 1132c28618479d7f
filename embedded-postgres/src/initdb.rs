//! Creation of the cluster, and its configuration at each start.

use std::{
    fmt::Write,
    fs::{self, DirBuilder},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::Path,
    process::Command,
    time::Duration,
};

use crate::{
    endpoint::{ADMIN_ROLE, SERVICE_ROLE},
    error::Error,
    install::Installation,
    layout::{CLUSTER, Layout, restrict_to_owner, sync_dir, write_atomically},
    run::run,
    settings::Durability,
    user::Account,
};

/// `initdb` takes a second or two; on a slow disk, flushing its 40 MB takes longer.
const INITDB_TIMEOUT: Duration = Duration::from_mins(3);

/// The major version of the existing cluster, or `None` if there is none. Fails with [`Error::NotACluster`] if the folder
/// holds something else.
pub(crate) fn existing_major(layout: &Layout) -> Result<Option<u32>, Error> {
    let not_a_cluster = || Error::NotACluster { path: layout.cluster.clone() };
    match fs::read_to_string(layout.cluster.join("PG_VERSION")) {
        Ok(text) => {
            if !layout.cluster.join("global/pg_control").exists() {
                return Err(not_a_cluster());
            }
            text.trim().parse().map(Some).map_err(|_| not_a_cluster())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => match fs::read_dir(&layout.cluster) {
            // An empty folder is replaced.
            Ok(mut entries) => {
                if entries.next().is_none() {
                    Ok(None)
                } else {
                    Err(not_a_cluster())
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io("read", &layout.cluster)(error)),
        },
        Err(error) => Err(Error::io("read the database's version in", &layout.cluster)(error)),
    }
}

/// Creates the cluster under a temporary name and renames it once it is complete, so that an incomplete cluster never has
/// the final name.
///
/// Blocks the thread.
pub(crate) fn create(
    layout: &Layout,
    installation: &Installation,
    account: &Account,
    durability: Durability,
) -> Result<(), Error> {
    // A new name each time: an `initdb` whose parent was killed may still write to the previous one.
    let new = layout.data_dir.join(format!("{CLUSTER}.new-{:08x}", rand::random::<u32>()));
    DirBuilder::new().mode(0o700).create(&new).map_err(Error::io("create", &new))?;
    let made = fill(&new, layout, installation, account, durability);
    if made.is_err() {
        // If this fails too, the next start removes the folder.
        let _ = fs::remove_dir_all(&new);
    }
    made
}

fn fill(
    new: &Path,
    layout: &Layout,
    installation: &Installation,
    account: &Account,
    durability: Durability,
) -> Result<(), Error> {
    account.chown(new)?;
    let program = installation.program("initdb");
    let mut command = Command::new(&program);
    command.arg("-D").arg(new).args(["-U", ADMIN_ROLE, "-E", "UTF8", "--locale=C", "--data-checksums"]);
    command.args(["--auth-local=peer", "--auth-host=reject", "--no-instructions"]);
    if durability == Durability::NoneForTests {
        command.arg("--no-sync");
    }
    clean_environment(&mut command);
    account.apply(&mut command);
    let end = run(command, INITDB_TIMEOUT).map_err(|source| match source.kind() {
        io::ErrorKind::TimedOut => Error::Initdb { path: new.to_owned(), output: source.to_string() },
        _ => Error::Spawn { program, user: account.other_name(), source },
    })?;
    if !end.success {
        return Err(Error::Initdb { path: new.to_owned(), output: end.output.trim().to_owned() });
    }
    fs::rename(new, &layout.cluster).map_err(Error::io("move the new database to", &layout.cluster))?;
    if durability == Durability::Full {
        sync_dir(&layout.data_dir)?;
    }
    Ok(())
}

/// Removes incomplete clusters of interrupted starts. A failure is only logged: their names are not used again.
pub(crate) fn remove_incomplete(layout: &Layout) {
    let prefix = format!("{CLUSTER}.new-");
    for entry in fs::read_dir(&layout.data_dir).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(&prefix)
            && let Err(error) = fs::remove_dir_all(entry.path())
        {
            tracing::warn!(path = %entry.path().display(), %error, "cannot remove the remains of an interrupted initdb");
        }
    }
}

/// Sets the owner, the mode and the access rules, as at each start.
pub(crate) fn configure(layout: &Layout, account: &Account, caller: &str) -> Result<(), Error> {
    let cluster = &layout.cluster;
    let owner = fs::metadata(cluster).map_err(Error::io("look at", cluster))?.uid();
    if account.switched && owner != account.uid {
        // It belongs to root (see `Account::of`): a backup that root has restored.
        account.chown_all(cluster)?;
    }
    restrict_to_owner(cluster)?;
    let hba = "# Written by the service at each start. Unix socket only; the kernel identifies the caller.\n\
               local all all peer map=compliance\n";
    let mut users = vec!["root", account.name.as_str(), caller];
    users.sort_unstable();
    users.dedup();
    let mut ident = "# Written by the service at each start.\n".to_owned();
    for user in users {
        for role in [ADMIN_ROLE, SERVICE_ROLE] {
            // Writing to a string does not fail.
            let _ = writeln!(ident, "compliance \"{user}\" {role}");
        }
    }
    for (name, text) in [("pg_hba.conf", hba), ("pg_ident.conf", &ident)] {
        let path = cluster.join(name);
        if fs::read_to_string(&path).ok().as_deref() != Some(text) {
            write_atomically(&path, text, account)?;
        }
    }
    Ok(())
}

/// Clears the environment (`PGDATA`, `LC_ALL`, …), which would change what the server's programs do.
pub(crate) fn clean_environment(command: &mut Command) {
    const KEPT: [&str; 3] = ["PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"];
    command.env_clear().env("LC_ALL", "C").envs(KEPT.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    // The current folder may be inaccessible to the database's user.
    command.current_dir("/");
}
