//! Tests endpoints that hang or never end a response: attempts time out, and other endpoints are not delayed.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use test_support::{Reaction, new_company};
use tokio::{net::TcpListener, sync::Notify};

use super::{Fixture, create, run};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hanging_endpoint_does_not_delay_its_company() {
    let mut fixture = Fixture::start().await;
    let go_on = Arc::new(Notify::new());
    fixture.receiver.react(Reaction::Hang(Arc::clone(&go_on)));
    fixture.change(1, 1).await;
    fixture.receiver.wait_for(1).await;
    // The company's other endpoint, at the same address, still receives messages.
    fixture.receiver.react(Reaction::OK);
    create(&mut fixture.clients, format!("{}/other", fixture.receiver.url()), &[]).await;
    fixture.change(2, 1).await;
    let received = fixture.receiver.wait_for(2).await;
    assert_eq!((received[0].positions(), received[1].positions()), (vec![1], vec![2]));
    assert_eq!(fixture.webhook().await.position, 0);
    go_on.notify_one();
    fixture.wait_until(|webhook| webhook.position == 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endless_response_bodies_are_ignored() {
    let mut fixture = Fixture::start().await;
    fixture.receiver.react(Reaction::Respond("200 OK"));
    fixture.change(1, 1).await;
    fixture.wait_until(|webhook| webhook.position == 1).await;
    let [entry] = &fixture.deliveries().await[..] else { panic!("expected one attempt") };
    assert_eq!((entry.http_status, entry.error.as_deref()), (Some(200), None));
}

/// Promised delivery time while other endpoints hang.
const PROMPTLY: Duration = Duration::from_secs(2);
/// Maximum ratio between the delivery times with and without hanging endpoints, on busy processors.
const TIMES_ALONE: u32 = 4;

/// All endpoints of eight companies start to hang, as do all but one of a ninth company's endpoints.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hanging_endpoints_do_not_delay_others() {
    let fixture = Fixture::start().await;
    let pool = &fixture.core.pool;
    let receiver = &fixture.receiver;
    let hanging = receiver.react_at("/hang", Reaction::Hang(Arc::new(Notify::new())));
    let paths = ["/healthy", "/own"];
    let [healthy, own] = paths.map(|path| receiver.react_at(path, Reaction::OK));
    let companies: Vec<i64> = (0..8).map(|_| new_company()).collect();
    let (last, healthy_company) = (new_company(), new_company());
    // These webhooks have been due for longer than the healthy ones.
    let hang = |companies: &[i64], number: i64| {
        format!(
            "insert into webhooks (company_id, url, types, secret, position, next_attempt_at)
             select company, '{hanging}?' || number, '{{}}', 'whsec_', 0, now() - interval '1 hour'
             from unnest(array{companies:?}) company, generate_series(1, {number}) number"
        )
    };
    let count = |path: &str| receiver.received().iter().filter(|message| message.path == path).count();
    // Returns the time until both healthy endpoints receive a new message.
    let delivered = async |name: &str| {
        let all = [&companies[..], &[last, healthy_company]].concat();
        let before = paths.map(count);
        let change = format!(
            "insert into affiliates (company_id, client_affiliate_id, affiliate_name)
             select company, '{name}', '{name}' from unnest(array{all:?}) company"
        );
        let start = Instant::now();
        run(pool, &change).await;
        for (path, before) in paths.into_iter().zip(before) {
            while count(path) == before {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            println!("{name}: {path} after {:?}, with {} hanging", start.elapsed(), count("/hang"));
        }
        start.elapsed()
    };
    run(pool, "delete from webhooks").await;
    create(&mut fixture.core.company(last), own, &[]).await;
    create(&mut fixture.core.company(healthy_company), healthy, &[]).await;
    let mut alone = Duration::ZERO;
    for round in 1..=3 {
        alone = alone.max(delivered(&format!("alone {round}")).await);
    }

    run(pool, &hang(&companies, 20)).await;
    run(pool, &hang(&[last], 19)).await;
    let at_first = delivered("at first").await;
    let ended = "select count(*) from webhook_deliveries where duration_ms > 10000";
    let ended: i64 = sqlx::query_scalar(ended).fetch_one(pool).await.unwrap();
    assert_eq!(ended, 0, "a message waited for hanging attempts to end");
    let mut beside = Duration::MAX;
    for round in 1..=3 {
        beside = beside.min(delivered(&format!("beside {round}")).await);
    }
    let most = PROMPTLY.max(alone * TIMES_ALONE);
    assert!(beside < most, "{beside:?} with hanging endpoints, {alone:?} without");
    // At first, the handshakes of all hanging endpoints also load the test machine.
    assert!(at_first < most * 2, "{at_first:?} when endpoints start to hang, {alone:?} without");
    assert!(count("/hang") >= 100, "only {} messages hang", count("/hang"));
}

/// The endpoint never starts TLS, never ends its response head, or never responds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attempts_to_stalling_endpoints_time_out() {
    let mut fixture = Fixture::start().await;
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent_url = format!("https://127.0.0.1:{}/", silent.local_addr().unwrap().port());
    let _accepting = tokio::spawn(async move {
        let mut connections = Vec::new();
        loop {
            connections.push(silent.accept().await.unwrap());
        }
    });
    let (drip, head) = (Reaction::Drip, Reaction::EndlessHead);
    let hang = Reaction::Hang(Arc::new(Notify::new()));
    let mut ids = BTreeMap::new();
    for url in [
        silent_url,
        fixture.receiver.react_at("/drip", drip),
        fixture.receiver.react_at("/head", head),
        fixture.receiver.react_at("/hang", hang),
    ] {
        ids.insert(create(&mut fixture.clients, url.clone(), &[]).await.0, url);
    }
    fixture.change(1, 1).await;
    for (id, url) in ids {
        fixture.id = id;
        fixture.wait_until(|webhook| webhook.attempts > 0).await;
        let entry = fixture.deliveries().await.pop().unwrap();
        println!("{url}: {:?} after {} ms", entry.error, entry.duration_ms);
        assert!(entry.error.is_some() && entry.duration_ms < 20_000, "{url}: {entry:?}");
    }
}
