//! Models which values the witness table must and must not contain.

use std::{
    sync::Mutex,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use sqlx::PgConnection;
use tokio::time::sleep;

use super::plan::Plan;
use crate::witness::until_quiet;

/// Tables that record facts about interleavings.
pub(super) const SCHEMA: &str = "
create table interleavings (company_id bigint primary key, plan text not null, ended timestamptz);
create table acknowledged (company_id bigint not null, key text not null, value text not null);
create table finals (company_id bigint not null, id bigint not null, notes text not null);";

/// Allowed delay, in seconds, between the log line about the end of a call and the start of its last statement. The test adds
/// the measured delay of the run.
const SENT: f64 = 0.1;
/// Pause between two measured statements.
const PAUSE: Duration = Duration::from_millis(2);

/// Measures how late statements begin, in seconds, until dropped. On a busy machine, all statements begin late.
pub(super) async fn measure_lateness(connection: &mut PgConnection, latest: &Mutex<f64>) {
    loop {
        let start = SystemTime::now();
        sleep(PAUSE).await;
        let began = "select extract(epoch from statement_timestamp())::float8";
        let began: f64 = sqlx::query_scalar(began).fetch_one(&mut *connection).await.unwrap();
        let late = began - (start + PAUSE).duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
        let mut latest = latest.lock().unwrap();
        *latest = latest.max(late);
    }
}

/// Stores the outcome of an interleaving.
pub(super) async fn keep(
    connection: &mut PgConnection,
    plan: &Plan,
    ended: Option<f64>,
    acknowledged: &[(i64, String, String)],
    finals: &[(i64, String)],
) -> Result<(), sqlx::Error> {
    sqlx::query("insert into interleavings values ($1, $2, to_timestamp($3))")
        .bind(plan.company)
        .bind(format!("{plan:?}"))
        .bind(ended)
        .execute(&mut *connection)
        .await?;
    let companies: Vec<i64> = acknowledged.iter().map(|(company, ..)| *company).collect();
    let keys: Vec<&str> = acknowledged.iter().map(|(_, key, _)| key.as_str()).collect();
    let values: Vec<&str> = acknowledged.iter().map(|(.., value)| value.as_str()).collect();
    let keep = "insert into acknowledged select * from unnest($1::bigint[], $2::text[], $3::text[])";
    sqlx::query(keep).bind(companies).bind(keys).bind(values).execute(&mut *connection).await?;
    let (ids, notes): (Vec<i64>, Vec<String>) = finals.iter().cloned().unzip();
    let keep = "insert into finals select $1, * from unnest($2::bigint[], $3::text[])";
    sqlx::query(keep).bind(plan.company).bind(ids).bind(notes).execute(connection).await?;
    Ok(())
}

/// Selects all model violations.
const VIOLATIONS: &str = "
select 'began ' || round(extract(epoch from w.began - i.ended) * 1000) || ' ms after its caller had left: ' || min(w.key || ' ' || w.value)
    || ' (' || count(*) || ' rows): ' || i.plan
from interleavings i join witness w using (company_id)
where w.key || w.value like '%old-%' and w.began > i.ended + make_interval(secs => $1)
group by i.company_id, i.plan, w.began, i.ended
union all
select 'is ' || coalesce(a.notes, 'null') || ' instead of ' || f.notes || ': ' || i.plan
from finals f join affiliates a using (company_id, id) join interleavings i using (company_id)
where a.notes is distinct from f.notes and not exists (
    select from witness w
    where w.company_id = f.company_id and w.key = 'notes of ' || f.id and w.value like 'old-%' and w.began <= i.ended + make_interval(secs => $1))
union all
select 'acknowledged once, and written ' || count(w.n) || ' times: ' || a.key || ' ' || a.value || coalesce(': ' || min(i.plan), '')
from acknowledged a left join witness w using (company_id, key, value) left join interleavings i using (company_id)
group by a.company_id, a.key, a.value having count(w.n) <> 1";

/// Waits for the service's last statement, and returns the model violations. `late` is how late statements began.
pub(super) async fn violations(connection: &mut PgConnection, late: f64) -> Vec<String> {
    until_quiet(connection).await;
    sqlx::query_scalar(VIOLATIONS).bind(SENT + late).fetch_all(connection).await.unwrap()
}

/// Counts companies whose records contain OLD at the end, because its in-flight statement ran after NEW.
const IN_FLIGHT: &str = "
select count(distinct a.company_id) from finals f join affiliates a using (company_id, id) where a.notes is distinct from f.notes";

/// Returns the number of interleavings that ended with OLD. Call this function after [`violations`].
pub(super) async fn in_flight(connection: &mut PgConnection) -> i64 {
    sqlx::query_scalar(IN_FLIGHT).fetch_one(connection).await.unwrap()
}
