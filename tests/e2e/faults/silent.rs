//! Silent network faults, which drop packets to the database without closing connections.

use std::time::{Duration, Instant};

use test_support::{Options, Proxy, RestClient, TestService, fresh_database, new_company};

use super::{PATIENCE, ROUNDS, SERVED, SILENCE_NOTICED, create, create_all, hold, status, until};

/// Starts a service whose database is behind a proxy, and makes some calls.
async fn service() -> (TestService, Proxy, RestClient) {
    let database = fresh_database().await;
    let proxy = Proxy::postgresql(database.socket);
    let service = TestService::over(database.options.socket(proxy.folder()), Options::default()).await;
    let rest = service.rest(new_company());
    // On a busy machine, a slow database check can make the service reject calls for a short time.
    for number in 0..20 {
        let created = async || matches!(create(&rest, &format!("Before {number}")).await.status, 201 | 409);
        until("calls succeed", created).await;
    }
    (service, proxy, rest)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_fail_fast_on_a_silent_database() {
    let (service, proxy, rest) = service().await;
    let remote = RestClient::new(service.rest_remote, None);
    let (mut noticed, mut served) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        assert_eq!(status(&rest, "/readyz").await, 200);
        let early = tokio::spawn({
            let rest = rest.clone();
            proxy.silence(false);
            // These calls start before the service notices the fault. They fail before their deadline.
            async move {
                let start = Instant::now();
                (create(&rest, "Early").await.status, rest.get("/urls").await.status, start.elapsed())
            }
        });
        noticed.push(until("/readyz reports the outage", async || status(&rest, "/readyz").await == 503).await);
        until("the gateway reports the outage", async || status(&remote, "/readyz").await == 503).await;
        let mut times = Vec::new();
        for _ in 0..10 {
            assert_eq!(status(&rest, "/livez").await, 200);
            let start = Instant::now();
            let refused = rest.get("/urls").await;
            assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
            assert_eq!(create(&rest, "Late").await.status, 503);
            times.push(start.elapsed());
        }
        times.sort_unstable();
        println!("times to reject two calls: {times:?}");
        // The service takes more than a second to reject a call already sent to the database. A busy machine delays some other calls.
        assert!(times[times.len() / 2] < Duration::from_secs(2), "{times:?}");
        let (write, read, took) = tokio::time::timeout(PATIENCE, early).await.expect("a call hangs").unwrap();
        println!("earlier calls received responses after {took:?}");
        assert_eq!((write, read), (503, 503));

        proxy.speak();
        let start = Instant::now();
        until("/readyz reports the recovery", async || status(&rest, "/readyz").await == 200).await;
        create(&rest, &format!("Served {round}")).await.with_status(201);
        served.push(start.elapsed());
    }
    hold("time to notice the silence", SILENCE_NOTICED, &noticed);
    hold("time to serve calls again", SERVED, &served);
    create_all(&rest, "After", 20).await;
    let list = rest.get("/affiliates").await.with_status(200);
    assert_eq!(list["data"].as_array().unwrap().len(), 40 + ROUNDS);
}

/// Existing connections stay silent forever. New connections reach a server with all committed writes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn service_recovers_from_failover_without_resets() {
    let (_service, proxy, rest) = service().await;
    proxy.silence(true);
    served_again(&rest, 20).await;
}

/// Makes calls until 20 more succeed. Checks that every call receives a response and no acknowledged write is lost.
async fn served_again(rest: &RestClient, before: usize) {
    let start = Instant::now();
    let mut acknowledged = before;
    let mut served = None;
    for number in 0.. {
        let answer = tokio::time::timeout(PATIENCE, create(rest, &format!("During {number}"))).await;
        match answer.expect("a call hangs").status {
            201 => {
                acknowledged += 1;
                served.get_or_insert_with(|| start.elapsed());
            }
            503 => {}
            other => panic!("{other}"),
        }
        if acknowledged >= before + 20 {
            break;
        }
        assert!(start.elapsed() < PATIENCE, "timed out waiting for calls to succeed again");
    }
    println!("calls succeeded {:?} after the failover", served.unwrap());
    until("/readyz reports the recovery", async || status(rest, "/readyz").await == 200).await;
    let listed = async || {
        let list = rest.get("/affiliates").await;
        list.status == 200 && list.with_status(200)["data"].as_array().unwrap().len() >= acknowledged
    };
    until("all acknowledged affiliates are listed", listed).await;
}
