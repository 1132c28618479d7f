//! Tests the database's user and its privileges. As root, the tests expect a different user. Otherwise, they expect the caller.

use std::{
    fs::{self, Permissions},
    os::unix::{
        fs::{MetadataExt, PermissionsExt, lchown},
        process::CommandExt,
    },
    path::Path,
};

use embedded_postgres::{Cluster, Error, check_data_dir};
use nix::unistd::geteuid;
use test_support::DataDir;

use crate::{DATABASE, kept, options, put};

fn status(pid: i32, field: &str) -> Vec<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(field)).unwrap();
    line.split_whitespace().map(str::to_owned).collect()
}

#[tokio::test]
async fn servers_run_unprivileged_with_private_files() {
    let data = DataDir::new();
    let cluster = Cluster::start(options(&data)).await.unwrap();
    let pid = cluster.server_pid().unwrap();
    let owner = fs::metadata(data.cluster()).unwrap().uid();
    assert!(status(pid, "Uid:").iter().all(|uid| *uid == owner.to_string()));
    if geteuid().is_root() {
        assert_ne!(owner, 0);
        assert_eq!(status(pid, "Groups:"), Vec::<String>::new());
    } else {
        assert_eq!(owner, geteuid().as_raw());
    }
    let group = nix::unistd::getpgid(Some(nix::unistd::Pid::from_raw(pid))).unwrap();
    assert_eq!(group.as_raw(), pid, "Ctrl-C in the terminal must not reach the server");

    let mode = |path: &Path| fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&data.cluster()), 0o700);
    assert_eq!(mode(&data.cluster().join(".s.PGSQL.5432")), 0o700);
    assert_eq!(mode(data.path()) & 0o007, 0, "other users have no access to the data folder");
    cluster.stop().await.unwrap();
}

#[tokio::test]
async fn root_owned_backup_error_suggests_chown() {
    let data = DataDir::new();
    let cluster = Cluster::start(options(&data)).await.unwrap();
    cluster.endpoint().create_database(DATABASE).await.unwrap();
    put(cluster.endpoint(), 1).await;
    cluster.stop().await.unwrap();
    if geteuid().is_root() {
        let owner = fs::metadata(data.cluster()).unwrap().uid();
        change_owner(&data.cluster(), 0);
        let error = Cluster::start(options(&data)).await.unwrap_err().to_string();
        let user = nix::unistd::User::from_uid(owner.into()).unwrap().unwrap().name;
        assert!(error.contains(&format!("chown -R {user} {}", data.cluster().display())), "{error}");
        change_owner(&data.cluster(), owner);
    }
    let cluster = Cluster::start(options(&data)).await.unwrap();
    assert_eq!(kept(cluster.endpoint()).await, [1]);
    cluster.stop().await.unwrap();
}

fn change_owner(path: &Path, uid: u32) {
    lchown(path, Some(uid), None).unwrap();
    if fs::symlink_metadata(path).unwrap().is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            change_owner(&entry.unwrap().path(), uid);
        }
    }
}

#[tokio::test]
async fn unreachable_folders_are_reported() {
    let closed = DataDir::new();
    fs::create_dir(closed.path()).unwrap();
    fs::set_permissions(closed.path(), Permissions::from_mode(0o700)).unwrap();
    let data = DataDir::at(closed.path().join("deeper/data"));
    let checked = check_data_dir(data.path());
    if geteuid().is_root() {
        let error = Cluster::start(options(&data)).await.unwrap_err();
        assert!(matches!(&error, Error::NotPassable { dir, .. } if *dir == closed.path()), "{error}");
        assert!(matches!(checked, Err(Error::NotPassable { .. })));
        assert!(!closed.path().join("deeper").exists(), "a folder was created");
        assert_eq!(fs::metadata(closed.path()).unwrap().mode() & 0o777, 0o700, "another user's folder was changed");
    } else {
        checked.unwrap();
        Cluster::start(options(&data)).await.unwrap().stop().await.unwrap();
    }
}

#[tokio::test]
async fn private_data_folders_admit_only_database_user() {
    let data = DataDir::new();
    fs::create_dir(data.path()).unwrap();
    fs::set_permissions(data.path(), Permissions::from_mode(0o700)).unwrap();
    check_data_dir(data.path()).unwrap();
    Cluster::start(options(&data)).await.unwrap().stop().await.unwrap();
    let expected = if geteuid().is_root() { 0o710 } else { 0o700 };
    assert_eq!(fs::metadata(data.path()).unwrap().mode() & 0o777, expected);
}

