//! Endpoints that hang, or never end their responses, delay no others, and their attempts end.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use test_support::{Reaction, new_company};
use tokio::{net::TcpListener, sync::Notify};

use super::{Fixture, create, run};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_hanging_endpoint_delays_no_other() {
    let mut fixture = Fixture::start().await;
    let go_on = Arc::new(Notify::new());
    fixture.receiver.react(Reaction::Hang(Arc::clone(&go_on)));
    fixture.change(1, 1).await;
    fixture.receiver.wait_for(1).await;
    // During this time, the other endpoint, of the same company and with the same address, is served.
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
async fn response_bodies_are_ignored() {
    let mut fixture = Fixture::start().await;
    fixture.receiver.react(Reaction::Respond("200 OK"));
    fixture.change(1, 1).await;
    fixture.wait_until(|webhook| webhook.position == 1).await;
    let [entry] = &fixture.deliveries().await[..] else { panic!("there are other attempts") };
    assert_eq!((entry.http_status, entry.error.as_deref()), (Some(200), None));
}

/// The promise. On busy processors, a message can take this multiple of the time without hanging endpoints.
const PROMPTLY: Duration = Duration::from_secs(2);
/// See [`PROMPTLY`].
const TIMES_ALONE: u32 = 4;

/// All endpoints of eight companies begin to hang, and all but one endpoint of a ninth company.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hanging_endpoints_delay_no_other() {
    let fixture = Fixture::start().await;
    let pool = &fixture.core.pool;
    let receiver = &fixture.receiver;
    let hanging = receiver.react_at("/hang", Reaction::Hang(Arc::new(Notify::new())));
    let paths = ["/healthy", "/own"];
    let [healthy, own] = paths.map(|path| receiver.react_at(path, Reaction::OK));
    let companies: Vec<i64> = (0..8).map(|_| new_company()).collect();
    let (last, healthy_company) = (new_company(), new_company());
    // These webhooks have been due for longer than the webhooks whose endpoints respond.
    let hang = |companies: &[i64], number: i64| {
        format!(
            "insert into webhooks (company_id, url, types, secret, position, next_attempt_at)
             select company, '{hanging}?' || number, '{{}}', 'whsec_', 0, now() - interval '1 hour'
             from unnest(array{companies:?}) company, generate_series(1, {number}) number"
        )
    };
    let count = |path: &str| receiver.received().iter().filter(|message| message.path == path).count();
    // The longest time of a message to either endpoint.
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
            println!("{name}: {path} after {:?}, beside {} that hang", start.elapsed(), count("/hang"));
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
    assert_eq!(ended, 0, "a message has waited until attempts ended that hung");
    let mut beside = Duration::MAX;
    for round in 1..=3 {
        beside = beside.min(delivered(&format!("beside {round}")).await);
    }
    let most = PROMPTLY.max(alone * TIMES_ALONE);
    assert!(beside < most, "{beside:?} beside endpoints that hang, {alone:?} alone");
    // All their handshakes then also keep the test's processors busy.
    assert!(at_first < most * 2, "{at_first:?} when endpoints begin to hang, {alone:?} alone");
    assert!(count("/hang") >= 100, "{} hang", count("/hang"));
}

/// For any way to keep the connection open: the endpoint does not begin TLS, never ends its head, or is silent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_attempt_ends_whatever_the_endpoint_does() {
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
