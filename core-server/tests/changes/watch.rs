//! Tests change watches with slow, late and many readers.

use std::time::Duration;

use compliance_api::v1::{WatchChangesRequest, WatchChangesResponse};
use futures::{FutureExt as _, StreamExt as _, future::join_all, stream};
use sqlx::{AssertSqlSafe, PgPool};
use test_support::{GrpcClients, TestCore, new_company, reason_of};
use tokio::time::{Instant, sleep, timeout};
use tonic::{Code, Status, Streaming};

const PATIENCE: Duration = Duration::from_mins(1);

async fn watch(clients: &GrpcClients, after: i64, types: &[&str]) -> Result<Streaming<WatchChangesResponse>, Status> {
    let types = types.iter().map(|&kind| kind.to_owned()).collect();
    let request = WatchChangesRequest { after: Some(after), types };
    Ok(clients.changes.clone().watch_changes(request).await?.into_inner())
}

/// Starts a watch and retries while the service is busy, as clients do.
async fn watch_patiently(clients: &GrpcClients) -> Result<Streaming<WatchChangesResponse>, Status> {
    let start = Instant::now();
    loop {
        match watch(clients, 0, &[]).await {
            Err(status) if status.code() == Code::Unavailable && start.elapsed() < PATIENCE => {
                sleep(Duration::from_secs(1)).await;
            }
            begun => return begun,
        }
    }
}

async fn next(watch: &mut Streaming<WatchChangesResponse>) -> Result<WatchChangesResponse, Status> {
    let message = timeout(PATIENCE, watch.message()).await.expect("timed out waiting for a message")?;
    Ok(message.expect("the watch ended"))
}

