//! Tests callers that disconnect before their write's statement begins. Nothing is written, whatever the write waits for.

use std::time::Duration;

use compliance_api::v1::{
    AddComplianceUrlsRequest, AffiliateInput, AffiliateUpdate, BatchCreateAffiliatesRequest,
    BatchUpdateAffiliatesRequest, CreateAffiliateRequest, UpdateAffiliateRequest, UrlInput,
};
use futures::{StreamExt as _, future::LocalBoxFuture, stream::FuturesUnordered};
use sqlx::{Connection as _, PgConnection};
use test_support::{GrpcClients, Proxy, TestCore, fresh_database, new_company};
use tokio::time::{sleep, timeout};
use tonic::{Code, Request, Status};

/// Generous timeout for each step.
const SOON: Duration = Duration::from_mins(1);
/// Time for a call to start waiting. Also the deadline of callers that disconnect at their deadline. If this time is too short, callers
/// disconnect earlier, and still nothing is written.
pub(super) const A_WHILE: Duration = Duration::from_millis(300);

pub(super) type Call = LocalBoxFuture<'static, Result<(), Status>>;

/// Every kind of write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    UpdateOne,
    UpdateMany,
    /// Items that depend on each other.
    UpdateInOrder,
    CreateOne,
    CreateMany,
    /// Enough items for `COPY`.
    CreateByCopy,
    AddFew,
    AddMany,
}

const KINDS: [Kind; 8] = [
    Kind::UpdateOne,
    Kind::UpdateMany,
    Kind::UpdateInOrder,
    Kind::CreateOne,
    Kind::CreateMany,
    Kind::CreateByCopy,
    Kind::AddFew,
    Kind::AddMany,
];

/// How a caller disconnects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leaves {
    /// Its stream is reset or its connection is lost.
    Goes,
    AtItsDeadline,
}

fn request<T>(message: T, deadline: Option<Duration>) -> Request<T> {
    let mut request = Request::new(message);
    if let Some(deadline) = deadline {
        request.set_timeout(deadline);
    }
    request
}

fn named(name: String) -> AffiliateInput {
    AffiliateInput {
        client_affiliate_id: Some("C".to_owned()),
        affiliate_name: Some(name),
        ..AffiliateInput::default()
    }
}

fn city(id: i64, city: &str) -> AffiliateUpdate {
    let affiliate = Some(AffiliateInput { city: Some(city.to_owned()), ..AffiliateInput::default() });
    AffiliateUpdate { id: Some(id), affiliate, update_mask: None, etag: String::new() }
}

impl Kind {
    /// Writes records that contain `mark`. Updates change `ids`.
    pub(super) fn write(self, mut clients: GrpcClients, ids: [i64; 2], mark: &str, deadline: Option<Duration>) -> Call {
        let mark = mark.to_owned();
        Box::pin(async move {
            match self {
                Self::UpdateOne => {
                    let update = UpdateAffiliateRequest { update: Some(city(ids[0], &mark)) };
                    clients.affiliates.update_affiliate(request(update, deadline)).await.map(|_| ())
                }
                Self::UpdateMany | Self::UpdateInOrder => {
                    let ids = if self == Self::UpdateMany { ids } else { [ids[0]; 2] };
                    let affiliates = ids.map(|id| city(id, &mark)).to_vec();
                    let update = BatchUpdateAffiliatesRequest { anchor_id: None, affiliates, validate_only: false };
                    clients.affiliates.batch_update_affiliates(request(update, deadline)).await.map(|_| ())
                }
                Self::CreateOne => {
                    let create = CreateAffiliateRequest { affiliate: Some(named(mark)) };
                    clients.affiliates.create_affiliate(request(create, deadline)).await.map(|_| ())
                }
                Self::CreateMany | Self::CreateByCopy => {
                    let count = if self == Self::CreateMany { 2 } else { 500 };
                    let affiliates = (0..count).map(|number| named(format!("{mark} {number}"))).collect();
                    let create = BatchCreateAffiliatesRequest { affiliates, validate_only: false };
                    clients.affiliates.batch_create_affiliates(request(create, deadline)).await.map(|_| ())
                }
                Self::AddFew | Self::AddMany => {
                    let count = if self == Self::AddFew { 1 } else { 20 };
                    let url = |number| format!("https://example.org/{mark}/{number}").replace(' ', "-");
                    let urls = (0..count).map(|number| UrlInput { url: Some(url(number)) }).collect();
                    let add = AddComplianceUrlsRequest { urls, validate_only: false };
                    clients.urls.add_compliance_urls(request(add, deadline)).await.map(|_| ())
                }
            }
        })
    }

