//! Runs one interleaving.

use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use load_test::workload::LoadRequest;
use sqlx::{AssertSqlSafe, PgConnection};
use tokio::task::JoinHandle;

use super::{
    model,
    plan::{Leave, Plan, Wait},
    world::{OLD, World},
};
use crate::{
    calls::{self, Via},
    programs::token_of,
    witness::written,
};

/// Maximum wait on a busy machine.
const PATIENCE: Duration = Duration::from_mins(2);
/// Number of companies that hold permits.
const OTHERS: i64 = 6;

/// How an interleaving ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// OLD's caller disconnected, and the service acknowledged NEW.
    Left,
    /// The service acknowledged OLD before its caller disconnected.
    Acknowledged,
    /// The service never received OLD.
    NotReceived,
    /// The service noticed the end of the call only after NEW.
    NoticedLate,
    /// The service rejected NEW, for example because it had written OLD before the caller disconnected.
    NewRefused,
}

impl Ended {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Left => "disconnected",
            Self::Acknowledged => "acknowledged before",
            Self::NotReceived => "not received",
            Self::NoticedLate => "noticed late",
            Self::NewRefused => "NEW refused",
        }
    }
}

type Writing = (i64, LoadRequest, JoinHandle<anyhow::Result<()>>);

pub(super) async fn run(world: &World, connection: &mut PgConnection, plan: &Plan) -> anyhow::Result<Ended> {
    let ended = tokio::time::timeout(PATIENCE, interleave(world, connection, plan)).await;
    ended.context("the interleaving timed out")?
}

async fn interleave(world: &World, connection: &mut PgConnection, plan: &Plan) -> anyhow::Result<Ended> {
    let token = token_of(plan.company);
    let mut acknowledged = Vec::new();
    lock(connection, plan).await?;

    // Make OLD wait.
    let mut own = Vec::new();
    match plan.wait {
        Wait::Batches | Wait::LongBatches => {
            for index in 0..2 {
                own.push(start(world, plan.side, false, plan.company, plan.own_batch(index)));
            }
        }
        Wait::Permits => {
            for company in others(plan) {
                let update = LoadRequest::Update { id: company * 100, notes: format!("other-{}", plan.number) };
                own.push(start(world, plan.side, false, company, update));
            }
        }
        Wait::Rows | Wait::Advisory => {}
    }
    if matches!(plan.wait, Wait::Batches | Wait::Permits) {
        blocked(connection, plan).await?;
    }

    let old = plan.like_old("old", 0);
    let id = format!("{OLD}{}", plan.number);
    let mut calling = {
        let (token, id, old, plan) = (token.clone(), id.clone(), old.clone(), plan.clone());
        let sides = if plan.leave == Leave::Timeout { &world.impatient } else { &world.sides };
        let side = sides[plan.side].clone();
        tokio::spawn(async move { calls::write(&side, plan.leave.via(), &token, &id, &old).await })
    };
    if matches!(plan.wait, Wait::Rows | Wait::Advisory) {
        blocked(connection, plan).await?;
    }
    pause(5 + plan.pauses[0]).await;
    if plan.wait == Wait::Permits {
        // From now on, OLD waits only for a permit.
        sqlx::raw_sql("rollback to row").execute(&mut *connection).await?;
    }
    if !matches!(plan.leave, Leave::Deadline(_) | Leave::Timeout) {
        calling.abort();
    }
    let answered = (&mut calling).await.unwrap_or_else(|_| bail!("the caller disconnected")).is_ok();
    let ended = if answered { None } else { world.ended(&id).await };
    let mut result = if answered { Ended::Acknowledged } else { Ended::Left };
    if answered {
        acknowledged.extend(noted(plan.company, &old));
    } else if ended.is_none() {
        result = Ended::NotReceived;
    }

    // The service cancels a running statement of OLD. Until then, the statement could take effect before or after NEW.
    while matches!(plan.wait, Wait::Rows | Wait::Advisory) && is_blocked(connection, plan).await? {
        pause(5).await;
    }

    // Send the competing write.
    let new = plan.new_write();
    let other = &world.sides[1 - plan.side];
    let mut rival = start(world, 1 - plan.side, plan.grpc, plan.company, new.clone());
    if plan.blocks_new() {
        pause(plan.pauses[1]).await;
        sqlx::raw_sql("rollback").execute(&mut *connection).await?;
    }
    let saved = (&mut rival.2).await?;
    let mut finals = Vec::new();
    match saved {
        Ok(()) => {
            acknowledged.extend(noted(plan.company, &new));
            if let LoadRequest::Update { notes, .. } | LoadRequest::BatchUpdate { notes, .. } = &new {
                let read = calls::notes(other, &token, plan.id(0)).await?;
                // OLD may have been in flight, as the model allows.
                let old = format!("old-{}", plan.number);
                ensure!(read == *notes || read == old, "acknowledged {notes}, but read {read}");
                let ids: &[i64] = if let LoadRequest::BatchUpdate { ids, .. } = &new { ids } else { &[plan.id(0)] };
                finals.extend(ids.iter().map(|id| (*id, notes.clone())));
            }
        }
        Err(_) => result = Ended::NewRefused,
    }

    // End the wait.
    pause(plan.pauses[2]).await;
    sqlx::raw_sql("rollback").execute(&mut *connection).await?;
    // This write follows OLD in the queue.
    own.push(start(world, plan.side, false, plan.company, plan.like_old("fence", 30)));
    for (company, request, writing) in own {
        if writing.await?.is_ok() {
            acknowledged.extend(noted(company, &request));
        }
    }
    // On a busy machine, a core may notice the disconnect only after NEW. OLD can then follow NEW.
    let in_core = if answered { None } else { world.ended_in_core(&id) };
    if in_core.is_some() && in_core != ended {
        finals.clear();
        result = Ended::NoticedLate;
    }
    model::keep(connection, plan, in_core.or(ended), &acknowledged, &finals).await?;
    Ok(result)
}

