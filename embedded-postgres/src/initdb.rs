//! Makes the cluster, once.

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
    endpoint::ADMIN_ROLE,
    error::Error,
    install::Installation,
    layout::{CLUSTER, Layout, close_to_others, sync_dir, write_whole},
    run::run,
    settings::Durability,
    user::Account,
};

/// `initdb` takes a second or two; on a slow disk it writes some 40 MB and forces them out.
const INITDB_LIMIT: Duration = Duration::from_mins(3);

/// The major version of the cluster in the layout, or nothing when it is yet to be made. [`Error::NotACluster`] when
/// something else has its place.
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
            // An empty folder gives way to the new one.
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

/// Makes the cluster under a name of its own and gives it its place when it is complete, so that a cluster under the
/// right name is never half of one.
///
/// Blocks the thread.
pub(crate) fn make(
    layout: &Layout,
    installation: &Installation,
    account: &Account,
    durability: Durability,
) -> Result<(), Error> {
    // A fresh name each time: an `initdb` whose starter was killed may still be writing under the former one.
    let new = layout.data_dir.join(format!("{CLUSTER}.new-{:08x}", rand::random::<u32>()));
    DirBuilder::new().mode(0o700).create(&new).map_err(Error::io("create", &new))?;
    let made = fill(&new, layout, installation, account, durability);
    if made.is_err() {
        // The error matters more than what is left; the next start removes it.
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
    account.own(new)?;
    let program = installation.program("initdb");
    let mut command = Command::new(&program);
    command.arg("-D").arg(new).args(["-U", ADMIN_ROLE, "-E", "UTF8", "--locale=C", "--data-checksums"]);
    command.args(["--auth-local=peer", "--auth-host=reject", "--no-instructions"]);
    if durability == Durability::NoneForTests {
        command.arg("--no-sync");
    }
    clean_environment(&mut command);
    account.apply(&mut command);
    let end = run(command, INITDB_LIMIT).map_err(|source| match source.kind() {
        io::ErrorKind::TimedOut => Error::Initdb { path: new.to_owned(), output: source.to_string() },
        _ => Error::Spawn { program, user: account.other_name(), source },
    })?;
    if !end.success {
        return Err(Error::Initdb { path: new.to_owned(), output: end.output.trim().to_owned() });
    }
    fs::rename(new, &layout.cluster).map_err(Error::io("put the new database into", &layout.cluster))?;
    if durability == Durability::Full {
        sync_dir(&layout.data_dir)?;
    }
    Ok(())
}

/// Removes what interrupted beginnings left behind. Harmless when it fails: the names are not used again.
pub(crate) fn remove_beginnings(layout: &Layout) {
    let prefix = format!("{CLUSTER}.new-");
    for entry in fs::read_dir(&layout.data_dir).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(&prefix)
            && let Err(error) = fs::remove_dir_all(entry.path())
        {
            tracing::warn!(path = %entry.path().display(), %error, "cannot remove the remains of an interrupted initdb");
        }
    }
}

/// Sets what each start sets anew: the owner, the mode, and who may connect.
pub(crate) fn adjust(layout: &Layout, account: &Account, caller: &str) -> Result<(), Error> {
    let cluster = &layout.cluster;
    let owner = fs::metadata(cluster).map_err(Error::io("look at", cluster))?.uid();
    if account.switched && owner != account.uid {
        // Only ever root's, see `Account::of`: a copy put back by root.
        account.own_all(cluster)?;
    }
    close_to_others(cluster)?;
    let hba = "# Written by the service at each start. Unix socket only; the kernel tells who is calling.\n\
               local all all peer map=compliance\n";
    let mut users = vec!["root", account.name.as_str(), caller];
    users.sort_unstable();
    users.dedup();
    let mut ident = "# Written by the service at each start.\n".to_owned();
    for user in users {
        for role in [ADMIN_ROLE, crate::SERVICE_ROLE] {
            // Writing to a string does not fail.
            let _ = writeln!(ident, "compliance \"{user}\" {role}");
        }
    }
    for (name, text) in [("pg_hba.conf", hba), ("pg_ident.conf", &ident)] {
        let path = cluster.join(name);
        if fs::read_to_string(&path).ok().as_deref() != Some(text) {
            write_whole(&path, text, account)?;
        }
    }
    Ok(())
}

/// Keeps the caller's environment (`PGDATA`, `LC_ALL`, ...) from changing what the server's programs do.
pub(crate) fn clean_environment(command: &mut Command) {
    const KEPT: [&str; 3] = ["PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"];
    command.env_clear().env("LC_ALL", "C").envs(KEPT.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    // The caller's folder may be closed to the database's user.
    command.current_dir("/");
}