    /// Returns the kind of batch that this kind of write waits for.
    fn batch(self) -> Self {
        match self {
            Self::UpdateOne | Self::UpdateMany | Self::UpdateInOrder => Self::UpdateMany,
            Self::CreateOne | Self::CreateMany => Self::CreateMany,
            Self::CreateByCopy => Self::CreateByCopy,
            Self::AddFew | Self::AddMany => Self::AddMany,
        }
    }
}

/// Creates a company with four affiliates.
pub(super) async fn company(core: &TestCore) -> (i64, GrpcClients, [i64; 4]) {
    let company = new_company();
    let clients = core.company(company);
    let mut affiliates = clients.affiliates.clone();
    let names = (0..4).map(|number| named(format!("N{number}"))).collect();
    let created = affiliates
        .batch_create_affiliates(BatchCreateAffiliatesRequest { affiliates: names, validate_only: false })
        .await
        .unwrap();
    let ids: Vec<i64> = created.into_inner().results.iter().filter_map(|result| result.affiliate_id).collect();
    (company, clients, ids.try_into().unwrap())
}

/// Locks each company's records: its first two affiliates, the names that begin with "held", and its URLs.
async fn lock(transaction: &mut PgConnection, companies: &[i64]) {
    sqlx::query(
        "select from affiliates where company_id = any($1) and affiliate_name in ('N0', 'N1') order by id for update",
    )
    .bind(companies)
    .fetch_all(&mut *transaction)
    .await
    .unwrap();
    sqlx::query(
        "insert into affiliates (company_id, client_affiliate_id, affiliate_name)
            select company, 'C', name from unnest($1::bigint[]) company, unnest(array['held 0', 'held']) name",
    )
    .bind(companies)
    .execute(&mut *transaction)
    .await
    .unwrap();
    sqlx::query(
        "insert into compliance_urls (company_id, url, url_hash)
            select company, 'https://example.org/held', 'held' from unnest($1::bigint[]) company",
    )
    .bind(companies)
    .execute(&mut *transaction)
    .await
    .unwrap();
}

/// Returns the number of connections that wait for a lock.
pub(super) async fn lock_waits(core: &TestCore) -> i64 {
    let waiting = "select count(*) from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'";
    sqlx::query_scalar(waiting).fetch_one(&core.pool).await.unwrap()
}

