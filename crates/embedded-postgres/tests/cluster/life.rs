//! The usual cluster lifecycle: create, start, use, stop and restart.

use std::{
    fs,
    path::Path,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use embedded_postgres::{ADMIN_ROLE, Cluster, ClusterOptions, Error, OWNER_ROLE};
use sqlx::{Connection, PgConnection};
use test_support::{DataDir, is_running};

use crate::{DATABASE, connect, kept, options, put};

async fn setting(connection: &mut PgConnection, name: &str) -> String {
    sqlx::query_scalar("SELECT current_setting($1)").bind(name).fetch_one(connection).await.unwrap()
}

#[tokio::test]
async fn restart_is_fast_and_keeps_data() {
    let data = DataDir::new();
    let clock = Instant::now();
    let cluster = Cluster::start(options(&data)).await.unwrap();
    let first = clock.elapsed();
    eprintln!("first start: {first:?}");
    assert!(cluster.endpoint().create_database(DATABASE).await.unwrap());
    assert!(!cluster.endpoint().create_database(DATABASE).await.unwrap(), "the database already exists");
    put(cluster.endpoint(), 1).await;
    let pid = cluster.server_pid().unwrap();
    let clock = Instant::now();
    cluster.stop().await.unwrap();
    eprintln!("stop: {:?}", clock.elapsed());
    // The server's memory is gone, so it has ended. The kernel may take longer to clean up the rest.
    let ended = async {
        while is_running(pid) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), ended).await.unwrap();
    assert_eq!(data.postmaster(), None, "a shutdown removes the PID file");
    assert_eq!(Cluster::connect_running(data.path()).await.unwrap(), None);

    let clock = Instant::now();
    let cluster = Cluster::start(options(&data)).await.unwrap();
    let took = clock.elapsed();
    eprintln!("second start: {took:?}");
    // The first start also creates the cluster, which takes several times as long on any machine.
    assert!(took < first, "{took:?}");
    assert_eq!(kept(cluster.endpoint()).await, [1]);
    cluster.stop().await.unwrap();
}

#[tokio::test]
async fn private_servers_use_documented_settings() {
    let data = DataDir::new();
    let cluster = Cluster::start(options(&data)).await.unwrap();
    cluster.endpoint().create_database(DATABASE).await.unwrap();
    let mut connection = connect(cluster.endpoint()).await;
    for (name, value) in [
        ("fsync", "on"),
        ("synchronous_commit", "on"),
        ("full_page_writes", "on"),
        ("data_checksums", "on"),
        ("listen_addresses", ""),
        ("shared_buffers", "32MB"),
        ("max_connections", "100"),
        ("server_encoding", "UTF8"),
        ("lc_collate", "C"),
        ("TimeZone", "UTC"),
        ("is_superuser", "off"),
        ("session_authorization", OWNER_ROLE),
    ] {
        // PostgreSQL 16 removed the `lc_collate` setting. The catalog contains each database's collation.
        let found: String = if name == "lc_collate" {
            let query = sqlx::query_scalar("SELECT datcollate FROM pg_database WHERE datname = current_database()");
            query.fetch_one(&mut connection).await.unwrap()
        } else {
            setting(&mut connection, name).await
        };
        assert_eq!(found, value, "{name}");
    }
    // Migrations create schemas and tables.
    sqlx::raw_sql("CREATE SCHEMA s; CREATE TABLE s.t (); CREATE TABLE u ()").execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();

    let by_url = cluster.endpoint().url(ADMIN_ROLE, DATABASE);
    let mut admin = PgConnection::connect(&by_url).await.unwrap();
    assert_eq!(setting(&mut admin, "session_authorization").await, ADMIN_ROLE);
    admin.close().await.unwrap();
    cluster.stop().await.unwrap();
}

#[tokio::test]
async fn long_and_unusual_paths_work() {
    for suffix in ["-".repeat(120), ", with 'a comma\"".to_owned()] {
        let data = DataDir::ending_in(&suffix);
        let cluster = Cluster::start(options(&data)).await.unwrap();
        let socket_dir = cluster.endpoint().socket_dir().to_owned();
        assert!(!socket_dir.starts_with(data.path()));
        cluster.endpoint().create_database(DATABASE).await.unwrap();
        put(cluster.endpoint(), 1).await;
        let found = Cluster::connect_running(data.path()).await.unwrap().unwrap();
        assert_eq!(kept(&found).await, [1]);
        cluster.stop().await.unwrap();
        assert!(!socket_dir.exists(), "stopping the server removes the socket's folder");
    }
}

