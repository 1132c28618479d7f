//! Waiting requests and slow readers hold no permits that other requests need.

use std::{io::Cursor, thread::available_parallelism, time::Duration};

use async_compression::{Level, tokio::bufread::GzipEncoder};
use futures::future::{join_all, select_all};
use rest_gateway::Settings;
use sqlx::AssertSqlSafe;
use test_support::{Options, RestClient, TestService, activity, new_company, token};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::{JoinHandle, JoinSet},
    time::{Instant, sleep, timeout},
};

use super::pages::add_urls;

const SOON: Duration = Duration::from_mins(1);
/// Number of bytes a slow reader reads at a time. Larger than a record.
const LITTLE: usize = 1_300_000;
const SELDOM: Duration = Duration::from_secs(3);

/// Reads a large page, `little` bytes at a time, or stalls if `little` is 0.
async fn read_slowly(rest: RestClient, little: usize) {
    let mut response = rest.request("GET", "/urls").send().await.unwrap();
    assert_eq!(response.status(), 200);
    if little == 0 {
        return std::future::pending().await;
    }
    let mut taken = 0;
    while let Ok(Some(chunk)) = response.chunk().await {
        taken += chunk.len();
        if taken >= little {
            sleep(SELDOM).await;
            taken = 0;
        }
    }
}

/// Waits until `count` statements wait for their readers.
async fn wait_for_readers(service: &TestService, count: i64) {
    let waiting = format!(
        "select count(*) from {} where datname = current_database() and state = 'active' and wait_event = 'ClientWrite'",
        activity()
    );
    let deadline = Instant::now() + SOON;
    while sqlx::query_scalar::<_, i64>(AssertSqlSafe(&*waiting)).fetch_one(&service.pool).await.unwrap() < count {
        assert!(Instant::now() < deadline, "fewer than {count} pages wait for their readers");
        sleep(Duration::from_millis(5)).await;
    }
}

/// A company whose large pages wait for each other can still read small pages.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a long test: tools/scripts/test-long runs it"]
async fn waiting_pages_do_not_block_small_pages() {
    let service = TestService::start().await;
    let company = new_company();
    add_urls(&service, company, 40).await;
    let rest = service.rest(company);
    let readers = [(); 2].map(|()| tokio::spawn(read_slowly(rest.clone(), 0)));
    wait_for_readers(&service, 2).await;
    let waiting = (0..12).map(|_| {
        let rest = rest.clone();
        tokio::spawn(async move { rest.get("/urls").await.status })
    });
    let mut waiting = select_all(waiting);
    // Read the small pages concurrently. After 30 seconds, a stalled reader loses its permit.
    let small = join_all((0..40).map(|_| async { assert_eq!(rest.get("/urls?per_page=1").await.status, 200) }));
    tokio::select! {
        _ = small => {}
        (ended, ..) = &mut waiting => panic!("a large page ended before the small pages: {ended:?}"),
    }
    for reader in readers {
        reader.abort();
    }
}

/// Slow readers of large pages yield their permits to other companies.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a long test: tools/scripts/test-long runs it"]
async fn slow_readers_yield_to_other_companies() {
    let service = TestService::start().await;
    let (slow, other) = ([new_company(), new_company()], new_company());
    for company in slow {
        add_urls(&service, company, 60).await;
    }
    add_urls(&service, other, 12).await;
    // A company holds at most two of the three permits.
    let mut readers = JoinSet::new();
    for (company, count) in [(slow[0], 1), (slow[0], 2), (slow[1], 3)] {
        readers.spawn(read_slowly(service.rest(company), LITTLE));
        wait_for_readers(&service, count).await;
    }
    let page = timeout(SOON, service.rest(other).get("/urls")).await.unwrap();
    assert_eq!(page.with_status(200)["data"].as_array().unwrap().len(), 12);
}

