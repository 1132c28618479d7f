//! Memory use under requests that try to exhaust memory.

use std::time::{Duration, Instant};

use compliance_api::error::{Error, Reason};
use sqlx::PgPool;
use test_support::{RestClient, ServerProcess, fresh_database, new_company, token};

use super::{
    encoded::{ADD_URLS, CREATE, empty_items, refused},
    records::{self, add_transcripts},
};
use crate::described::calls::Core;

/// Maximum process memory growth, in KiB.
const MOST_KIB: u64 = 512 << 10;
/// Maximum duration of a health check on a busy machine.
const HEALTH_TIME: Duration = Duration::from_mins(1);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a long test: tools/scripts/test-long runs it"]
async fn request_bodies_use_bounded_memory() {
    let database = fresh_database().await;
    let server = ServerProcess::start(&database.url);
    let (company, others) = (new_company(), [new_company(), new_company()]);
    let [rest, remote] = server.clients(company);
    assert_eq!(rest.get("/urls").await.status, 200);
    let objects = |list: &str, items: usize| format!(r#"{{"{list}":[{}{{}}]}}"#, "{},".repeat(items - 1)).into_bytes();
    let notes = format!(r#"{{"notes":"{}"}}"#, "x".repeat(3000));
    let notes = format!(r#"{{"affiliates":[{}]}}"#, vec![notes; 6000].join(",")).into_bytes();
    for (client, name) in [(&rest, "in-process core"), (&remote, "remote core")] {
        for (attack, body) in [
            ("533,000 objects", objects("affiliates", 533_000)),
            ("100,000 objects", objects("affiliates", 100_000)),
            ("18 MB of notes", notes.clone()),
        ] {
            measure(&server, &rest, &format!("{name}: {attack}"), 8, async |number| {
                // Three companies make the calls. Together, their shares exceed the total memory.
                let token = token([company, others[0], others[1]][number % 3]);
                let answer = client.with_token(Some(token)).post("/affiliates", body.clone()).await;
                assert!([422, 429, 503].contains(&answer.status), "{}", answer.status);
            })
            .await;
        }
    }
    let full = [Reason::InvalidFields, Reason::RateLimited, Reason::Overloaded, Reason::BodyTooLarge];
    for (attack, operation, message, reasons) in [
        ("4,000,000 items", ADD_URLS, empty_items(4_000_000), &full[..1]),
        ("100,000 items", CREATE, empty_items(100_000), &full),
        ("60 MB", CREATE, [&[0x0a, 0x80, 0x80, 0x80, 0x1c][..], &vec![0x20; 0x0380_0000]].concat(), &full),
    ] {
        measure(&server, &rest, &format!("gRPC: {attack}"), 8, async |number| {
            let token = token([company, others[0], others[1]][number % 3]);
            let core = Core::connect(server.grpc()).await;
            let status = refused(&core, operation, &token, message.clone()).await;
            assert!(reasons.contains(&Error::from(&status).reason), "{status:?}");
        })
        .await;
    }
}

/// Many callers concurrently read 4 MiB records.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a long test: tools/scripts/test-long runs it"]
async fn large_records_use_bounded_memory() {
    let database = fresh_database().await;
    let server = ServerProcess::start(&database.url);
    let company = new_company();
    let [rest, remote] = server.clients(company);
    assert_eq!(rest.get("/urls").await.status, 200);
    let pool = PgPool::connect_with(database.options.clone()).await.unwrap();
    add_transcripts(&pool, company, 20).await;
    let callers = 200;
    for (client, name) in [(&rest, "in-process core"), (&remote, "remote core")] {
        let name = format!("{name}: {callers} reads of 4 MiB");
        measure(&server, &rest, &name, callers, async |number| {
            let read = records::read(client, (number % 20 + 1) as i64).await;
            let transcript = read["data"]["transcription_text"].as_str().unwrap();
            assert_eq!(transcript.len(), records::CHARACTER.len_utf8() * records::TRANSCRIPT as usize);
        })
        .await;
    }
}

/// Checks memory growth and health check latency during concurrent calls.
async fn measure(server: &ServerProcess, health: &RestClient, name: &str, calls: usize, call: impl AsyncFn(usize)) {
    server.reset_peak();
    let before = server.peak_memory();
    let calls = futures::future::join_all((0..calls).map(|number| call(number)));
    let mut longest = Duration::ZERO;
    let health = async {
        loop {
            let started = Instant::now();
            assert_eq!(health.request_to("GET", "/livez").send().await.unwrap().status(), 200);
            longest = longest.max(started.elapsed());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::select! {
        _ = calls => {}
        () = health => {}
    }
    let grown = server.peak_memory() - before;
    println!("{name}: the process grew by {} MiB, health checks took up to {longest:?}", grown >> 10);
    assert!(grown < MOST_KIB, "{name}: the process grew by {grown} KiB");
    assert!(longest < HEALTH_TIME, "{name}: a health check took {longest:?}");
}
