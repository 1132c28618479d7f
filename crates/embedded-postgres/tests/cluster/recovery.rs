//! Tests killed services, killed databases, and two services on one data folder.

use std::{
    fs,
    os::unix::{fs::MetadataExt, process::CommandExt},
    time::{Duration, Instant},
};

use embedded_postgres::{ADMIN_ROLE, Access, Cluster, Error, OWNER_ROLE};
use nix::sys::signal::Signal;
use sqlx::{Connection, PgConnection};
use test_support::{DataDir, is_running, kill_process, wait_until};

use crate::{DATABASE, connect, kept, options, put, service::Service};

#[tokio::test]
async fn start_restarts_database_of_killed_service() {
    let data = DataDir::new();
    let (mut service, endpoint) = Service::start(&data).await;
    put(&endpoint, 1).await;
    let pid = data.postmaster().unwrap();
    service.kill();
    assert!(is_running(pid), "the database outlives its service");

    let clock = Instant::now();
    let cluster = Cluster::start(options(&data)).await.unwrap();
    eprintln!("stop and start: {:?}", clock.elapsed());
    assert_ne!(cluster.server_pid(), Some(pid));
    assert!(!is_running(pid));
    assert_eq!(kept(cluster.endpoint()).await, [1]);
    cluster.stop().await.unwrap();
}

#[tokio::test]
async fn manually_started_server_keeps_running() {
    let data = DataDir::new();
    let cluster = Cluster::start(options(&data)).await.unwrap();
    let program = cluster.installation().program("postgres");
    cluster.stop().await.unwrap();
    let owner = fs::metadata(data.cluster()).unwrap();
    let mut command = std::process::Command::new(program);
    command.arg("-D").arg(data.cluster()).args(["-c", "listen_addresses=", "-c"]);
    command.arg(format!("unix_socket_directories={}", data.cluster().display())).current_dir("/");
    command.stderr(std::process::Stdio::null());
    if nix::unistd::geteuid().is_root() {
        command.uid(owner.uid()).gid(owner.gid());
    }
    let mut server = command.spawn().unwrap();
    wait_until("the server has written its process ID", || data.postmaster() == Some(server.id().cast_signed()));
    let error = Cluster::start(options(&data)).await.unwrap_err().to_string();
    assert!(error.contains("stop that process first") && error.contains(&server.id().to_string()), "{error}");
    assert!(data.postmaster().is_some() && server.try_wait().unwrap().is_none());

    kill_process(server.id().cast_signed(), Signal::SIGINT);
    server.wait().unwrap();
    Cluster::start(options(&data)).await.unwrap().stop().await.unwrap();
}

#[tokio::test]
async fn committed_rows_survive_killed_service_and_database() {
    let data = DataDir::new();
    let (mut service, endpoint) = Service::start(&data).await;
    put(&endpoint, 1).await;
    // A backend that is running a query does not notice that its server has died, and keeps the shared memory.
    let mut busy = connect(&endpoint).await;
    let endless = "SET client_connection_check_interval = '1s'; \
                   DO $$ DECLARE until timestamptz := clock_timestamp() + interval '600 s'; \
                   BEGIN WHILE clock_timestamp() < until LOOP END LOOP; END $$";
    let task = tokio::spawn(async move {
        let _ = sqlx::raw_sql(endless).execute(&mut busy).await;
    });
    let mut observer = connect(&endpoint).await;
    let running = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SET %DO %'";
    while sqlx::query_scalar::<_, i64>(running).fetch_one(&mut observer).await.unwrap() == 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let pid = data.postmaster().unwrap();
    service.kill();
    kill_process(pid, Signal::SIGKILL);
    wait_until("the database is dead", || !is_running(pid));
    // The client belongs to the killed service, so its connection also ends.
    task.abort();

    let clock = Instant::now();
    let cluster = Cluster::start(options(&data)).await.unwrap();
    let took = clock.elapsed();
    eprintln!("recovery with a busy process left: {took:?}");
    assert!(took < Duration::from_mins(3), "{took:?}");
    assert_eq!(kept(cluster.endpoint()).await, [1]);
    cluster.stop().await.unwrap();
}

#[tokio::test]
async fn killed_database_is_restarted() {
    let data = DataDir::new();
    let cluster = Cluster::start(options(&data)).await.unwrap();
    cluster.endpoint().create_database(DATABASE).await.unwrap();
    for round in 1..=2 {
        put(cluster.endpoint(), round).await;
        let clock = Instant::now();
        let pid = cluster.server_pid().unwrap();
        kill_process(pid, Signal::SIGKILL);
        wait_for_restart(&cluster, pid).await;
        eprintln!("restart: {:?}", clock.elapsed());
    }
    assert_eq!(kept(cluster.endpoint()).await, [1, 2]);
    cluster.stop().await.unwrap();
}