#[tokio::test]
async fn incomplete_clusters_are_replaced() {
    let data = DataDir::new();
    let half = data.path().join("postgres.new-0badf00d");
    fs::create_dir_all(half.join("base")).unwrap();
    fs::write(half.join("PG_VERSION"), "15\n").unwrap();
    // A start also replaces an empty cluster folder.
    fs::create_dir(data.cluster()).unwrap();
    let cluster = Cluster::start(options(&data)).await.unwrap();
    assert!(!half.exists());
    cluster.stop().await.unwrap();
}

#[tokio::test]
async fn unusable_cluster_folders_are_rejected() {
    let data = DataDir::new();
    fs::create_dir_all(data.cluster()).unwrap();
    let precious = data.cluster().join("precious");
    fs::write(&precious, "").unwrap();
    let error = Cluster::start(options(&data)).await.unwrap_err();
    assert!(matches!(error, Error::NotACluster { .. }), "{error}");
    assert!(precious.exists());

    fs::remove_file(precious).unwrap();
    fs::create_dir(data.cluster().join("global")).unwrap();
    fs::write(data.cluster().join("global/pg_control"), "").unwrap();
    fs::write(data.cluster().join("PG_VERSION"), "9999\n").unwrap();
    let error = Cluster::start(options(&data)).await.unwrap_err();
    assert!(error.to_string().contains("Install PostgreSQL 9999"), "{error}");
}

/// A child process that another thread is starting holds a copy of every descriptor, including the lock, until it runs its program.
#[tokio::test]
async fn child_processes_do_not_hold_folder_lock() {
    let data = DataDir::new();
    fs::create_dir_all(data.cluster()).unwrap();
    fs::write(data.cluster().join("precious"), "").unwrap();
    let done = Arc::new(AtomicBool::new(false));
    let starters = [(); 4].map(|()| {
        let done = Arc::clone(&done);
        thread::spawn(move || {
            while !done.load(Ordering::Relaxed) {
                Command::new("true").status().unwrap();
            }
        })
    });
    let mut locked = 0;
    for _ in 0..500 {
        let error = Cluster::start(options(&data)).await.unwrap_err();
        locked += usize::from(!matches!(error, Error::NotACluster { .. }));
    }
    done.store(true, Ordering::Relaxed);
    for starter in starters {
        starter.join().unwrap();
    }
    assert_eq!(locked, 0, "starts failed because of their own lock");
}

#[tokio::test]
async fn failed_start_reports_server_log() {
    let data = DataDir::new();
    let mut wrong = options(&data);
    wrong.shared_buffers_mib = 0;
    let error = Cluster::start(wrong).await.unwrap_err().to_string();
    assert!(error.contains("is outside the valid range for parameter \"shared_buffers\""), "{error}");
    // The data folder is unlocked and the cluster is intact.
    Cluster::start(options(&data)).await.unwrap().stop().await.unwrap();
}

#[tokio::test]
async fn temporary_clusters_are_removed_completely() {
    let options = ClusterOptions::temporary();
    let dir = options.data_dir.clone();
    let cluster = Cluster::start(options).await.unwrap();
    let pid = cluster.server_pid().unwrap();
    cluster.stop().await.unwrap();
    assert!(!dir.exists() && !is_running(pid));

    let clock = Instant::now();
    let options = ClusterOptions::temporary();
    let dir = options.data_dir.clone();
    let cluster = Cluster::start(options).await.unwrap();
    eprintln!("temporary: {:?}", clock.elapsed());
    let pid = cluster.server_pid().unwrap();
    drop(cluster);
    assert!(!dir.exists() && !is_running(pid));
}

#[tokio::test]
async fn dropped_clusters_can_be_restarted_immediately() {
    let data = DataDir::new();
    let cluster = Cluster::start(options(&data)).await.unwrap();
    cluster.endpoint().create_database(DATABASE).await.unwrap();
    put(cluster.endpoint(), 1).await;
    let pid = cluster.server_pid().unwrap();
    drop(cluster);
    let cluster = Cluster::start(options(&data)).await.unwrap();
    assert_ne!(cluster.server_pid(), Some(pid));
    assert_eq!(kept(cluster.endpoint()).await, [1]);
    cluster.stop().await.unwrap();
}

#[tokio::test]
async fn start_rotates_large_log() {
    let data = DataDir::new();
    fs::create_dir(data.path()).unwrap();
    fs::write(data.path().join("postgres.log"), vec![b'x'; 9 << 20]).unwrap();
    Cluster::start(options(&data)).await.unwrap().stop().await.unwrap();
    let size = |name: &str| fs::metadata(Path::new(data.path()).join(name)).unwrap().len();
    assert_eq!(size("postgres.log.1"), 9 << 20);
    assert!(size("postgres.log") < 1 << 20);
}
