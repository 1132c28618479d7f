//! Citus under load, with unreachable nodes and moving shards.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use serde_json::json;
use sqlx::PgConnection;
use test_support::{Options, Received, RestClient, TestService, WebhookReceiver, connect_to_citus, new_company};

/// Returns the number of single-shard and multi-shard statements.
pub(crate) async fn counted(coordinator: &mut PgConnection) -> (i64, i64) {
    let counted = "select query_execution_single_shard, query_execution_multi_shard from citus_stat_counters
        where name = current_database()";
    sqlx::query_as(counted).fetch_one(coordinator).await.unwrap()
}

/// The shard and node of a company's records.
#[derive(Debug, PartialEq, sqlx::FromRow)]
struct Place {
    shardid: i64,
    nodeid: i32,
    nodename: String,
    nodeport: i32,
}

async fn place(coordinator: &mut PgConnection, company: i64) -> Place {
    let place = "select p.shardid, n.nodeid, n.nodename, n.nodeport
        from pg_dist_placement p join pg_dist_node n using (groupid)
        where p.shardid = get_shard_id_for_distribution_column('affiliates', $1)";
    sqlx::query_as(place).bind(company).fetch_one(coordinator).await.unwrap()
}

/// Returns two companies whose records are on different nodes.
async fn companies_apart(coordinator: &mut PgConnection) -> [(i64, Place); 2] {
    let first = new_company();
    let first = (first, place(coordinator, first).await);
    loop {
        let second = new_company();
        let second = (second, place(coordinator, second).await);
        if second.1.nodeid != first.1.nodeid {
            return [first, second];
        }
    }
}

/// Adds a URL and returns the status.
async fn add(rest: &RestClient, number: usize) -> u16 {
    let body = json!({"urls": [{"url": format!("https://example.com/{number}")}]});
    rest.post("/urls", body.to_string()).await.status
}

async fn total(rest: &RestClient) -> i64 {
    rest.get("/urls?per_page=1").await.with_status(200)["meta"]["total"].as_i64().unwrap()
}

/// Adds and reads URLs one by one until `is_done` is set. Returns the number of URLs.
async fn work(rest: &RestClient, mut added: usize, is_done: &AtomicBool) -> usize {
    while !is_done.load(Ordering::Relaxed) {
        assert_eq!(add(rest, added).await, 201, "URL {added}");
        added += 1;
        assert_eq!(total(rest).await, added as i64);
    }
    added
}

/// Adds a URL as soon as the node is available.
async fn add_soon(rest: &RestClient, number: usize) {
    let start = Instant::now();
    while add(rest, number).await != 201 {
        assert!(start.elapsed() < Duration::from_mins(2), "timed out waiting for the node");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs TEST_DATABASE_URL"]
async fn node_outages_do_not_affect_other_nodes() {
    let receiver = WebhookReceiver::start().await;
    let service = TestService::with(Options { webhooks: receiver.settings(), ..Options::default() }).await;
    let Some(mut coordinator) = connect_to_citus(&service.pool).await else { return };
    let [(company, Place { nodeid, nodename, nodeport, .. }), (other, _)] = companies_apart(&mut coordinator).await;
    let (rest, other_rest) = (service.rest(company), service.rest_remote(other));
    assert_eq!(add(&rest, 0).await, 201);
    let webhook = json!({ "url": receiver.url() }).to_string();
    other_rest.post("/webhooks", webhook).await.with_status(201);
    add_soon(&other_rest, 0).await;
    receiver.wait_for(1).await;
    let update = "select citus_update_node($1, $2, $3)";
    // Nothing listens on port 1. Citus runs no functions on the node until all nodes know the address.
    sqlx::query(update).bind(nodeid).bind(&nodename).bind(1).execute(&mut coordinator).await.unwrap();
    add_soon(&other_rest, 1).await;
    // The coordinator keeps its connections until it learns the new address.
    let (start, mut added) = (Instant::now(), 1);
    while add(&rest, added).await == 201 {
        added += 1;
        assert!(start.elapsed() < Duration::from_mins(2), "the coordinator still uses the old address");
    }
    let is_done = AtomicBool::new(false);
    let away = async {
        for number in 1000..1020 {
            assert_eq!(add(&rest, number).await, 503);
            assert_eq!(rest.get("/urls").await.status, 503);
            assert_eq!(rest.get("/affiliates/1").await.status, 503);
        }
        is_done.store(true, Ordering::Relaxed);
    };
    let (others, ()) = tokio::join!(work(&other_rest, 2, &is_done), away);
    let start = Instant::now();
    while receiver.received().iter().flat_map(Received::positions).count() < others {
        assert!(start.elapsed() < Duration::from_mins(2), "timed out waiting for webhook deliveries");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    sqlx::query(update).bind(nodeid).bind(&nodename).bind(nodeport).execute(&mut coordinator).await.unwrap();
    add_soon(&rest, 1000).await;
    add_soon(&other_rest, others).await;
    assert_eq!((total(&rest).await, total(&other_rest).await), (added as i64 + 1, others as i64 + 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs TEST_DATABASE_URL"]
async fn companies_can_write_while_shards_move() {
    let service = TestService::start().await;
    let Some(mut coordinator) = connect_to_citus(&service.pool).await else { return };
    let [(company, from), (other, to)] = companies_apart(&mut coordinator).await;
    let (rest, other_rest) = (service.rest(company), service.rest_remote(other));
    let (is_done, from_shard) = (AtomicBool::new(false), from.shardid);
    let moves = async {
        for (from, to) in [(&from, &to), (&to, &from), (&from, &to)] {
            let shards = "select citus_move_shard_placement($1, $2, $3, $4, $5, 'block_writes')";
            let start = Instant::now();
            loop {
                let shards = sqlx::query(shards).bind(from_shard);
                let shards = shards.bind(&from.nodename).bind(from.nodeport).bind(&to.nodename).bind(to.nodeport);
                let Err(error) = shards.execute(&mut coordinator).await else { break };
                // Citus still removes the shards that an earlier move left behind.
                assert!(error.to_string().contains("could not be cleaned up"), "{error}");
                assert!(start.elapsed() < Duration::from_mins(2), "{error}");
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
        assert_eq!(place(&mut coordinator, company).await.nodeid, to.nodeid);
        is_done.store(true, Ordering::Relaxed);
    };
    let (added, others, ()) = tokio::join!(work(&rest, 0, &is_done), work(&other_rest, 0, &is_done), moves);
    assert_eq!((total(&rest).await, total(&other_rest).await), (added as i64, others as i64));
}
