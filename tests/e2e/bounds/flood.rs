//! One company's flood while another company makes calls.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use test_support::{RestClient, TestService, new_company};
use tokio::{task::JoinSet, time::timeout};

/// Long batches of the company that floods, all at the same time.
const BATCHES: usize = 60;
const URLS: usize = 1000;

fn urls(writer: usize, count: usize) -> String {
    let urls: Vec<Value> =
        (0..count).map(|number| json!({"url": format!("https://host{writer}.example/{number}")})).collect();
    json!({ "urls": urls }).to_string()
}

/// The other company is never refused. Its own long batch does not wait for those of the flood, and its short calls go
/// on meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_batches() {
    let service = TestService::start().await;
    for [flood, other] in [
        [service.rest(new_company()), service.rest(new_company())],
        [service.rest_remote(new_company()), service.rest_remote(new_company())],
    ] {
        let id = other.post("/affiliates", r#"{"client_affiliate_id":"C","affiliate_name":"N"}"#).await;
        let id = id.with_status(201)["detail"]["affiliate_id"].clone();
        let done = Arc::new(AtomicUsize::new(0));
        let mut batches = JoinSet::new();
        for writer in 0..BATCHES {
            let (flood, done) = (flood.clone(), Arc::clone(&done));
            batches.spawn(async move {
                let answer = flood.post("/urls", urls(writer, URLS)).await;
                done.fetch_add(1, Ordering::Relaxed);
                answer.status
            });
        }
        // Once the first one is done, the others wait.
        let started = async {
            while done.load(Ordering::Relaxed) == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(Duration::from_mins(1), started).await.unwrap();
        let before = done.load(Ordering::Relaxed);
        serve(&other, &id).await;
        let after = done.load(Ordering::Relaxed);
        assert!(after < BATCHES, "the flood was over before the other company was served");
        println!("{} of {BATCHES} batches of the flood ended while the other company was served", after - before);
        // Each of its own batches has let a few of the flood pass, at most.
        assert!(after - before < BATCHES / 2, "{} batches of the flood went first", after - before);
        while let Some(status) = batches.join_next().await {
            let status = status.unwrap();
            assert!([201, 429].contains(&status), "{status}");
        }
    }
}

/// Calls of every kind, one after the other.
async fn serve(company: &RestClient, id: &Value) {
    company.post("/urls", urls(7777, 500)).await.with_status(201);
    for number in 0..5 {
        company.get(&format!("/affiliates/{id}")).await.with_status(200);
        company.get("/urls?per_page=5").await.with_status(200);
        company
            .put(&format!("/affiliates/{id}"), json!({"id": id, "city": number.to_string()}).to_string())
            .await
            .with_status(200);
    }
}
