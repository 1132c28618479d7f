//! Restored dumps: every endpoint returns the same bytes.

use std::{collections::HashSet, process::Command};

use embedded_postgres::{Installation, OWNER_ROLE};
use serde_json::Value;
use sqlx::{ConnectOptions as _, Connection as _};
use test_support::{
    Options, RestClient, RestResponse, TestDatabase, TestService, fresh_database, new_company, output, wait_until,
};
use time::{OffsetDateTime, macros::datetime};

use crate::upgrade::{Answers, COMPANIES, fill};

/// Dumps one database and restores the dump into another.
async fn dump_and_restore(database: &TestDatabase, restored: &TestDatabase) {
    let programs = Installation::find(None).await.unwrap();
    let dump = std::env::temp_dir().join(format!("compliance-test-dump-{:016x}", rand::random::<u64>()));
    let name = |options: &sqlx::postgres::PgConnectOptions| options.get_database().unwrap().to_owned();
    let (from, to) = (name(&database.options), name(&restored.options));
    let socket = database.socket.parent().unwrap().to_owned();
    // Empty the new database.
    let mut owner = restored.options.clone().connect().await.unwrap();
    sqlx::raw_sql("drop schema public cascade; create schema public").execute(&mut owner).await.unwrap();
    owner.close().await.unwrap();
    let dumped = dump.clone();
    tokio::task::spawn_blocking(move || {
        let run = |program: &str, database: &str, arguments: &[&str]| {
            let mut command = Command::new(programs.program(program));
            command.arg("-h").arg(&socket).args(["-U", OWNER_ROLE, "-d", database]).args(arguments).arg("-Fc");
            command
        };
        let file = dumped.to_str().unwrap();
        let (status, _, log) = output(run("pg_dump", &from, &["-f", file]).env_clear());
        assert!(status.success(), "{log}");
        // Every new database already contains the `public` schema.
        let (status, _, log) = output(run("pg_restore", &to, &["--clean", "--if-exists", file]).env_clear());
        assert!(status.success(), "{log}");
    })
    .await
    .unwrap();
    std::fs::remove_file(&dump).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn restored_databases_return_the_same_responses() {
    let (database, restored) = (fresh_database().await, fresh_database().await);
    let service = TestService::over(database.options.clone(), Options::default()).await;
    let before = Answers::record(&service, &fill(&service).await).await;
    dump_and_restore(&database, &restored).await;
    let service = TestService::over(restored.options, Options::default()).await;
    for (path, before, after) in before.repeat(&service).await {
        // The restore itself is a change, and old positions are not valid.
        if !path.starts_with("/changes") && !path.starts_with("/audit") {
            assert_eq!(before, after, "{path}");
        }
    }
    for company in COMPANIES {
        service.grpc(company).await.affiliate("After the restore").await;
    }
}

async fn create(rest: &RestClient, name: &str) -> i64 {
    let body = format!(r#"{{"client_affiliate_id":"c","affiliate_name":"{name}"}}"#);
    rest.post("/affiliates", body).await.with_status(201)["detail"]["affiliate_id"].as_i64().unwrap()
}

fn positions(changes: &Value) -> Vec<i64> {
    changes["data"]["changes"].as_array().unwrap().iter().map(|change| change["position"].as_i64().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_positions_and_ids_are_invalid_after_restore() {
    let (database, restored) = (fresh_database().await, fresh_database().await);
    let (company, later) = (new_company(), new_company());
    let service = TestService::over(database.options.clone(), Options::default()).await;
    let rest = service.rest(company);
    let mut first = 0;
    for number in 1..=5 {
        first = create(&rest, &format!("kept {number}")).await;
    }
    dump_and_restore(&database, &restored).await;
    let mut lost_ids = Vec::new();
    for number in 1..=4 {
        lost_ids.push(create(&rest, &format!("lost {number}")).await);
    }
    let update = |city: &str| format!(r#"{{"id":{first},"city":"{city}"}}"#);
    rest.put(&format!("/affiliates/{first}"), update("lost")).await.with_status(200);
    let lost_etag = rest.get(&format!("/affiliates/{first}")).await.header("etag").unwrap().to_owned();
    // This company is not in the backup.
    create(&service.rest(later), "lost").await;
    create(&service.rest(later), "lost, too").await;
    drop(service);

    let service = TestService::over(restored.options, Options::default()).await;
    let gone = service.rest(company).get("/changes?after=10").await;
    let at = gone.with_status(410)["detail"]["restored_position"].as_i64().unwrap();
    assert!(at > 1 << 40 && at < 1 << 53, "{at}");
    for rest in [service.rest(company), service.rest_remote(company)] {
        for path in ["/changes?after=10", "/changes?after=6&types=url", "/affiliates?changed_after=9"] {
            let gone = rest.get(path).await;
            assert_eq!(gone.with_status(410)["detail"]["restored_position"], at, "{path}: {}", gone.text);
        }
        let events =
            rest.request("GET", "/changes").header("Accept", "text/event-stream").header("Last-Event-ID", "10");
        let gone = RestResponse::of(events).await;
        assert_eq!(gone.with_status(410)["detail"]["restored_position"], at, "{}", gone.text);
    }
    let rest = service.rest(company);
    for number in 1..=8 {
        let id = create(&rest, &format!("new {number}")).await;
        assert!(id > at && !lost_ids.contains(&id), "{id}");
    }
    // Readers whose position is in the backup can continue.
    rest.get("/changes?after=10").await.with_status(410);
    let kept = rest.get("/changes?after=5").await.with_status(200);
    assert_eq!(positions(&kept), (at..=at + 8).collect::<Vec<_>>());
    assert_eq!(
        (&kept["data"]["changes"][0]["operation"], &kept["data"]["changes"][0]["resource"]),
        (&"restored".into(), &"company".into())
    );
    let changed = rest.get("/affiliates?changed_after=5").await.with_status(200);
    // After a restore, the list also contains unchanged records.
    assert!(changed["data"].as_array().unwrap().len() >= 8);
    for id in lost_ids {
        rest.get(&format!("/affiliates/{id}")).await.with_status(404);
    }
    // No later version reuses a lost version's etag.
    rest.put(&format!("/affiliates/{first}"), update("new")).await.with_status(200);
    let request = rest.request("PUT", &format!("/affiliates/{first}")).header("If-Match", lost_etag);
    let refused = RestResponse::of(request.body(update("by an old form"))).await;
    refused.with_status(412);

    // The same applies to a lost company, before and after its first new change.
    for rest in [service.rest(later), service.rest_remote(later)] {
        assert_eq!(rest.get("/changes?after=1").await.with_status(410)["detail"]["restored_position"], at);
        assert_eq!(rest.get("/changes?after=0").await.with_status(200)["data"]["position"], at);
    }
    let rest = service.rest(later);
    create(&rest, "new").await;
    assert_eq!(rest.get("/changes?after=1").await.with_status(410)["detail"]["restored_position"], at);
    for after in [0, at] {
        assert_eq!(positions(&rest.get(&format!("/changes?after={after}")).await.with_status(200)), [at + 1]);
    }
}

/// Returns the unit of jumps.
fn seconds_since_2020() -> i64 {
    (OffsetDateTime::now_utc() - datetime!(2020-01-01 00:00 UTC)).whole_seconds()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn repeated_restores_reissue_no_ids_positions_or_etags() {
    let database = fresh_database().await;
    let company = new_company();
    let service = TestService::over(database.options.clone(), Options::default()).await;
    let kept = create(&service.rest(company), "kept").await;
    drop(service);
    let update = |city: &str| format!(r#"{{"id":{kept},"city":"{city}"}}"#);
    let (mut ids, mut etags, mut read) = (HashSet::from([kept]), HashSet::new(), Vec::new());
    for restore in 1..=3 {
        let restored = fresh_database().await;
        dump_and_restore(&database, &restored).await;
        // Restores within the same second jump to the same numbers.
        let last = read.last().map_or(0, |position| position >> 22);
        wait_until("a second has passed", || seconds_since_2020() > last);
        let service = TestService::over(restored.options, Options::default()).await;
        let rest = service.rest(company);
        for number in 1..=8 {
            let id = create(&rest, &format!("new {number}")).await;
            assert!(ids.insert(id), "restore {restore} reissued the ID {id}");
        }
        for city in ["one", "two"] {
            let saved = rest.put(&format!("/affiliates/{kept}"), update(city)).await;
            saved.with_status(200);
            let etag = rest.get(&format!("/affiliates/{kept}")).await.header("etag").unwrap().to_owned();
            assert!(etags.insert(etag.clone()), "restore {restore} reissued the etag {etag}");
        }
        // All positions from earlier restores are lost.
        for position in &read {
            let gone = rest.get(&format!("/changes?after={position}")).await;
            assert!(gone.with_status(410)["detail"]["restored_position"].as_i64().unwrap() > *position, "{restore}");
        }
        read.extend(positions(&rest.get("/changes?after=1&limit=1000").await.with_status(200)));
    }
    assert_eq!(read.len(), 3 * (1 + 8 + 2));
}