#[tokio::test]
async fn clusters_stopped_during_restart_stay_stopped() {
    let data = DataDir::new();
    // Stops the cluster before the restart, and while the new server starts.
    for has_new_server in [false, true] {
        let cluster = Cluster::start(options(&data)).await.unwrap();
        let (start, mut killed) = (Instant::now(), cluster.server_pid().unwrap());
        kill_process(killed, Signal::SIGKILL);
        loop {
            match cluster.server_pid() {
                None if !has_new_server => break,
                Some(pid) if pid != killed && has_new_server => break,
                // The new server started before the test noticed, so the test kills it.
                Some(pid) if pid != killed => {
                    killed = pid;
                    kill_process(killed, Signal::SIGKILL);
                }
                _ => {}
            }
            assert!(start.elapsed() < Duration::from_mins(1), "no restart is in progress");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        cluster.stop().await.unwrap();
        assert_eq!(Cluster::connect_running(data.path()).await.unwrap(), None);
        wait_until("no server is left", || data.postmaster().is_none_or(|pid| !is_running(pid)));
    }
}

#[tokio::test]
async fn unsupervised_database_stays_down_after_kill() {
    let data = DataDir::new();
    let mut options = options(&data);
    options.supervise = false;
    let cluster = Cluster::start(options).await.unwrap();
    kill_process(cluster.server_pid().unwrap(), Signal::SIGKILL);
    let noticed = async {
        while cluster.server_pid().is_some() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), noticed).await.expect("the cluster did not notice the server's death");
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(cluster.server_pid(), None);
    cluster.stop().await.unwrap();
}

#[tokio::test]
async fn stale_pid_files_do_not_block_start() {
    let data = DataDir::new();
    Cluster::start(options(&data)).await.unwrap().stop().await.unwrap();
    // An exited process, two other programs (this one and PID 1), and a malformed file.
    for first_line in [i32::MAX.to_string(), std::process::id().to_string(), "1".to_owned(), String::new()] {
        let dir = data.cluster();
        let text = format!("{first_line}\n{0}\n1700000000\n5432\n{0}\n\n  1 2\nready   \n", dir.display());
        fs::write(dir.join("postmaster.pid"), &text).unwrap();
        fs::write(dir.join(".s.PGSQL.5432.lock"), &text).unwrap();
        fs::write(dir.join(".s.PGSQL.5432"), "").unwrap();
        assert_eq!(Cluster::connect_running(data.path()).await.unwrap(), None, "{first_line:?}");
        Cluster::start(options(&data)).await.unwrap().stop().await.unwrap();
    }
}

#[tokio::test]
async fn second_service_is_rejected_but_programs_connect() {
    let data = DataDir::new();
    let (service, _) = Service::start(&data).await;
    let error = Cluster::start(options(&data)).await.unwrap_err();
    assert!(
        matches!(&error, Error::InUse { holder: Some(pid), .. } if *pid == service.0.id().cast_signed()),
        "{error}"
    );

    let access = Cluster::connect_or_start(options(&data)).await.unwrap();
    assert!(matches!(access, Access::Running(_)));
    put(access.endpoint(), 7).await;
    let server = data.postmaster().unwrap();
    access.release().await.unwrap();
    assert!(is_running(server), "releasing a connection does not stop the database");
}

#[tokio::test]
async fn concurrent_programs_share_one_database() {
    let data = DataDir::new();
    let (one, two) = tokio::join!(Cluster::connect_or_start(options(&data)), Cluster::connect_or_start(options(&data)));
    let (one, two) = (one.unwrap(), two.unwrap());
    assert_eq!(one.endpoint(), two.endpoint());
    let started = [&one, &two].iter().filter(|access| matches!(access, Access::Started(_))).count();
    assert_eq!(started, 1);
    let mut connection = PgConnection::connect_with(&two.endpoint().options(ADMIN_ROLE, "postgres")).await.unwrap();
    connection.ping().await.unwrap();
    connection.close().await.unwrap();
    one.release().await.unwrap();
    two.release().await.unwrap();
}

#[tokio::test]
async fn interrupted_initdb_is_retried() {
    let data = DataDir::new();
    let mut service = Service::spawn(&data);
    let initdb_runs = || {
        fs::read_dir(data.path()).is_ok_and(|mut all| {
            all.any(|entry| entry.is_ok_and(|entry| entry.file_name().to_string_lossy().starts_with("postgres.new-")))
        })
    };
    wait_until("initdb runs", initdb_runs);
    std::thread::sleep(Duration::from_millis(100));
    service.kill();
    assert!(!data.cluster().exists());
    let cluster = Cluster::start(options(&data)).await.unwrap();
    cluster.endpoint().create_database(DATABASE).await.unwrap();
    put(cluster.endpoint(), 1).await;
    cluster.stop().await.unwrap();
}

async fn wait_for_restart(cluster: &Cluster, killed: i32) {
    let start = Instant::now();
    let options = cluster.endpoint().options(OWNER_ROLE, DATABASE);
    while cluster.server_pid().is_none_or(|pid| pid == killed) || PgConnection::connect_with(&options).await.is_err() {
        assert!(start.elapsed() < Duration::from_mins(1), "the database did not restart");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