pub(super) async fn until<F: Future<Output = bool>>(condition: impl Fn() -> F) {
    let met = async {
        while !condition().await {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(SOON, met).await.expect("timed out waiting for the condition");
}

/// Waits until the service runs no statement.
pub(super) async fn until_idle(core: &TestCore) {
    let active = "select count(*) from pg_stat_activity
        where datname = current_database() and usename <> current_user and state <> 'idle'";
    until(|| async { sqlx::query_scalar::<_, i64>(active).fetch_one(&core.pool).await.unwrap() == 0 }).await;
}

/// Waits for a future while the calls continue.
async fn during<T>(calls: &mut FuturesUnordered<Call>, wait: impl Future<Output = T>) -> T {
    tokio::pin!(wait);
    loop {
        tokio::select! {
            biased;
            done = &mut wait => return done,
            Some(ended) = calls.next() => ended.unwrap(),
        }
    }
}

async fn all_end(mut calls: FuturesUnordered<Call>) {
    let ended = async {
        while let Some(ended) = calls.next().await {
            ended.unwrap();
        }
    };
    timeout(SOON, ended).await.expect("a write is still waiting");
}

/// Waits until all statements that currently wait for a lock have ended. The core can retry a shared statement for other callers.
async fn until_run_again(core: &TestCore) {
    let now = "select extract(epoch from clock_timestamp())::float8";
    let since: f64 = sqlx::query_scalar(now).fetch_one(&core.pool).await.unwrap();
    let older = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
        and query_start <= to_timestamp($1)";
    until(|| async { sqlx::query_scalar::<_, i64>(older).bind(since).fetch_one(&core.pool).await.unwrap() == 0 }).await;
}

/// Returns the number of records with a mark.
pub(super) async fn marked(core: &TestCore, mark: &str) -> i64 {
    let count = "select (select count(*) from affiliates where affiliate_name like $1 or city = $2)
        + (select count(*) from compliance_urls where url like '%/' || $2 || '/%')";
    sqlx::query_scalar(count).bind(format!("{mark}%")).bind(mark).fetch_one(&core.pool).await.unwrap()
}

/// Lets a call wait and then abandons it.
async fn leave(call: Call, leaves: Leaves, kind: Kind) {
    match leaves {
        Leaves::Goes => assert!(timeout(A_WHILE, call).await.is_err(), "{kind:?} did not wait"),
        Leaves::AtItsDeadline => assert_eq!(call.await.unwrap_err().code(), Code::DeadlineExceeded),
    }
}

impl Leaves {
    fn deadline(self) -> Option<Duration> {
        (self == Self::AtItsDeadline).then_some(A_WHILE)
    }
}

/// Two batches wait for a lock, so the company's other writes wait behind them. One caller disconnects. A second caller, whose write could
/// share the statement, stays connected.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn abandoned_writes_in_the_company_queue_are_dropped() {
    let database = fresh_database().await;
    let core = TestCore::over(database.options.clone(), 16).await;
    let mut other = PgConnection::connect_with(&database.options).await.unwrap();
    for leaves in [Leaves::Goes, Leaves::AtItsDeadline] {
        for kind in KINDS {
            let (company, clients, ids) = company(&core).await;
            let mut transaction = other.begin().await.unwrap();
            lock(&mut transaction, &[company]).await;
            let mut stay = FuturesUnordered::new();
            for _ in 0..2 {
                stay.push(kind.batch().write(clients.clone(), [ids[0], ids[1]], "held", None));
            }
            during(&mut stay, until(|| async { lock_waits(&core).await > 0 })).await;
            let free = [ids[2], ids[3]];
            let left = kind.write(clients.clone(), free, "left", leaves.deadline());
            stay.push(kind.write(clients.clone(), [ids[3], ids[2]], "stays", None));
            during(&mut stay, leave(left, leaves, kind)).await;
            transaction.commit().await.unwrap();
            all_end(stay).await;
            until_idle(&core).await;
            assert_eq!(marked(&core, "left").await, 0, "{kind:?} {leaves:?}");
            assert!(marked(&core, "stays").await > 0, "{kind:?} {leaves:?}");
            sqlx::raw_sql("update affiliates set city = null").execute(&core.pool).await.unwrap();
            sqlx::raw_sql("update affiliates set affiliate_name = 'old ' || id where affiliate_name like 'stays%'")
                .execute(&core.pool)
                .await
                .unwrap();
            sqlx::raw_sql("delete from compliance_urls").execute(&core.pool).await.unwrap();
        }
    }
}

/// More companies wait for locks than the core allows at a time. One of them abandons its write.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn abandoned_writes_behind_locks_are_dropped() {
    let database = fresh_database().await;
    let core = TestCore::over(database.options.clone(), 8).await;
    let mut other = PgConnection::connect_with(&database.options).await.unwrap();
    for leaves in [Leaves::Goes, Leaves::AtItsDeadline] {
        for kind in KINDS {
            let mut companies = Vec::new();
            for _ in 0..6 {
                companies.push(company(&core).await);
            }
            let numbers: Vec<i64> = companies.iter().map(|(number, ..)| *number).collect();
            let mut transaction = other.begin().await.unwrap();
            lock(&mut transaction, &numbers).await;
            let mut stay = FuturesUnordered::new();
            let (_, clients, ids) = companies.pop().unwrap();
            for (_, clients, ids) in companies {
                stay.push(kind.write(clients, [ids[0], ids[1]], "held", None));
            }
            during(&mut stay, until(|| async { lock_waits(&core).await > 0 })).await;
            // Creates wait only for locked names, which begin with "held".
            let creates = matches!(kind, Kind::CreateOne | Kind::CreateMany | Kind::CreateByCopy);
            let mark = if creates { "held" } else { "left" };
            let left = kind.write(clients.clone(), [ids[0], ids[1]], mark, leaves.deadline());
            stay.push(kind.write(clients.clone(), [ids[1], ids[0]], "stays", None));
            during(&mut stay, leave(left, leaves, kind)).await;
            // On a busy machine, the core can send the statement once more before it notices that the caller has disconnected.
            for _ in 0..2 {
                during(&mut stay, until_run_again(&core)).await;
            }
            transaction.rollback().await.unwrap();
            all_end(stay).await;
            until_idle(&core).await;
            let held = "select count(*) from affiliates where affiliate_name like 'held%' and company_id = $1";
            let held: i64 = sqlx::query_scalar(held).bind(numbers.last()).fetch_one(&core.pool).await.unwrap();
            assert_eq!((marked(&core, "left").await, held), (0, 0), "{kind:?} {leaves:?}");
        }
    }
}

