//! Tests that positions follow commit order, even if transactions stay open or roll back.

use std::{
    sync::atomic::{AtomicI64, AtomicUsize, Ordering},
    time::Duration,
};

use compliance_api::v1::ListChangesRequest;
use futures::future::join_all;
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use sqlx::AssertSqlSafe;
use test_support::{TestCore, activity, new_company};
use tokio::{task::yield_now, time::timeout};

use super::list;

/// Generous timeout for each step.
const SOON: Duration = Duration::from_mins(2);

/// Writers hold their transactions open until the reader has read again, and some of them roll back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_see_positions_without_gaps() {
    const WRITERS: usize = 8;
    const ROUNDS: usize = 30;
    let core = TestCore::start().await;
    let company = new_company();
    let (reads, written, ended) = (AtomicI64::new(0), AtomicI64::new(0), AtomicUsize::new(0));
    let write = async |writer: usize| {
        let mut random = StdRng::seed_from_u64(writer as u64);
        for round in 0..ROUNDS {
            let mut transaction = core.pool.begin().await.unwrap();
            let rows = random.random_range(1..=3);
            let insert = "insert into affiliates (company_id, client_affiliate_id, affiliate_name)
                select $1, $2, $2 || '-' || n from generate_series(1, $3) n";
            let insert = sqlx::query(insert).bind(company).bind(format!("{writer}-{round}")).bind(rows);
            insert.execute(&mut *transaction).await.unwrap();
            // The reader completes at least one read between the statement and its commit.
            let seen = reads.load(Ordering::SeqCst);
            while reads.load(Ordering::SeqCst) < seen + 2 {
                yield_now().await;
            }
            if random.random_range(0..4) == 0 {
                transaction.rollback().await.unwrap();
            } else {
                transaction.commit().await.unwrap();
                written.fetch_add(i64::from(rows), Ordering::SeqCst);
            }
        }
        ended.fetch_add(1, Ordering::SeqCst);
    };
    let read = async {
        let (mut clients, mut last) = (core.company(company), 0);
        loop {
            // Checked before the read, so the next page contains all committed changes.
            let have_ended = ended.load(Ordering::SeqCst) == WRITERS;
            let request = ListChangesRequest { after: Some(last), limit: Some(5), ..ListChangesRequest::default() };
            let page = list(&mut clients, request).await.unwrap();
            for change in &page.changes {
                assert_eq!(change.position, last + 1, "the reader skipped a position");
                last = change.position;
            }
            assert_eq!(page.position, last, "the page reports a position before its change");
            reads.fetch_add(1, Ordering::SeqCst);
            if have_ended && page.changes.is_empty() {
                return last;
            }
        }
    };
    let both = futures::future::join(join_all((0..WRITERS).map(write)), read);
    let (_, last) = timeout(SOON, both).await.unwrap();
    assert_eq!(last, written.load(Ordering::SeqCst));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn uncommitted_writes_delay_only_their_company() {
    let core = TestCore::start().await;
    let (company, other) = (new_company(), new_company());
    let mut held = core.pool.begin().await.unwrap();
    let insert = "insert into affiliates (company_id, client_affiliate_id, affiliate_name) values ($1, 'held', 'held')";
    sqlx::query(insert).bind(company).execute(&mut *held).await.unwrap();
    let (mut clients, mut reader, mut others) = (core.company(company), core.company(company), core.company(other));
    let behind = async {
        clients.affiliate("behind").await;
    };
    let watch = async {
        let waiting = format!(
            "select exists (select from {} where datname = current_database() and wait_event_type = 'Lock')",
            activity()
        );
        while !sqlx::query_scalar::<_, bool>(AssertSqlSafe(waiting.clone())).fetch_one(&core.pool).await.unwrap() {
            yield_now().await;
        }
        others.affiliate("other").await;
        let page =
            list(&mut reader, ListChangesRequest { after: Some(0), ..ListChangesRequest::default() }).await.unwrap();
        assert_eq!((page.changes.len(), page.last_position), (0, 0));
        held.commit().await.unwrap();
    };
    timeout(SOON, futures::future::join(behind, watch)).await.unwrap();
    let changes = super::all(&mut reader, 0, 10).await;
    let names: Vec<_> = changes.iter().map(|change| (change.position, change.request_id.is_some())).collect();
    assert_eq!(names, [(1, false), (2, false)]);
    assert_eq!(super::all(&mut others, 0, 10).await.len(), 1);
}
