//! Database processes killed with SIGKILL under load.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicBool, Ordering},
    time::Instant,
};

use futures::future::join_all;
use nix::sys::signal::Signal;
use serde_json::Value;
use sqlx::ConnectOptions as _;
use test_support::{RestClient, kill_process, new_company};

use super::{NOTICED, ROUNDS, SERVED, create, hold, service_of_its_own, status, until};

/// Creates affiliates until `over` is set, and returns the acknowledged names. Every status is 201 or 503.
async fn write(rest: &RestClient, writer: usize, over: &AtomicBool) -> Vec<String> {
    let mut acknowledged = Vec::new();
    for number in 0.. {
        if over.load(Ordering::Relaxed) {
            break;
        }
        let name = format!("{writer}-{number}");
        let answer = create(rest, &name).await;
        match answer.status {
            201 => acknowledged.push(name),
            503 => assert!(answer.header("retry-after").is_some()),
            _ => panic!("{answer:?}"),
        }
    }
    acknowledged
}

/// Checks that every acknowledged record exists exactly once.
async fn check(rest: &RestClient, acknowledged: &[String]) {
    let list = rest.get("/affiliates").await.with_status(200);
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for record in list["data"].as_array().unwrap() {
        *counts.entry(Value::as_str(&record["distributor_name"]).unwrap()).or_default() += 1;
    }
    println!("{} writes acknowledged, {} exist", acknowledged.len(), counts.len());
    assert!(counts.values().all(|count| *count == 1), "{counts:?}");
    let missing: Vec<_> = acknowledged.iter().filter(|name| !counts.contains_key(name.as_str())).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// PostgreSQL restarts all processes after one is killed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_backend_loses_no_acknowledged_writes() {
    let (service, _cluster, database) = service_of_its_own(true).await;
    let rest = service.rest(new_company());
    let over = AtomicBool::new(false);
    let writers = join_all((0..6).map(|writer| write(&rest, writer, &over)));
    let killer = async {
        for _ in 0..3 {
            create(&rest, &format!("Kill {:?}", Instant::now())).await;
            let mut observer = database.options.clone().connect().await.unwrap();
            let sql = "select pid from pg_stat_activity
                where datname = current_database() and application_name = 'affiliate-compliance' limit 1";
            let pid: i32 = sqlx::query_scalar(sql).fetch_one(&mut observer).await.unwrap();
            kill_process(pid, Signal::SIGKILL);
            let lost =
                until("the crash is noticed", async || sqlx::query("select 1").execute(&mut observer).await.is_err())
                    .await;
            let back =
                until("the database accepts connections", async || database.options.clone().connect().await.is_ok())
                    .await;
            let served = until("calls succeed", async || rest.get("/urls").await.status == 200).await;
            println!("crash noticed after {lost:?}; database back after {back:?}; calls succeeded {served:?} later");
        }
        over.store(true, Ordering::Relaxed);
    };
    let (acknowledged, ()) = tokio::join!(writers, killer);
    check(&rest, &acknowledged.concat()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_server_loses_no_acknowledged_writes() {
    let (service, cluster, database) = service_of_its_own(true).await;
    let rest = service.rest(new_company());
    let over = AtomicBool::new(false);
    let writers = join_all((0..6).map(|writer| write(&rest, writer, &over)));
    let killer = async {
        let (mut noticed, mut served) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            until("calls succeed", async || rest.get("/urls").await.status == 200).await;
            kill_process(cluster.server_pid().unwrap(), Signal::SIGKILL);
            noticed.push(until("/readyz reports the outage", async || status(&rest, "/readyz").await == 503).await);
            assert_eq!(status(&rest, "/livez").await, 200);
            until("the database accepts connections", async || database.options.clone().connect().await.is_ok()).await;
            served.push(until("calls succeed again", async || rest.get("/urls").await.status == 200).await);
            assert_eq!(status(&rest, "/readyz").await, 200);
        }
        over.store(true, Ordering::Relaxed);
        hold("time to notice the killed server", NOTICED, &noticed);
        hold("time to serve calls again", SERVED, &served);
    };
    let (acknowledged, ()) = tokio::join!(writers, killer);
    check(&rest, &acknowledged.concat()).await;
}
