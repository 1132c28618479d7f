//! Which user the database runs as, and what that user may do. As root these tests check the change of user; as
//! another user, that there is none.

use std::{
    fs::{self, Permissions},
    os::unix::fs::{MetadataExt, PermissionsExt, lchown},
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
async fn the_server_has_its_own_user_and_its_own_process_group() {
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
    assert_eq!(group.as_raw(), pid, "Ctrl-C in the terminal must not reach it");

    let mode = |path: &Path| fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&data.cluster()), 0o700);
    assert_eq!(mode(&data.cluster().join(".s.PGSQL.5432")), 0o700);
    assert_eq!(mode(data.path()) & 0o007, 0, "others have no access to the data folder");
    cluster.stop().await.unwrap();
}

#[tokio::test]
async fn a_backup_that_root_restored_gets_the_owner_of_the_database() {
    let data = DataDir::new();
    let cluster = Cluster::start(options(&data)).await.unwrap();
    cluster.create_database(DATABASE).await.unwrap();
    put(cluster.endpoint(), 1).await;
    cluster.stop().await.unwrap();
    let me = geteuid().as_raw();
    change_owner(&data.cluster(), me);
    fs::set_permissions(data.cluster(), Permissions::from_mode(0o755)).unwrap();
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
async fn the_error_names_the_folder_that_the_database_cannot_reach() {
    let closed = DataDir::new();
    fs::create_dir(closed.path()).unwrap();
    fs::set_permissions(closed.path(), Permissions::from_mode(0o700)).unwrap();
    let data = DataDir::at(closed.path().join("deeper/data"));
    let checked = check_data_dir(data.path());
    if geteuid().is_root() {
        let error = Cluster::start(options(&data)).await.unwrap_err();
        assert!(matches!(&error, Error::NotPassable { dir, .. } if *dir == closed.path()), "{error}");
        assert!(matches!(checked, Err(Error::NotPassable { .. })));
        assert!(!closed.path().join("deeper").exists(), "nothing is created");
        assert_eq!(fs::metadata(closed.path()).unwrap().mode() & 0o777, 0o700, "a folder of others is not changed");
    } else {
        checked.unwrap();
        Cluster::start(options(&data)).await.unwrap().stop().await.unwrap();
    }
}

#[tokio::test]
async fn only_the_database_gets_access_to_a_private_data_folder() {
    let data = DataDir::new();
    fs::create_dir(data.path()).unwrap();
    fs::set_permissions(data.path(), Permissions::from_mode(0o700)).unwrap();
    check_data_dir(data.path()).unwrap();
    Cluster::start(options(&data)).await.unwrap().stop().await.unwrap();
    let expected = if geteuid().is_root() { 0o710 } else { 0o700 };
    assert_eq!(fs::metadata(data.path()).unwrap().mode() & 0o777, expected);
}

#[tokio::test]
async fn root_runs_the_database_as_the_owner_of_the_data_folder() {
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
