//! One company's calls succeed while another company floods the service.

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

/// Number of concurrent batches from the flooding company.
const BATCHES: usize = 60;
const URLS: usize = 1000;

fn urls(writer: usize, count: usize) -> String {
    let urls: Vec<Value> =
        (0..count).map(|number| json!({"url": format!("https://host{writer}.example/{number}")})).collect();
    json!({ "urls": urls }).to_string()
}

/// The other company's long batch and short calls succeed without waiting for the flood to end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a long test: tools/scripts/test-long runs it"]
async fn batch_floods_do_not_block_other_companies() {
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
        // The flood is under way once its first batch has ended.
        let started = async {
            while done.load(Ordering::Relaxed) == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(Duration::from_mins(1), started).await.unwrap();
        let before = done.load(Ordering::Relaxed);
        serve(&other, &id).await;
        let after = done.load(Ordering::Relaxed);
        assert!(after < BATCHES, "the flood ended before the other company was served");
        println!("{} of {BATCHES} flood batches ended while the other company was served", after - before);
        // At most a few flood batches overtake each of the other company's batches.
        assert!(after - before < BATCHES / 2, "{} flood batches overtook the other company", after - before);
        while let Some(status) = batches.join_next().await {
            let status = status.unwrap();
            assert!([201, 429].contains(&status), "{status}");
        }
    }
}

/// Sends a long batch, then short calls one at a time.
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