/// The only available connection waits for the database's response.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn abandoned_writes_without_a_connection_are_dropped() {
    let database = fresh_database().await;
    let proxy = Proxy::postgresql(database.socket);
    // Requests use one of these connections.
    let core = TestCore::over(database.options.clone().socket(proxy.folder()), 3).await;
    let direct = TestCore::over(database.options.clone(), 3).await;
    for leaves in [Leaves::Goes, Leaves::AtItsDeadline] {
        for kind in KINDS {
            let (_, clients, ids) = company(&core).await;
            let free = core.company(new_company());
            let held = proxy.hold().await;
            // A different kind of write, in a different queue.
            let first = if kind.batch() == Kind::AddMany { Kind::CreateMany } else { Kind::AddMany };
            let mut stay = FuturesUnordered::new();
            stay.push(first.write(free, [ids[0], ids[1]], "first", None));
            during(&mut stay, sleep(A_WHILE / 3)).await;
            let left = kind.write(clients.clone(), [ids[0], ids[1]], "left", leaves.deadline());
            stay.push(kind.write(clients.clone(), [ids[2], ids[3]], "stays", None));
            during(&mut stay, leave(left, leaves, kind)).await;
            drop(held);
            all_end(stay).await;
            until_idle(&direct).await;
            assert_eq!(marked(&direct, "left").await, 0, "{kind:?} {leaves:?}");
        }
    }
}

/// The core also keeps the connection open, so the connection is free immediately.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn abandoned_statements_are_never_sent() {
    let database = fresh_database().await;
    let proxy = Proxy::postgresql(database.socket);
    // Requests use one of these connections.
    let core = TestCore::over(database.options.socket(proxy.folder()), 3).await;
    let (_, clients, ids) = company(&core).await;
    let connections = proxy.connections();
    let held = proxy.hold().await;
    let other = core.company(new_company());
    let mut stay = FuturesUnordered::from_iter([Kind::AddMany.write(other.clone(), [0; 2], "first", None)]);
    during(&mut stay, sleep(A_WHILE / 3)).await;
    let left = Kind::UpdateOne.write(clients, [ids[0], ids[1]], "left", None);
    during(&mut stay, leave(left, Leaves::Goes, Kind::UpdateOne)).await;
    drop(held);
    all_end(stay).await;
    // This write uses the connection after the abandoned write.
    Kind::AddMany.write(other, [0; 2], "last", None).await.unwrap();
    assert_eq!(proxy.connections(), connections, "the core closed an unused connection");
    assert_eq!(marked(&core, "left").await, 0);
}

/// Two of a company's writes share a statement that waits for a lock. When the core retries the statement, it
/// excludes disconnected callers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn retried_statements_exclude_disconnected_callers() {
    let database = fresh_database().await;
    let core = TestCore::over(database.options.clone(), 8).await;
    let mut other = PgConnection::connect_with(&database.options).await.unwrap();
    for leaves in [Leaves::Goes, Leaves::AtItsDeadline] {
        let (company, clients, ids) = company(&core).await;
        let mut transaction = other.begin().await.unwrap();
        lock(&mut transaction, &[company]).await;
        let mut stay =
            FuturesUnordered::from_iter([Kind::UpdateOne.write(clients.clone(), [ids[0], ids[1]], "stays", None)]);
        let left = Kind::UpdateOne.write(clients.clone(), [ids[1], ids[0]], "left", leaves.deadline());
        during(&mut stay, leave(left, leaves, Kind::UpdateOne)).await;
        during(&mut stay, until_run_again(&core)).await;
        transaction.commit().await.unwrap();
        all_end(stay).await;
        until_idle(&core).await;
        assert_eq!(marked(&core, "left").await, 0, "{leaves:?}");
        sqlx::raw_sql("update affiliates set city = null").execute(&core.pool).await.unwrap();
    }
}
