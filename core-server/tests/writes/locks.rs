//! Tests that locked rows delay only their own companies, for any number of companies and any kind of write.

use std::{
    pin::pin,
    sync::Mutex,
    time::{Duration, Instant},
};

use compliance_api::v1::{
    AddComplianceUrlsRequest, AffiliateInput, AffiliateUpdate, BatchCreateAffiliatesRequest,
    BatchUpdateAffiliatesRequest, CreateAffiliateRequest, GetAffiliateRequest, ResultCode, UpdateAffiliateRequest,
    UrlInput,
};
use futures::{
    FutureExt as _,
    future::{LocalBoxFuture, join_all},
};
use sqlx::{Connection as _, PgConnection};
use test_support::{GrpcClients, TestCore, fresh_database, new_company};
use tokio::time::{sleep, timeout};
use tonic::Status;

/// Timeout for each step that does not wait for a locked row.
const SOON: Duration = Duration::from_mins(1);
const CONNECTIONS: u32 = 16;
/// Consecutive calls by each unaffected company, enough to keep the first calls out of the p99.
const ROUNDS: usize = 120;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_companies_with_stuck_writes_delay_no_others() {
    nobody_else_waits(20, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_companies_with_stuck_batches_delay_no_others() {
    nobody_else_waits(20, true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a long test: tools/scripts/test-long runs it"]
async fn sixty_companies_with_stuck_writes_delay_no_others() {
    nobody_else_waits(60, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a long test: tools/scripts/test-long runs it"]
async fn sixty_companies_with_stuck_batches_delay_no_others() {
    nobody_else_waits(60, true).await;
}

/// PostgreSQL can report the end of a lock wait as a cancellation.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancelled_lock_waits_are_retried() {
    const CANCELLED: i64 = 20;
    let core = TestCore::over(fresh_database().await.options, CONNECTIONS).await;
    let company = new_company();
    let clients = core.company(company);
    let mut lock = core.pool.begin().await.unwrap();
    let held =
        "insert into compliance_urls (company_id, url, url_hash) values ($1, 'https://example.org/held', 'held')";
    sqlx::query(held).bind(company).execute(&mut *lock).await.unwrap();
    let writes = async { tokio::try_join!(add(clients.clone(), "one", 1), add(clients.clone(), "many", 1000)) };
    let mut writes = pin!(writes);
    let cancel = "with waiting as materialized (
            select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
        )
        select count(*) from waiting where pg_cancel_backend(pid)";
    let cancelling = async {
        let mut cancelled = 0;
        while cancelled < CANCELLED {
            cancelled += sqlx::query_scalar::<_, i64>(cancel).fetch_one(&core.pool).await.unwrap();
            sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        ended = &mut writes => panic!("a write ended although its counts are locked: {ended:?}"),
        () = cancelling => {}
    }
    lock.rollback().await.unwrap();
    timeout(SOON, writes).await.expect("a write is still waiting").unwrap();
}

fn city(id: i64, city: &str) -> AffiliateUpdate {
    let affiliate = Some(AffiliateInput { city: Some(city.to_owned()), ..AffiliateInput::default() });
    AffiliateUpdate { id: Some(id), affiliate, update_mask: None, etag: String::new() }
}

fn named(name: String) -> AffiliateInput {
    AffiliateInput {
        client_affiliate_id: Some("C".to_owned()),
        affiliate_name: Some(name),
        ..AffiliateInput::default()
    }
}

async fn update(mut clients: GrpcClients, id: i64, text: &str) -> Result<(), Status> {
    clients.affiliates.update_affiliate(UpdateAffiliateRequest { update: Some(city(id, text)) }).await.map(|_| ())
}

async fn update_many(mut clients: GrpcClients, ids: &[i64], text: &str) -> Result<(), Status> {
    let affiliates = ids.iter().map(|id| city(*id, text)).collect();
    let request = BatchUpdateAffiliatesRequest { anchor_id: None, affiliates, validate_only: false };
    let results = clients.affiliates.batch_update_affiliates(request).await?.into_inner().results;
    assert!(results.iter().all(|result| result.code() == ResultCode::Saved), "{results:?}");
    Ok(())
}

async fn add(mut clients: GrpcClients, name: &str, count: usize) -> Result<(), Status> {
    let urls = (0..count).map(|number| UrlInput { url: Some(format!("https://example.org/{name}/{number}")) });
    let request = AddComplianceUrlsRequest { urls: urls.collect(), validate_only: false };
    let results = clients.urls.add_compliance_urls(request).await?.into_inner().results;
    assert!(results.iter().all(|result| result.code() == ResultCode::Saved), "{results:?}");
    Ok(())
}

async fn create_many(mut clients: GrpcClients, names: impl Iterator<Item = String>) -> Vec<i64> {
    let request = BatchCreateAffiliatesRequest { affiliates: names.map(named).collect(), validate_only: false };
    let created = clients.affiliates.batch_create_affiliates(request).await.unwrap().into_inner();
    created.results.iter().map(|result| result.affiliate_id.unwrap()).collect()
}

/// Makes an unaffected company's calls and records their durations.
async fn others(clients: &GrpcClients, id: i64, round: usize, times: &Mutex<[Vec<Duration>; 3]>) {
    let measure = async |kind: usize, call: &mut (dyn Future<Output = ()> + Unpin)| {
        let start = Instant::now();
        timeout(SOON, call).await.expect("another company waited");
        times.lock().unwrap()[kind].push(start.elapsed());
    };
    let read = async {
        let mut clients = clients.clone();
        clients.affiliates.get_affiliate(GetAffiliateRequest { id, as_of: None }).await.unwrap();
    };
    measure(0, &mut Box::pin(read)).await;
    let single = async {
        let mut creating = clients.clone();
        let affiliate = Some(named(format!("{round}")));
        creating.affiliates.create_affiliate(CreateAffiliateRequest { affiliate }).await.unwrap();
        update(clients.clone(), id, &format!("{round}")).await.unwrap();
        add(clients.clone(), &format!("{round}"), 1).await.unwrap();
    };
    let batches = async {
        create_many(clients.clone(), (0..5).map(|number| format!("{round} {number}"))).await;
        add(clients.clone(), &format!("{round} b").replace(' ', "-"), 20).await.unwrap();
    };
    // These calls run concurrently, so a single write can collide with its company's batch.
    let (mut single, mut batches) = (Box::pin(single), Box::pin(batches));
    futures::join!(measure(1, &mut single), measure(2, &mut batches));
}

/// Returns the median, the 99th percentile and the maximum for each kind of call, in milliseconds.
async fn measured(core: &TestCore, rounds: usize) -> [(f64, f64, f64); 3] {
    let times = Mutex::default();
    join_all((0..4).map(async |_| {
        let clients = core.company(new_company());
        let id = create_many(clients.clone(), ["N".to_owned()].into_iter()).await[0];
        for round in 0..rounds {
            others(&clients, id, round, &times).await;
        }
    }))
    .await;
    times.into_inner().unwrap().map(|mut times| {
        times.sort();
        let at = |part: usize| times[(times.len() * part / 100).min(times.len() - 1)].as_secs_f64() * 1e3;
        (at(50), at(99), at(100))
    })
}

/// Counts service connections that have waited for a lock for longer than a shared statement does.
async fn long_waits(core: &TestCore) -> i64 {
    lock_waits(core, 0.15).await
}

/// Counts service connections that have waited for a lock for more than `seconds`.
async fn lock_waits(core: &TestCore, seconds: f64) -> i64 {
    let waiting = "select count(distinct pid) from pg_locks join pg_stat_activity using (pid)
        where datname = current_database() and usename <> current_user and not granted
            and clock_timestamp() - waitstart > make_interval(secs => $1)";
    sqlx::query_scalar(waiting).bind(seconds).fetch_one(&core.pool).await.unwrap()
}

async fn nobody_else_waits(companies: usize, with_batches: bool) {
    let database = fresh_database().await;
    let core = TestCore::over(database.options.clone(), CONNECTIONS).await;
    let quiet = measured(&core, ROUNDS).await;

    let mut stuck = Vec::new();
    for _ in 0..companies {
        let company = new_company();
        let names = (0..4).map(|number| format!("N{number}"));
        stuck.push((company, create_many(core.company(company), names).await));
    }
    let numbers: Vec<i64> = stuck.iter().map(|(company, _)| *company).collect();
    let mut other = PgConnection::connect_with(&database.options).await.unwrap();
    let mut transaction = other.begin().await.unwrap();
    sqlx::query("select from affiliates where company_id = any($1) order by company_id, id for update")
        .bind(&numbers)
        .fetch_all(&mut *transaction)
        .await
        .unwrap();
    let counts = "insert into compliance_urls (company_id, url, url_hash)
            select company, 'https://example.org/held', 'held' from unnest($1::bigint[]) company";
    sqlx::query(counts).bind(&numbers).execute(&mut *transaction).await.unwrap();

    let mut waiting: Vec<LocalBoxFuture<'_, ()>> = Vec::new();
    for (company, ids) in &stuck {
        let clients = core.company(*company);
        waiting.push(update(clients.clone(), ids[0], "single").map(Result::unwrap).boxed_local());
        for number in 0..if with_batches { 3 } else { 0 } {
            let clients = clients.clone();
            waiting.push(Box::pin(async move {
                let text = format!("batch{number}");
                let updated = update_many(clients.clone(), &ids[1..], &text);
                let (updated, added) = futures::join!(updated, add(clients, &text, 20));
                updated.and(added).unwrap();
            }));
        }
    }
    let watch = async {
        let mut most = 0;
        loop {
            most = most.max(long_waits(&core).await);
            assert!(most <= i64::from(CONNECTIONS / 4), "{most} connections wait");
            sleep(Duration::from_millis(10)).await;
        }
    };
    let others = async {
        // Other companies can be affected only while the writes wait for the locks.
        while lock_waits(&core, 0.0).await == 0 {
            sleep(Duration::from_millis(5)).await;
        }
        let during = tokio::select! {
            during = measured(&core, ROUNDS) => during,
            () = watch => unreachable!("the watch never ends"),
        };
        transaction.commit().await.unwrap();
        (during, Instant::now())
    };
    let (ended, (during, committed)) = futures::join!(timeout(3 * SOON, join_all(waiting)), others);
    ended.expect("a write is still waiting");
    for ((kind, quiet), during) in ["reads", "single writes", "short batches"].iter().zip(quiet).zip(during) {
        println!(
            "{companies} companies wait, batches {with_batches}: {kind} p50 {:.1} -> {:.1} ms, p99 {:.1} -> {:.1} ms, \
             slowest {:.1} -> {:.1} ms",
            quiet.0, during.0, quiet.1, during.1, quiet.2, during.2
        );
    }
    println!("{companies} companies wait, batches {with_batches}: all written {:?} after commit", committed.elapsed());
    let updated: i64 =
        sqlx::query_scalar("select count(*) from affiliates where company_id = any($1) and city is not null")
            .bind(&numbers)
            .fetch_one(&core.pool)
            .await
            .unwrap();
    assert_eq!(updated as usize, companies * if with_batches { 4 } else { 1 });
    let urls: i64 = sqlx::query_scalar("select count(*) from compliance_urls where company_id = any($1)")
        .bind(&numbers)
        .fetch_one(&core.pool)
        .await
        .unwrap();
    assert_eq!(urls as usize, companies * if with_batches { 61 } else { 1 });
}
