//! Callers that disconnect during a call. Their statements end, and no other caller receives their connections.

use std::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    time::Duration,
};

use compliance_api::v1::{
    AddComplianceUrlsRequest, AffiliateInput, AffiliateUpdate, BatchCreateAffiliatesRequest,
    BatchUpdateAffiliatesRequest, CreateAffiliateRequest, GetAffiliateRequest, ListComplianceUrlsRequest, UrlInput,
};
use futures::future::join_all;
use rand::RngExt as _;
use sqlx::{ConnectOptions as _, Connection as _, PgConnection};
use test_support::{GrpcClients, TestCore, fresh_database, new_company};
use tokio::time::timeout;
use tonic::Code;

use super::{PATIENCE, until};

/// Counts the service's running statements and open transactions.
const RUNNING: &str = "select count(*) from pg_stat_activity
    where datname = current_database() and application_name = 'affiliate-compliance' and state <> 'idle'
        and query not like '%pg_is_in_recovery%'";

/// Returns a core and a separate connection to its database.
async fn core(connections: u32) -> (TestCore, PgConnection) {
    let database = fresh_database().await;
    let observer = database.options.clone().connect().await.unwrap();
    (TestCore::over(database.options, connections).await, observer)
}

async fn quiet(observer: &mut PgConnection) {
    until("the service runs no statements", async || {
        sqlx::query_scalar::<_, i64>(RUNNING).fetch_one(&mut *observer).await.unwrap() == 0
    })
    .await;
}