fn start(world: &World, side: usize, is_grpc: bool, company: i64, request: LoadRequest) -> Writing {
    let (side, sent, via) = (world.sides[side].clone(), request.clone(), if is_grpc { Via::Grpc } else { Via::Rest });
    let write = async move { calls::write(&side, via, &token_of(company), "other", &sent).await };
    (company, request, tokio::spawn(write))
}

async fn pause(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

/// Returns the companies whose writes hold the permits.
fn others(plan: &Plan) -> impl Iterator<Item = i64> {
    let first = 100_000_000 + plan.number as i64 * OTHERS;
    first..first + OTHERS
}

/// Creates the records of an interleaving, and takes the locks in a transaction that stays open.
async fn lock(connection: &mut PgConnection, plan: &Plan) -> Result<(), sqlx::Error> {
    let company = plan.company;
    let records = |companies: &[i64], last: i64| {
        format!(
            "insert into affiliates (company_id, id, client_affiliate_id, affiliate_name)
             select c, c * 100 + n, 'given', 'given ' || n from unnest(array{companies:?}::bigint[]) c, generate_series(0, {last}) n;"
        )
    };
    let key = |name: &str, id: i64| {
        if plan.kind.is_url() {
            format!(
                "insert into compliance_urls (company_id, id, url, url_hash)
                 values ({company}, {id}, '{name}', sha256('{name}'));"
            )
        } else {
            format!(
                "insert into affiliates (company_id, id, client_affiliate_id, affiliate_name) values ({company}, {id}, 'x', '{name}');"
            )
        }
    };
    let row =
        |index| format!("select from affiliates where company_id = {company} and id = {} for update;", plan.id(index));
    let first = if plan.shared { "shared" } else { "old" };
    let own = || if plan.kind.is_update() { row(0) } else { key(&plan.key(first, 0), plan.id(90)) };
    let mut statements = records(&[company], 40);
    let locks = match plan.wait {
        Wait::Batches if plan.kind.is_update() => row(10) + &row(15),
        Wait::Batches => key(&plan.blocker(0), plan.id(91)) + &key(&plan.blocker(1), plan.id(92)),
        Wait::LongBatches => String::new(),
        Wait::Rows => own(),
        Wait::Advisory => format!("select pg_advisory_xact_lock({});", advisory(plan)),
        Wait::Permits => {
            let others: Vec<i64> = others(plan).collect();
            statements += &records(&others, 0);
            format!("select from affiliates where company_id = any (array{others:?}) for update; savepoint row;")
                + &own()
        }
    };
    // Statements sent together with `begin` would be part of the transaction.
    for statements in [statements, format!("begin; {locks}")] {
        sqlx::raw_sql(AssertSqlSafe(statements)).execute(&mut *connection).await?;
    }
    Ok(())
}

/// Returns the number of the advisory lock for URL counts, or for updates in order.
fn advisory(plan: &Plan) -> i64 {
    plan.company << 2 | if plan.kind.is_url() { 1 } else { 3 }
}

/// Waits briefly until a statement waits for the transaction's locks. The statement may first wait for a permit.
async fn blocked(connection: &mut PgConnection, plan: &Plan) -> Result<(), sqlx::Error> {
    for _ in 0..40 {
        if is_blocked(connection, plan).await? {
            return Ok(());
        }
        pause(5).await;
    }
    Ok(())
}

/// Returns whether a statement waits for the transaction's locks.
async fn is_blocked(connection: &mut PgConnection, plan: &Plan) -> Result<bool, sqlx::Error> {
    let waiting = "select exists (
        select from pg_locks where not granted
            and (locktype = 'transactionid' and transactionid in (
                select l.transactionid from pg_locks l where l.granted and l.pid = pg_backend_pid() and l.transactionid is not null)
            or locktype = 'advisory' and (classid::bigint << 32 | objid::bigint) = $1))";
    sqlx::query_scalar(waiting).bind(advisory(plan)).fetch_one(connection).await
}

/// Returns the company, key and value of each item of an acknowledged write.
fn noted(company: i64, request: &LoadRequest) -> impl Iterator<Item = (i64, String, String)> {
    written(request).into_iter().map(move |(key, value)| (company, key, value))
}
