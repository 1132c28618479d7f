//! Tests observation streams.

use std::time::Duration;

use compliance_api::{
    error::Error,
    token::SCOPE_MONITOR,
    v1::{Reason, StreamUrlObservationsRequest, UrlObservation},
};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Code;

use test_support::{TestCore, now, token_with_scope};

use super::builders::{observation, some};

fn chunk(chunk: usize, items: usize) -> StreamUrlObservationsRequest {
    let mut observations: Vec<UrlObservation> =
        (0..items).map(|item| observation(&format!("https://example.org/{chunk}/{item}"))).collect();
    observations.push(UrlObservation { note: some(&chunk.to_string()), ..observation("https://example.org/shared") });
    observations.push(observation("nothing"));
    StreamUrlObservationsRequest { observations }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chunks_are_acknowledged_in_order() {
    let service = TestCore::start().await;
    let mut company = service.company(1);
    let chunks = tokio_stream::iter((0..20).map(|number| chunk(number, 50)));
    let mut acknowledgements = company.monitoring.stream_url_observations(chunks).await.unwrap().into_inner();
    let mut seen = std::collections::HashSet::new();
    let mut shared = None;
    for number in 0..20 {
        let results = acknowledgements.message().await.unwrap().unwrap().results;
        assert_eq!(results.len(), 52);
        assert!(results[..50].iter().all(|result| result.created && seen.insert(result.url_id)));
        assert_eq!((results[50].created, results[51].code), (number == 0, 1021));
        shared = results[50].url_id;
    }
    assert_eq!(acknowledgements.message().await.unwrap(), None);
    // If several chunks contain the same URL, the last one wins.
    assert_eq!(company.url(shared.unwrap()).await.note.as_deref(), Some("19"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unread_acknowledgements_throttle_the_client() {
    let service = TestCore::start().await;
    let mut company = service.company(1);
    let (sender, chunks) = mpsc::channel(1);
    let stream = company.monitoring.stream_url_observations(ReceiverStream::new(chunks)).await.unwrap();
    let mut sent = 0;
    while tokio::time::timeout(Duration::from_millis(500), sender.send(chunk(sent, 1000))).await.is_ok() {
        sent += 1;
    }
    // One chunk fits in each stage, and one in the transport.
    assert!(sent < 10, "{sent}");
    let mut acknowledgements = stream.into_inner();
    for _ in 0..sent {
        acknowledgements.message().await.unwrap().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acknowledged_chunks_survive_a_client_disconnect() {
    let service = TestCore::start().await;
    let mut company = service.company(1);
    let (sender, chunks) = mpsc::channel(1);
    let mut acknowledgements =
        company.monitoring.stream_url_observations(ReceiverStream::new(chunks)).await.unwrap().into_inner();
    sender.send(chunk(0, 5)).await.unwrap();
    acknowledgements.message().await.unwrap().unwrap();
    drop(acknowledgements);
    tokio::time::timeout(Duration::from_mins(1), sender.closed()).await.unwrap();
    let count: i64 = sqlx::query_scalar("select count(*) from compliance_urls").fetch_one(&service.pool).await.unwrap();
    assert_eq!(count, 6);
}

/// The chunk waits for a lock over several attempts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_chunks_are_dropped_after_a_disconnect() {
    let service = TestCore::start().await;
    let mut company = service.company(1);
    let mut transaction = service.pool.begin().await.unwrap();
    let counts =
        "insert into compliance_urls (company_id, url, url_hash) values (1, 'https://example.org/held', 'held')";
    sqlx::query(counts).execute(&mut *transaction).await.unwrap();
    let (sender, chunks) = mpsc::channel(1);
    sender.send(chunk(0, 5)).await.unwrap();
    let stream = company.monitoring.stream_url_observations(ReceiverStream::new(chunks)).await.unwrap();
    let count = async |sql| sqlx::query_scalar::<_, i64>(sql).fetch_one(&service.pool).await.unwrap();
    let until = async |sql, met: fn(i64) -> bool| {
        let wait = async {
            while !met(count(sql).await) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_mins(1), wait).await.expect("timed out waiting for the condition");
    };
    let waiting = "select count(*) from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'";
    until(waiting, |waiting| waiting > 0).await;
    drop((sender, stream));
    // The core cancels the statement and does not send another.
    until(waiting, |waiting| waiting == 0).await;
    transaction.rollback().await.unwrap();
    let active = "select count(*) from pg_stat_activity
        where datname = current_database() and usename <> current_user and state <> 'idle'";
    until(active, |active| active == 0).await;
    assert_eq!(count("select count(*) from compliance_urls").await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_end_when_their_token_expires() {
    let service = TestCore::start().await;
    // The core must save the first chunk before the token expires. A busy machine needs a longer lifetime.
    for seconds in [2, 8, 32, 128] {
        let expiry = now() + seconds;
        let mut company = service.clients(&token_with_scope(1, Some(SCOPE_MONITOR), seconds));
        let (sender, chunks) = mpsc::channel(2);
        let opened = company.monitoring.stream_url_observations(ReceiverStream::new(chunks)).await;
        let Ok(mut acknowledgements) = opened.map(tonic::Response::into_inner) else { continue };
        sender.send(chunk(0, 1)).await.unwrap();
        if acknowledgements.message().await.is_err() {
            continue;
        }
        while now() <= expiry {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        sender.send(chunk(1, 1)).await.unwrap();
        let status = acknowledgements.message().await.unwrap_err();
        assert_eq!(status.code(), Code::Unauthenticated);
        assert_eq!(Error::from(&status).reason, Reason::TokenExpired);
        return;
    }
    panic!("no chunk was saved before its token expired");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn oversized_chunks_end_the_stream() {
    let service = TestCore::start().await;
    let mut company = service.company(1);
    let chunks = tokio_stream::iter([chunk(0, 1), chunk(1, 10_000), chunk(2, 1)]);
    let mut acknowledgements = company.monitoring.stream_url_observations(chunks).await.unwrap().into_inner();
    acknowledgements.message().await.unwrap().unwrap();
    assert_eq!(acknowledgements.message().await.unwrap_err().code(), Code::InvalidArgument);
}