fn input(name: &str) -> AffiliateInput {
    AffiliateInput {
        client_affiliate_id: Some("C".to_owned()),
        affiliate_name: Some(name.to_owned()),
        ..AffiliateInput::default()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn abandoned_statements_are_cancelled() {
    let (service, mut observer) = core(8).await;
    let mut clients = service.company(new_company());
    let mut locked = service.pool.begin().await.unwrap();
    sqlx::query("lock table affiliates in share row exclusive mode").execute(&mut *locked).await.unwrap();

    let callers = join_all((0..4).map(|number| {
        // Each caller uses its own company, because one company can use only some of the connections.
        let mut clients = service.company(new_company());
        // A batch uses its own statement. Single creates share a statement with other callers.
        let affiliates = vec![input(&format!("Abandoned {number}")), input(&format!("Also abandoned {number}"))];
        let request = BatchCreateAffiliatesRequest { affiliates, validate_only: false };
        async move { clients.affiliates.batch_create_affiliates(request).await }
    }));
    // A quarter of the connections wait for the lock. The count includes the transaction that holds it.
    let waiting = until("the statements wait for the lock", async || {
        sqlx::query_scalar::<_, i64>(RUNNING).fetch_one(&mut observer).await.unwrap() >= 3
    });
    tokio::select! {
        created = callers => panic!("the batches did not wait for the lock: {created:?}"),
        _ = waiting => {}
    }
    let waiting = "select count(*) from pg_stat_activity
        where datname = current_database() and application_name = 'affiliate-compliance' and state = 'active'
            and wait_event_type = 'Lock'";
    let took = until("the statements have ended", async || {
        sqlx::query_scalar::<_, i64>(waiting).fetch_one(&mut observer).await.unwrap() == 0
    })
    .await;
    println!("4 abandoned statements ended after {took:?}");

    // Other calls run while the transaction holds the lock.
    let missing = clients.affiliates.get_affiliate(GetAffiliateRequest { id: 1, as_of: None }).await.unwrap_err();
    assert_eq!(missing.code(), Code::NotFound);
    locked.rollback().await.unwrap();
    quiet(&mut observer).await;
    let written = "select count(*) from affiliates";
    assert_eq!(sqlx::query_scalar::<_, i64>(written).fetch_one(&mut observer).await.unwrap(), 0);
    clients.affiliate("Abandoned 0").await;
}

/// With a single connection, the next caller receives neither the abandoned statement's result nor an open transaction.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn abandoned_connections_are_not_reused() {
    let (service, mut observer) = core(3).await;
    let mut clients = service.company(new_company());
    let (first, second) = (clients.affiliate("First").await, clients.affiliate("Second").await);
    for round in 0..20 {
        let mut locked = service.pool.begin().await.unwrap();
        sqlx::query("select from affiliates for update").execute(&mut *locked).await.unwrap();
        let rename = |id, name: String| {
            let affiliate = AffiliateInput { affiliate_name: Some(name), ..AffiliateInput::default() };
            AffiliateUpdate { id: Some(id), affiliate: Some(affiliate), update_mask: None, etag: String::new() }
        };
        // Alternate between a single statement and a transaction.
        let mut updates = vec![rename(first, format!("Lost {round}"))];
        if round % 2 == 1 {
            updates.push(rename(first, format!("Lost again {round}")));
        }
        let request =
            BatchUpdateAffiliatesRequest { anchor_id: Some(first), affiliates: updates, validate_only: false };
        let mut caller = clients.clone();
        let abandoned = timeout(Duration::from_millis(50), caller.affiliates.batch_update_affiliates(request));
        assert!(abandoned.await.is_err(), "the update did not wait for the lock");
        if round % 2 == 1 {
            // The transaction completes in its own task.
            locked.rollback().await.unwrap();
        }
        let read =
            timeout(PATIENCE, clients.affiliates.get_affiliate(GetAffiliateRequest { id: second, as_of: None })).await;
        assert_eq!(read.expect("the call hangs").unwrap().into_inner().distributor_name(), "Second");
        // In a disconnected caller's open transaction, this write would be lost.
        clients.affiliate(&format!("Kept {round}")).await;
    }
    quiet(&mut observer).await;
    let kept = "select count(*) from affiliates where affiliate_name like 'Kept %'";
    assert_eq!(sqlx::query_scalar::<_, i64>(kept).fetch_one(&mut observer).await.unwrap(), 20);
    observer.close().await.unwrap();
}

/// Calls the operation selected by `number`.
async fn call(mut clients: GrpcClients, ids: &[i64], number: usize) {
    let id = ids[number % ids.len()];
    let rename = |id, name: String| {
        let affiliate = AffiliateInput { city: Some(name), ..AffiliateInput::default() };
        AffiliateUpdate { id: Some(id), affiliate: Some(affiliate), update_mask: None, etag: String::new() }
    };
    // The callers can disconnect at any time, so the test ignores the responses.
    let _ = match number % 5 {
        0 => clients.affiliates.get_affiliate(GetAffiliateRequest { id, as_of: None }).await.map(drop),
        1 => {
            let affiliate = Some(input(&format!("Stormy {number}")));
            clients.affiliates.create_affiliate(CreateAffiliateRequest { affiliate }).await.map(drop)
        }
        2 => {
            let urls =
                (0..50).map(|url| UrlInput { url: Some(format!("https://example.org/{number}/{url}")) }).collect();
            clients.urls.add_compliance_urls(AddComplianceUrlsRequest { urls, validate_only: false }).await.map(drop)
        }
        3 => clients.urls.list_compliance_urls(ListComplianceUrlsRequest::default()).await.map(drop),
        _ => {
            let affiliates = vec![rename(id, format!("{number}")), rename(id, format!("{number} again"))];
            let request = BatchUpdateAffiliatesRequest { anchor_id: Some(id), affiliates, validate_only: false };
            clients.affiliates.batch_update_affiliates(request).await.map(drop)
        }
    };
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn abandoned_calls_leave_connections_clean() {
    const CALLS: usize = 1000;
    let (service, mut observer) = core(10).await;
    let (stormy, calm) = (service.company(new_company()), service.company(new_company()));
    let mut named = Vec::new();
    for number in 0..20 {
        let name = format!("Calm {number}");
        named.push((calm.clone().affiliate(&name).await, name));
    }
    let ids: Vec<i64> = join_all((0..20).map(|number| {
        let mut stormy = stormy.clone();
        async move { stormy.affiliate(&format!("Before {number}")).await }
    }))
    .await;
    let (over, reads, left) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    let storm = async {
        let started = AtomicUsize::new(0);
        let caller = |_| async {
            loop {
                let number = started.fetch_add(1, Ordering::Relaxed);
                if number >= CALLS {
                    return;
                }
                let stay = Duration::from_micros(rand::rng().random_range(0..6000));
                if timeout(stay, call(stormy.clone(), &ids, number)).await.is_err() {
                    left.fetch_add(1, Ordering::Relaxed);
                }
            }
        };
        join_all((0..24).map(caller)).await;
        over.store(true, Ordering::Relaxed);
    };
    let watch = join_all((0..4).map(|watcher| {
        let (named, over, reads) = (&named, &over, &reads);
        let mut calm = calm.clone();
        async move {
            for number in watcher.. {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                let (id, name) = &named[number % named.len()];
                let read = calm.affiliates.get_affiliate(GetAffiliateRequest { id: *id, as_of: None }).await;
                assert_eq!(read.unwrap().into_inner().distributor_name(), name);
                let list = calm.urls.list_compliance_urls(ListComplianceUrlsRequest::default()).await.unwrap();
                assert_eq!(list.into_inner().urls, []);
                reads.fetch_add(2, Ordering::Relaxed);
            }
        }
    }));
    tokio::join!(storm, watch);
    let (reads, left) = (reads.into_inner(), left.into_inner());
    println!("{left} of {CALLS} calls abandoned; {reads} other reads correct");
    assert!(left > CALLS / 20 && reads > 0, "{left} {reads}");

    quiet(&mut observer).await;
    let open = "select count(*) from pg_stat_activity
        where datname = current_database() and application_name = 'affiliate-compliance'";
    // The server can be slow to notice closed connections.
    until("at most 10 connections are open", async || {
        sqlx::query_scalar::<_, i64>(open).fetch_one(&mut observer).await.unwrap() <= 10
    })
    .await;
    for _ in 0..5 {
        join_all(named.iter().map(|(id, name)| {
            let mut calm = calm.clone();
            async move {
                let read = calm.affiliates.get_affiliate(GetAffiliateRequest { id: *id, as_of: None }).await.unwrap();
                assert_eq!(read.into_inner().distributor_name(), name);
            }
        }))
        .await;
    }
}