/// Decompression holds memory and waits for a permit. Large requests hold a permit and wait for memory.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_and_requests_do_not_deadlock() {
    // Debug builds are too slow to decompress more.
    const PART: usize = 256 << 10;
    let service = TestService::with(Options { request_memory: 64 * PART, ..Options::default() }).await;
    let company = new_company();
    let rest = service.rest(company);

    let mut body = Vec::new();
    let spaces = vec![b' '; 25 * PART];
    GzipEncoder::with_quality(Cursor::new(&spaces), Level::Precise(0)).read_to_end(&mut body).await.unwrap();
    let (first, rest_of_body) = body.split_at(24 * PART);
    let mut inflated = TcpStream::connect(service.rest).await.unwrap();
    let head = format!(
        "POST /api/urls HTTP/1.1\r\nhost: h\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\n\
        content-encoding: gzip\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        token(company),
        body.len()
    );
    inflated.write_all(head.as_bytes()).await.unwrap();
    inflated.write_all(first).await.unwrap();
    let body = |number: usize| format!(r#"{{"urls":[{{"url":"https://{number}.example/"}}]}}{}"#, " ".repeat(3 * PART));
    let deadline = Instant::now() + SOON;
    while service.memory.reserved() < 23 * PART {
        assert!(Instant::now() < deadline, "timed out waiting for decompression");
        sleep(Duration::from_millis(20)).await;
    }
    let requests = (1..=2).map(|number| {
        let (rest, body) = (rest.clone(), body(number));
        tokio::spawn(async move {
            loop {
                let start = Instant::now();
                let status = rest.post("/urls", body.clone()).await.status;
                // The service rejects a late request immediately, and a request that waits for memory after five seconds.
                if status != 429 || start.elapsed() > Duration::from_secs(4) {
                    return status;
                }
                sleep(Duration::from_millis(50)).await;
            }
        })
    });
    let requests: Vec<_> = requests.collect();
    // Another company has its own share of memory, so its request succeeds while the others wait.
    service.rest(new_company()).post("/urls", body(3)).await.with_status(201);
    assert!(!requests.iter().any(JoinHandle::is_finished), "a request did not wait for memory");
    inflated.write_all(rest_of_body).await.unwrap();
    let mut refused = String::new();
    inflated.read_to_string(&mut refused).await.unwrap();
    assert!(refused.starts_with("HTTP/1.1 4"), "{refused}");
    for status in join_all(requests).await {
        assert_eq!(status.unwrap(), 201);
    }
}

/// Companies whose large batches wait in the database leave permits for other companies.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn blocked_companies_leave_permits_for_others() {
    const LONG: Duration = Duration::from_secs(6);
    let timeouts = Duration::from_mins(5);
    let settings = Settings { request_timeout: timeouts, ..Settings::default() };
    let service = TestService::with(Options { settings, call_timeout: timeouts, ..Options::default() }).await;
    let cores = available_parallelism().map_or(1, usize::from);
    let stuck: Vec<i64> = (0..10).map(|_| new_company()).collect();
    let mut lock = service.pool.begin().await.unwrap();
    let counts = "insert into compliance_urls (company_id, url, url_hash)
        select company, 'https://example.org/held', 'held' from unnest($1::bigint[]) company";
    sqlx::query(counts).bind(&stuck).execute(&mut *lock).await.unwrap();
    let urls = |number: usize| {
        let urls: Vec<String> =
            (0..1000).map(|url| format!(r#"{{"url":"https://h{number}.example/{url}"}}"#)).collect();
        format!(r#"{{"urls":[{}]}}"#, urls.join(","))
    };
    let batches = stuck.iter().flat_map(|company| (0..cores).map(|number| (*company, number)));
    let batches = batches.map(|(company, number)| {
        let (rest, urls) = (service.rest_remote(company), urls(number));
        tokio::spawn(async move { rest.post("/urls", urls).await.status })
    });
    let mut stuck = select_all(batches);
    let other = service.rest_remote(new_company());
    let started = Instant::now();
    let others = async {
        for number in 0.. {
            let added = timeout(SOON, other.post("/urls", urls(number))).await.expect("the batch timed out");
            assert_eq!(
                added.status,
                201,
                "batch {number} from the other company after {:?}: {}",
                started.elapsed(),
                added.text
            );
            if started.elapsed() > LONG {
                break;
            }
        }
    };
    tokio::select! {
        () = others => {}
        (ended, ..) = &mut stuck => {
            panic!("a batch ended after {:?} while its counts were locked: {ended:?}", started.elapsed())
        }
    }
    lock.rollback().await.unwrap();
    let (status, _, rest) = stuck.await;
    for status in std::iter::once(status).chain(join_all(rest).await) {
        assert_eq!(status.unwrap(), 201);
    }
}