/// Adds unique URLs with long texts.
async fn add(pool: &PgPool, company: i64, first: i64, count: i64) {
    let statement = format!(
        "insert into compliance_urls (company_id, url, url_hash, note)
        select {company}, 'https://a.example/' || n, sha256(n::text::bytea), repeat('x', 200)
        from generate_series({first}, {first} + {count} - 1) n"
    );
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(pool).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fast_and_slow_readers_see_every_change_once() {
    const WRITERS: i64 = 4;
    const COMMITS: i64 = 12;
    let core = TestCore::start().await;
    let (company, other) = (new_company(), new_company());
    let clients = core.company(company);
    let sizes = |writer: i64| (0..COMMITS).map(move |number| [1, 3, 1, 900, 1, 40][(writer + number) as usize % 6]);
    let total: i64 = (0..WRITERS).flat_map(sizes).sum();
    let writing = (0..WRITERS).map(|writer| {
        let pool = &core.pool;
        async move {
            let mut first = writer * 1_000_000;
            for size in sizes(writer) {
                add(pool, company, first, size).await;
                first += size;
                add(pool, other, first, 1).await;
            }
        }
    });
    // For each reader, the number of messages between pauses, and the pause in milliseconds.
    let readers = [(u32::MAX, 0), (40, 30), (15, 300), (60, 700)];
    let reading = readers.map(|(messages, pause)| {
        let clients = &clients;
        async move {
            let (mut watch, mut seen, mut read) = (watch(clients, 0, &[]).await.unwrap(), 0, 0);
            while seen < total {
                let page = next(&mut watch).await.unwrap().page.unwrap();
                for change in page.changes {
                    assert_eq!(change.position, seen + 1, "reader with pauses of {pause} ms");
                    seen = change.position;
                }
                assert_eq!(page.position, seen);
                read += 1;
                if read % messages == 0 {
                    sleep(Duration::from_millis(pause)).await;
                }
            }
        }
    });
    tokio::join!(join_all(writing), join_all(reading));
    // A late reader first catches up alone.
    let mut late = watch(&clients, 5, &["url"]).await.unwrap();
    let mut seen = 5;
    while seen < total {
        let page = next(&mut late).await.unwrap().page.unwrap();
        seen += page.changes.len() as i64;
        assert_eq!(page.position, seen);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stalled_readers_are_disconnected_and_hold_no_memory() {
    let core = TestCore::start().await;
    let company = new_company();
    let mut watches = Vec::new();
    for _ in 0..20 {
        let mut watch = watch(&core.company(company), 0, &[]).await.unwrap();
        next(&mut watch).await.unwrap();
        watches.push(watch);
    }
    let memory = core.core.memory();
    add(&core.pool, company, 1, 2000).await;
    let start = Instant::now();
    while memory.reserved() == 0 {
        assert!(start.elapsed() < PATIENCE, "the core did not read a page");
        sleep(Duration::from_millis(1)).await;
    }
    while memory.reserved() > 0 {
        assert!(start.elapsed() < PATIENCE, "stalled readers still hold {} bytes", memory.reserved());
        sleep(Duration::from_millis(10)).await;
    }
    // Sleeps longer than the service waits for a client. Per client, the service keeps at most one message, requested in advance.
    sleep(Duration::from_secs(12)).await;
    for watch in &mut watches {
        let mut messages = 0;
        let ended = loop {
            match next(watch).await {
                Ok(_) => messages += 1,
                Err(status) => break status,
            }
        };
        assert!(messages <= 1, "the core kept {messages} messages");
        assert_eq!((ended.code(), &*reason_of(&ended)), (Code::ResourceExhausted, "RATE_LIMITED"), "{ended:?}");
    }
    // A reader that reconnects has missed nothing.
    let mut watch = watch(&core.company(company), 0, &[]).await.unwrap();
    let mut positions = Vec::new();
    while positions.len() < 2000 {
        positions.extend(next(&mut watch).await.unwrap().page.unwrap().changes.iter().map(|change| change.position));
    }
    assert_eq!(positions, (1..=2000).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_changes_reserve_memory_until_sent() {
    const BYTES: usize = 1 << 20;
    const READERS: usize = 4;
    let core = TestCore::start().await;
    let (company, memory) = (new_company(), core.core.memory());
    let mut watches = Vec::new();
    for _ in 0..READERS {
        let mut watch = watch(&core.company(company), 0, &[]).await.unwrap();
        next(&mut watch).await.unwrap();
        watches.push(watch);
    }
    let statement = format!(
        "insert into compliance_urls (company_id, url, url_hash, transcription_text)
        values ({company}, 'https://a.example/', sha256('a'), repeat('x', {BYTES}))"
    );
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(&core.pool).await.unwrap();
    let wait_for = async |is_reached: fn(usize) -> bool| {
        let start = Instant::now();
        while !is_reached(memory.reserved()) {
            assert!(start.elapsed() < PATIENCE, "{} bytes are reserved", memory.reserved());
            sleep(Duration::from_millis(1)).await;
        }
    };
    // Each reader needs its own memory in addition to the shared page.
    wait_for(|held| held >= READERS * BYTES * 2).await;
    for watch in &mut watches {
        assert_eq!(next(watch).await.unwrap().page.unwrap().position, 1);
        assert!(watch.message().now_or_never().is_none());
    }
    wait_for(|held| held == 0).await;
}

/// Simulates the manual removal of a company's changes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watches_end_when_positions_restart() {
    let core = TestCore::start().await;
    let company = new_company();
    add(&core.pool, company, 1, 5).await;
    let mut watch = watch(&core.company(company), 0, &[]).await.unwrap();
    assert_eq!(next(&mut watch).await.unwrap().page.unwrap().position, 5);
    // The core first notices a position from before the removal.
    add(&core.pool, company, 6, 1).await;
    assert_eq!(next(&mut watch).await.unwrap().page.unwrap().position, 6);
    let remove = format!(
        "delete from changes where company_id = {company}; delete from change_positions where company_id = {company}"
    );
    sqlx::raw_sql(AssertSqlSafe(remove)).execute(&core.pool).await.unwrap();
    add(&core.pool, company, 7, 1).await;
    let ended = next(&mut watch).await.unwrap_err();
    assert_eq!((ended.code(), &*reason_of(&ended)), (Code::OutOfRange, "POSITION_GONE"), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watch_limit_applies_per_company() {
    let core = TestCore::start().await;
    let most = core_server::limits::WATCHERS_OF_A_COMPANY;
    let (company, other) = (core.company(new_company()), core.company(new_company()));
    // Opens all watches at once, as after a restart: more than the company's limit for other concurrent calls.
    let open = stream::iter(0..most).map(|_| watch_patiently(&company)).buffer_unordered(most);
    let read = open.map(|watch| {
        let mut watch = watch.unwrap();
        tokio::spawn(async move { while watch.message().await.is_ok() {} })
    });
    let watches: Vec<_> = read.collect().await;
    let refused = watch(&company, 0, &[]).await.unwrap_err();
    assert_eq!((refused.code(), &*reason_of(&refused)), (Code::ResourceExhausted, "RATE_LIMITED"), "{refused:?}");
    assert_eq!(refused.message(), format!("The company has reached its limit for open watches: {most}."));
    watch(&other, 0, &[]).await.unwrap();
    watches[0].abort();
    let start = Instant::now();
    while watch(&company, 0, &[]).await.is_err() {
        assert!(start.elapsed() < PATIENCE, "an ended watch still counts towards the limit");
        sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watches_end_at_their_deadline() {
    let core = TestCore::start().await;
    let mut request = tonic::Request::new(WatchChangesRequest::default());
    request.metadata_mut().insert("grpc-timeout", "2S".parse().unwrap());
    let mut clients = core.company(new_company());
    let mut watch = clients.changes.watch_changes(request).await.unwrap().into_inner();
    next(&mut watch).await.unwrap();
    assert_eq!(next(&mut watch).await.unwrap_err().code(), Code::DeadlineExceeded);
}
