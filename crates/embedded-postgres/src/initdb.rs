//! Creation of the cluster, and its configuration at each start.

use std::{
    fs::{self, DirBuilder, File, Permissions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt},
    time::Duration,
};

use crate::{
    endpoint::{ADMIN_ROLE, OWNER_ROLE, SERVICE_ROLE},
    error::Error,
    install::Installation,
    layout::{CLUSTER, Layout},
    process::{run, text},
    safe_file,
    user::Account,
};

/// `initdb` takes a second or two; on a slow disk, flushing its 40 MB takes longer.
const INITDB_TIMEOUT: Duration = Duration::from_mins(3);

/// The major version of the existing cluster, if there is one. Fails if the folder holds something else.
pub(crate) fn existing_major(layout: &Layout) -> Result<Option<u32>, Error> {
    let cluster = &layout.cluster;
    let mut entries = match fs::read_dir(cluster) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(Error::io("read", cluster))?,
    };
    if entries.next().is_none() {
        // An empty folder is replaced.
        return Ok(None);
    }
    let version = fs::read_to_string(cluster.join("PG_VERSION")).ok().and_then(|text| text.trim().parse().ok());
    let complete = version.filter(|_| cluster.join("global/pg_control").exists());
    complete.map(Some).ok_or_else(|| Error::NotACluster { path: cluster.clone() })
}

/// Creates the cluster under a temporary name, and renames it once it is complete.
pub(crate) async fn create(
    layout: &Layout,
    installation: &Installation,
    account: &Account,
    durable: bool,
) -> Result<(), Error> {
    // A new name each time: an `initdb` whose parent was killed may still write to the previous one.
    let new = layout.data_dir.join(format!("{CLUSTER}.new-{:08x}", rand::random::<u32>()));
    DirBuilder::new().mode(0o700).create(&new).map_err(Error::io("create", &new))?;
    let made = async {
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
    };
    let made = made.await;
    if made.is_err() {
        // If this fails too, the next start removes the folder.
        let _ = fs::remove_dir_all(&new);
    }
    made
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
    let folder = safe_file::open_folder(cluster).map_err(Error::io("open the folder", cluster))?;
    let meta = folder.metadata().map_err(Error::io("look at", cluster))?;
    folder.set_permissions(Permissions::from_mode(0o700)).map_err(Error::io("change the mode of", cluster))?;
    if account.switched && meta.uid() != account.uid {
        // It belongs to root (see `Account::of`): a backup that root has restored. Nobody else can change what is in it.
        if meta.uid() != 0 {
            return Err(Error::NotACluster { path: cluster.clone() });
        }
        safe_file::chown_all(folder, account.uid, account.gid).map_err(Error::io("change the owner of", cluster))?;
    }
    let hba = "# Written by the service at each start. Unix socket only; the kernel identifies the caller.\n\
               local all all peer map=compliance\n";
    // Not the user that the database runs as, unless that is the caller: it may have processes that are not the service's.
    let mut users = vec!["root", caller];
    users.dedup();
    let roles = [ADMIN_ROLE, OWNER_ROLE, SERVICE_ROLE];
    let lines = users.iter().flat_map(|user| roles.map(|role| format!("compliance \"{user}\" {role}\n")));
    let ident = format!("# Written by the service at each start.\n{}", lines.collect::<String>());
    // After a crash in between, the next start writes them again.
    for (path, text) in [(&layout.hba, hba), (&layout.ident, &ident)] {
        let written = safe_file::replace(path, 0o644).and_then(|mut file| {
            // Whatever the process's mask is, the database's user reads it.
            file.set_permissions(Permissions::from_mode(0o644))?;
            file.write_all(text.as_bytes())
        });
        written.map_err(Error::io("write", path))?;
    }
    Ok(())
}