#[tokio::test]
async fn root_runs_database_as_folder_owner() {
    let data = DataDir::new();
    fs::create_dir(data.path()).unwrap();
    fs::set_permissions(data.path(), Permissions::from_mode(0o700)).unwrap();
    // Every system has this user.
    let owner = if geteuid().is_root() {
        nix::unistd::User::from_name("daemon").unwrap().unwrap().uid.as_raw()
    } else {
        geteuid().as_raw()
    };
    lchown(data.path(), Some(owner), None).unwrap();
    check_data_dir(data.path()).unwrap();
    let cluster = Cluster::start(options(&data)).await.unwrap();
    assert_eq!(status(cluster.server_pid().unwrap(), "Uid:")[1], owner.to_string());
    cluster.stop().await.unwrap();
}

/// Creates a data folder owned by another user, and a folder with files that planted links can point to.
fn folder_of_another_user() -> (DataDir, DataDir) {
    let (data, victim) = (DataDir::new(), DataDir::new());
    fs::create_dir(data.path()).unwrap();
    if geteuid().is_root() {
        let owner = nix::unistd::User::from_name("daemon").unwrap().unwrap().uid.as_raw();
        lchown(data.path(), Some(owner), None).unwrap();
        fs::set_permissions(data.path(), Permissions::from_mode(0o755)).unwrap();
    }
    fs::create_dir(victim.path()).unwrap();
    (data, victim)
}

#[tokio::test]
async fn service_never_writes_through_planted_links() {
    for planted in ["postgres.lock", "postgres.log"] {
        for hard in [false, true] {
            let (data, victim) = folder_of_another_user();
            let file = victim.path().join("precious");
            fs::write(&file, "precious").unwrap();
            let link = data.path().join(planted);
            if hard { fs::hard_link(&file, &link) } else { std::os::unix::fs::symlink(&file, &link) }.unwrap();
            let error = Cluster::start(options(&data)).await.unwrap_err().to_string();
            assert!(error.contains(planted), "{error}");
            assert_eq!(fs::read_to_string(&file).unwrap(), "precious", "{planted}");
        }
    }
}

#[tokio::test]
async fn data_folder_links_are_not_followed() {
    let (data, victim) = folder_of_another_user();
    let file = victim.path().join("precious");
    fs::write(&file, "precious").unwrap();
    for planted in ["postgres.hba", "postgres.ident", "postgres.log.1"] {
        std::os::unix::fs::symlink(&file, data.path().join(planted)).unwrap();
    }
    // The log exceeds its maximum size, so the start rotates it.
    let log = fs::File::create(data.path().join("postgres.log")).unwrap();
    log.set_len(9 << 20).unwrap();
    Cluster::start(options(&data)).await.unwrap().stop().await.unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "precious");

    let (data, victim) = folder_of_another_user();
    fs::write(victim.path().join("PG_VERSION"), "15\n").unwrap();
    fs::create_dir(victim.path().join("global")).unwrap();
    fs::write(victim.path().join("global/pg_control"), "").unwrap();
    std::os::unix::fs::symlink(victim.path(), data.cluster()).unwrap();
    let before = fs::metadata(victim.path()).unwrap();
    Cluster::start(options(&data)).await.unwrap_err();
    let after = fs::metadata(victim.path()).unwrap();
    assert_eq!((before.uid(), before.mode()), (after.uid(), after.mode()));
    assert_eq!(fs::metadata(victim.path().join("PG_VERSION")).unwrap().uid(), geteuid().as_raw());
}

/// Other processes that run as the database's user cannot connect.
#[tokio::test]
async fn database_user_cannot_connect() {
    let data = DataDir::new();
    let cluster = Cluster::start(options(&data)).await.unwrap();
    cluster.endpoint().create_database(DATABASE).await.unwrap();
    let psql = cluster.installation().program("psql");
    let run = |(uid, gid): (u32, u32), role: &str| {
        let mut command = std::process::Command::new(&psql);
        command.env_clear().arg("-h").arg(cluster.endpoint().socket_dir());
        command.args(["-U", role, "-d", DATABASE, "-c", "select 1"]).current_dir("/");
        if geteuid().is_root() {
            command.uid(uid).gid(gid);
        }
        test_support::output(&mut command)
    };
    let owner = fs::metadata(data.cluster()).unwrap();
    let (user, me) = ((owner.uid(), owner.gid()), (geteuid().as_raw(), nix::unistd::getegid().as_raw()));
    for role in ["postgres", "compliance", "compliance_service"] {
        let (status, _, errors) = run(me, role);
        assert!(status.success(), "{errors}");
        if geteuid().is_root() {
            let (status, _, errors) = run(user, role);
            assert!(!status.success() && errors.contains("authentication failed"), "{role}: {errors}");
        }
    }
    // The database's user cannot change the access rules either.
    for name in ["postgres.hba", "postgres.ident"] {
        let meta = fs::symlink_metadata(data.path().join(name)).unwrap();
        assert_eq!((meta.uid(), meta.mode() & 0o777), (geteuid().as_raw(), 0o644), "{name}");
    }
    cluster.stop().await.unwrap();
}
