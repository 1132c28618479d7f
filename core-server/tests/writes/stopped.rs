//! Tests callers that disconnect while the process is stopped. The resumed process starts no work for them.

use std::{net::SocketAddr, sync::mpsc, thread};

use compliance_api::v1::{
    AffiliateInput, AffiliateUpdate, BatchUpdateAffiliatesRequest, DeleteWebhookRequest, RotateWebhookSecretRequest,
    UpdateWebhookRequest, WebhookInput,
};
use futures::join;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, postgres::PgConnectOptions};
use test_support::{GrpcClients, Proxy, TestCore, TestDatabase, fresh_database, new_company, token};
use tokio::{net::TcpListener, runtime::Builder, sync::oneshot, time::sleep};
use tokio_util::sync::CancellationToken;

use super::abandoned::{A_WHILE, Call, Kind, company, lock_waits, marked, until, until_idle};

/// A core on its own thread that can be stopped like a process. Dropping the result of `stop` resumes the core.
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

/// When the process resumes, it sees the database's response and the closed connection at the same time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn resumed_process_starts_no_abandoned_work() {
    let database = fresh_database().await;
    let direct = TestCore::over(database.options.clone(), 4).await;
    let mut other = PgConnection::connect_with(&database.options).await.unwrap();
    let core = StoppableCore::over(database.options.clone(), 16).await;
    let proxy = Proxy::tcp(core.address).await;

    // A transaction with several statements, which waits for a lock.
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
        // Longer than the first attempts wait for a lock.
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
    assert_eq!(marked(&direct, "left").await, 0, "the transaction continued");

    // A single write.
    let add = |mark| -> Make { Box::new(move |clients| Kind::AddFew.write(clients, [0; 2], mark, None)) };
    let update = |ids, mark| -> Make { Box::new(move |clients| Kind::UpdateOne.write(clients, ids, mark, None)) };
    let first_is_done = "select exists (select from compliance_urls where url like '%/first/%')".to_owned();
    let other = Caller { company: new_company(), ready: add("ready"), call: add("first") };
    let left = Caller { company, ready: update([ids[2], ids[3]], "ready"), call: update([ids[0], ids[1]], "left") };
    stop_while_waiting(&database, other, &first_is_done, left).await;
    assert_eq!(marked(&direct, "left").await, 0, "the statement began");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn resumed_process_changes_no_webhooks() {
    let database = fresh_database().await;
    let direct = TestCore::over(database.options.clone(), 4).await;
    for kind in ["update", "rotate", "delete"] {
        let (other, company) = (new_company(), new_company());
        // The webhooks are disabled, so no delivery needs the connection.
        let create = "insert into webhooks (company_id, id, url, types, secret, position, disabled_reason)
            select company, n, 'https://example.org/', '{}', 'whsec_AAAA', 0, 'disabled'
            from unnest($1::bigint[]) company cross join generate_series(1, 2) n";
        sqlx::query(create).bind([other, company]).execute(&direct.pool).await.unwrap();
        let first_is_done = format!(
            "select exists (select from webhooks where company_id = {other} and id = 1 and description is not null)"
        );
        let other = Caller { company: other, ready: change("update", 2), call: change("update", 1) };
        let left = Caller { company, ready: change(kind, 2), call: change(kind, 1) };
        stop_while_waiting(&database, other, &first_is_done, left).await;
        let unchanged = "select count(*) from webhooks
            where company_id = $1 and id = 1 and description is null and secret = 'whsec_AAAA'";
        let unchanged: i64 = sqlx::query_scalar(unchanged).bind(company).fetch_one(&direct.pool).await.unwrap();
        assert_eq!(unchanged, 1, "{kind}");
    }
}

/// Returns a call that updates, rotates or deletes a webhook.
fn change(kind: &'static str, id: i64) -> Make {
    Box::new(move |mut clients| {
        Box::pin(async move {
            let webhooks = &mut clients.webhooks;
            let webhook = WebhookInput { description: Some("changed".to_owned()), ..WebhookInput::default() };
            match kind {
                "update" => {
                    let request = UpdateWebhookRequest { id, webhook: Some(webhook) };
                    webhooks.update_webhook(request).await.map(drop)
                }
                "rotate" => webhooks.rotate_webhook_secret(RotateWebhookSecretRequest { id }).await.map(drop),
                _ => webhooks.delete_webhook(DeleteWebhookRequest { id }).await.map(drop),
            }
        })
    })
}

type Make = Box<dyn FnOnce(GrpcClients) -> Call>;

struct Caller {
    company: i64,
    /// Prepares the call's statement on the connection.
    ready: Make,
    call: Make,
}

/// Stops a process while `left` waits for the only connection, which `other` uses. The connection becomes free, `left` disconnects, and the
/// process resumes. All statements use the same lock timeout, so the core sets none between them.
async fn stop_while_waiting(database: &TestDatabase, other: Caller, other_is_done: &str, left: Caller) {
    let direct = TestCore::over(database.options.clone(), 4).await;
    let pg = Proxy::postgresql(database.socket.clone());
    let core = StoppableCore::over(database.options.clone().socket(pg.folder()), 3).await;
    let proxy = Proxy::tcp(core.address).await;
    let stays = GrpcClients::connect(core.address, &token(other.company)).await;
    let leaves = GrpcClients::connect(proxy.address(), &token(left.company)).await;
    (other.ready)(stays.clone()).await.unwrap();
    (left.ready)(leaves.clone()).await.unwrap();
    let held = pg.hold().await;
    let leave = async {
        sleep(A_WHILE).await;
        let resume = core.stop().await;
        drop(held);
        let is_done = || async {
            let other_is_done = AssertSqlSafe(other_is_done.to_owned());
            sqlx::query_scalar::<_, bool>(other_is_done).fetch_one(&direct.pool).await.unwrap()
        };
        until(is_done).await;
        until_idle(&direct).await;
        proxy.cut();
        resume
    };
    let stay = async {
        (other.call)(stays).await.unwrap();
    };
    let waiting = async {
        sleep(A_WHILE / 3).await;
        (left.call)(leaves).await.unwrap_err();
    };
    let leaving = async {
        let ((), resume) = join!(waiting, leave);
        drop(resume);
    };
    join!(stay, leaving);
    until_idle(&direct).await;
}

/// Takes the name "held", so other writers wait for it.
async fn lock_name(transaction: &mut PgConnection, company: i64) {
    let take = "insert into affiliates (company_id, client_affiliate_id, affiliate_name) values ($1, 'C', 'held')";
    sqlx::query(take).bind(company).execute(transaction).await.unwrap();
}
