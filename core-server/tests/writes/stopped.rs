//! Callers that disconnect while the service's process is stopped: nothing begins for them when the process continues.

use std::{net::SocketAddr, sync::mpsc, thread};

use compliance_api::v1::{AffiliateInput, AffiliateUpdate, BatchUpdateAffiliatesRequest};
use futures::join;
use sqlx::{Connection as _, PgConnection, postgres::PgConnectOptions};
use test_support::{GrpcClients, Proxy, TestCore, fresh_database, new_company, token};
use tokio::{net::TcpListener, runtime::Builder, sync::oneshot, time::sleep};
use tokio_util::sync::CancellationToken;

use super::abandoned::{A_WHILE, Kind, company, lock_waits, marked, until, until_idle};

/// A core with its own thread, which can be stopped like a process, until `resume` is dropped.
struct StoppableCore {
    address: SocketAddr,
    stop: tokio::sync::mpsc::UnboundedSender<(oneshot::Sender<()>, mpsc::Receiver<()>)>,
}

impl StoppableCore {
    async fn over(database: PgConnectOptions, connections: u32) -> Self {
        let (ready, address) = oneshot::channel();
        let (stop, mut stops) = tokio::sync::mpsc::unbounded_channel::<(oneshot::Sender<()>, mpsc::Receiver<()>)>();
        thread::spawn(move || {
            Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
                let core = TestCore::over(database, connections).await.core;
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                ready.send(listener.local_addr().unwrap()).unwrap();
                tokio::spawn(async move { core.serve(listener, CancellationToken::new()).await });
                while let Some((stopped, resume)) = stops.recv().await {
                    stopped.send(()).unwrap();
                    let _ = resume.recv();
                }
            });
        });
        Self { address: address.await.unwrap(), stop }
    }

    async fn stop(&self) -> mpsc::Sender<()> {
        let ((stopped, is_stopped), (resume, resumed)) = (oneshot::channel(), mpsc::channel());
        self.stop.send((stopped, resumed)).unwrap();
        is_stopped.await.unwrap();
        resume
    }
}

/// When the process continues, the database's response and the end of the caller's connection are available at the same time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_begins_in_a_process_that_was_stopped_while_its_caller_left() {
    let database = fresh_database().await;
    let direct = TestCore::over(database.options.clone(), 4).await;
    let mut other = PgConnection::connect_with(&database.options).await.unwrap();
    let core = StoppableCore::over(database.options.clone(), 16).await;
    let proxy = Proxy::tcp(core.address).await;

    // A transaction of several statements. The last one waits for a lock.
    let (company, _, ids) = company(&direct).await;
    let mut transaction = other.begin().await.unwrap();
    lock_name(&mut transaction, company).await;
    let mut clients = GrpcClients::connect(proxy.address(), &token(company)).await;
    let rename = AffiliateInput { affiliate_name: Some("held".to_owned()), ..AffiliateInput::default() };
    let updates = [rename, AffiliateInput { city: Some("left".to_owned()), ..AffiliateInput::default() }];
    let affiliates = updates
        .map(|update| AffiliateUpdate {
            id: Some(ids[0]),
            affiliate: Some(update),
            update_mask: None,
            etag: String::new(),
        })
        .to_vec();
    let update = BatchUpdateAffiliatesRequest { anchor_id: None, affiliates, validate_only: false };
    let leave = async {
        // Longer than the first tries wait for a lock.
        let waits = "select count(*) from pg_stat_activity where datname = current_database()
            and wait_event_type = 'Lock' and query_start < clock_timestamp() - interval '100 ms'";
        until(|| async { sqlx::query_scalar::<_, i64>(waits).fetch_one(&direct.pool).await.unwrap() > 0 }).await;
        let resume = core.stop().await;
        transaction.rollback().await.unwrap();
        until(|| async { lock_waits(&direct).await == 0 }).await;
        proxy.cut();
        resume
    };
    let (left, resume) = join!(clients.affiliates.batch_update_affiliates(update), leave);
    left.unwrap_err();
    drop(resume);
    until_idle(&direct).await;
    assert_eq!(marked(&direct, "left").await, 0, "the transaction went on");

    // A single write, which waits for the only connection.
    let pg = Proxy::postgresql(database.socket);
    let core = StoppableCore::over(database.options.clone().socket(pg.folder()), 3).await;
    let proxy = Proxy::tcp(core.address).await;
    let first = GrpcClients::connect(core.address, &token(new_company())).await;
    let left = GrpcClients::connect(proxy.address(), &token(company)).await;
    // The statements are prepared on the connection.
    Kind::AddFew.write(first.clone(), [0; 2], "ready", None).await.unwrap();
    Kind::UpdateOne.write(left.clone(), [ids[2], ids[3]], "ready", None).await.unwrap();
    let held = pg.hold().await;
    let leave = async {
        sleep(A_WHILE).await;
        let resume = core.stop().await;
        drop(held);
        until(|| async { marked(&direct, "first").await > 0 }).await;
        until_idle(&direct).await;
        proxy.cut();
        resume
    };
    let first = async {
        Kind::AddFew.write(first, [0; 2], "first", None).await.unwrap();
    };
    let left = async {
        sleep(A_WHILE / 3).await;
        Kind::UpdateOne.write(left, [ids[0], ids[1]], "left", None).await.unwrap_err();
    };
    let leaving = async {
        let ((), resume) = join!(left, leave);
        drop(resume);
    };
    join!(first, leaving);
    until_idle(&direct).await;
    assert_eq!(marked(&direct, "left").await, 0, "the statement began");
}

/// Takes the name "held", for which others wait.
async fn lock_name(transaction: &mut PgConnection, company: i64) {
    let take = "insert into affiliates (company_id, client_affiliate_id, affiliate_name) values ($1, 'C', 'held')";
    sqlx::query(take).bind(company).execute(transaction).await.unwrap();
}
