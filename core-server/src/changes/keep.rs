//! Creates and drops the monthly partitions of the record of changes. A month is created before it begins, and dropped once all its changes
//! are older than the retention set by the schema owner.

use std::{sync::Arc, time::Duration};

use storage::{
    database::Connections,
    error::{is_lock_timeout, text},
    statement_context::StatementContext,
};
use telemetry::background::Task;

/// Number of attempts per interval while another transaction holds a lock.
const UPKEEP_RETRIES: u32 = 10;
/// Number of consecutive lock timeouts before the task reports a failure.
const UPKEEP_PATIENCE: u32 = 3;

const HOLDERS: &str = include_str!("holders.sql");

/// Creates and drops monthly partitions until the task is dropped. `expected` is the required retention, in days.
///
/// The first run can wait, because changes for a missing month go to the default partition.
pub(crate) async fn keep(pool: Connections, interval: Duration, expected: Option<i32>, task: Arc<Task>) {
    let (mut wait, mut in_the_way, mut shorter) = (interval, 0, None);
    loop {
        tokio::time::sleep(wait).await;
        shorter = warn_if_shorter(&pool, expected, shorter).await;
        let kept = StatementContext::of("upkeep of changes").run(keep_once(&pool)).await;
        wait = interval;
        match kept {
            Ok(()) => {
                in_the_way = 0;
                task.succeeded();
            }
            Err(error) if is_lock_timeout(&error) => {
                (in_the_way, wait) = (in_the_way + 1, interval / UPKEEP_RETRIES);
                if in_the_way >= UPKEEP_PATIENCE {
                    let holders = sqlx::query_scalar::<_, String>(HOLDERS).fetch_one(&pool).await;
                    let holders = holders.unwrap_or_else(|error| format!("unknown ({})", text(&error)));
                    task.failed(format_args!(
                        "cannot create or drop monthly partitions of the record of changes: other sessions have held locks on it for a long time; \
                         their process IDs and programs, or prepared transaction names: {holders}"
                    ));
                }
            }
            Err(error) => {
                task.failed(format_args!(
                    "cannot create or drop monthly partitions of the record of changes: {}",
                    text(&error)
                ));
            }
        }
    }
}

/// Creates and drops months once. Creates the next month even if an old month cannot be dropped.
async fn keep_once(pool: &Connections) -> Result<(), sqlx::Error> {
    let made = sqlx::query("select make_change_months()").execute(pool).await;
    let dropped = sqlx::query("select drop_change_month()").execute(pool).await;
    made.and(dropped).map(drop)
}

/// Returns the change retention set by the schema owner, in days.
pub(crate) async fn kept_days(pool: &Connections) -> Result<i32, sqlx::Error> {
    sqlx::query_scalar("select days from change_retention").fetch_one(pool).await
}

/// Logs one warning per retention value that is too short. `before` and the result are the last logged value.
async fn warn_if_shorter(pool: &Connections, expected: Option<i32>, before: Option<i32>) -> Option<i32> {
    let expected = expected?;
    let Ok(kept) = kept_days(pool).await else { return before };
    let shorter = Some(kept).filter(|kept| *kept < expected);
    if shorter.is_some() && shorter != before {
        tracing::warn!(
            expected,
            kept,
            "the database now keeps changes for less time than --change-retention requires: run \
             `compliance migrate --change-retention {expected}`, or restart this core with a lower setting"
        );
    }
    shorter
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sqlx::{Connection as _, PgConnection};
    use telemetry::background::Task;
    use test_support::{NetworkServer, fresh_database};
    use tokio::time::{sleep, timeout};

    use super::{Connections, HOLDERS, keep, warn_if_shorter};
    use crate::schema;
    use storage::database;

    const OLD: &str = "
        create table changes_y2020m01 partition of changes for values from ('2020-01-01') to ('2020-02-01');
        insert into changes (company_id, position, changed_at, resource, columns, operation, ids, records)
            values (1, 1, '2020-01-05', 1, 1, 1, '{1}', '{()}')";
    const NEXT: &str = "select to_char(date_trunc('month', now() at time zone 'UTC') + interval '1 month', '\"changes_y\"YYYY\"m\"MM')";

    async fn until(what: &str, is: impl AsyncFn() -> bool) {
        let wait = async {
            while !is().await {
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(Duration::from_mins(1), wait).await.unwrap_or_else(|_| panic!("timed out waiting until {what}"));
    }

    /// An idle transaction has read an old month. The next month is still created, and the failure names the connection until the
    /// transaction ends.
    #[tokio::test]
    async fn upkeep_failure_names_blocking_connections() {
        let options = fresh_database().await.options;
        let opened = database::open(options.clone().into(), 4).await.unwrap();
        database::restores::start(&opened.pool).await.unwrap();
        let next: String = sqlx::query_scalar(NEXT).fetch_one(&opened.pool).await.unwrap();
        sqlx::raw_sql(OLD).execute(&opened.pool).await.unwrap();
        sqlx::raw_sql(sqlx::AssertSqlSafe(format!("drop table {next}"))).execute(&opened.pool).await.unwrap();
        let exists = async |part: &str| -> bool {
            sqlx::query_scalar("select to_regclass($1) is not null").bind(part).fetch_one(&opened.pool).await.unwrap()
        };

        let mut reader = PgConnection::connect_with(&options.application_name("report")).await.unwrap();
        let mut reading = reader.begin().await.unwrap();
        let pid: i32 = sqlx::query_scalar("select pg_backend_pid()").fetch_one(&mut *reading).await.unwrap();
        sqlx::query("select from changes_y2020m01").execute(&mut *reading).await.unwrap();

        let pool = Connections::open(&opened, schema::expected(), &schema::SCHEMA).await.unwrap();
        let task = Task::new("retention");
        let kept = tokio::spawn(keep(pool.clone(), Duration::from_millis(100), None, task.clone()));
        until("the next month exists", async || exists(&next).await).await;
        let named = format!("{pid} (report)");
        until("the reader is named", async || task.failure().is_some_and(|failure| failure.contains(&named))).await;
        assert!(exists("changes_y2020m01").await);
        reading.rollback().await.unwrap();
        until("the old month is dropped", async || !exists("changes_y2020m01").await).await;
        until("the task recovers", async || task.failure().is_none()).await;

        // A transaction that has read all months blocks the creation of the next month until it ends.
        kept.abort();
        sqlx::raw_sql(sqlx::AssertSqlSafe(format!("drop table {next}"))).execute(&opened.pool).await.unwrap();
        let mut reading = reader.begin().await.unwrap();
        sqlx::query("select from changes").execute(&mut *reading).await.unwrap();
        let kept = tokio::spawn(keep(pool, Duration::from_millis(100), None, task.clone()));
        until("the reader is named", async || task.failure().is_some_and(|failure| failure.contains(&named))).await;
        assert!(!exists(&next).await);
        reading.rollback().await.unwrap();
        until("the next month exists", async || exists(&next).await).await;
        kept.abort();
        opened.pool.close().await;
    }

    #[tokio::test]
    async fn upkeep_reports_clock_jumps() {
        let options = fresh_database().await.options;
        let opened = database::open(options.into(), 4).await.unwrap();
        database::restores::start(&opened.pool).await.unwrap();
        let run = async |statement: &'static str| sqlx::raw_sql(statement).execute(&opened.pool).await.unwrap();
        run(OLD).await;
        run("update change_retention set last_run_at = now() - interval '400 days'").await;
        let pool = Connections::open(&opened, schema::expected(), &schema::SCHEMA).await.unwrap();
        let task = Task::new("retention");
        let kept = tokio::spawn(keep(pool.clone(), Duration::from_millis(100), None, task.clone()));
        until("the jump is reported", async || task.failure().is_some_and(|failure| failure.contains("the clock")))
            .await;
        run("update change_retention set steady_since = now() - interval '1 day'").await;
        until("the task recovers", async || task.failure().is_none()).await;
        kept.abort();

        // A core that requires longer retention warns once per value that the owner sets.
        run("update change_retention set days = 30").await;
        for (expected, before, warned) in
            [(None, None, None), (Some(30), None, None), (Some(31), None, Some(30)), (Some(31), Some(30), Some(30))]
        {
            assert_eq!(warn_if_shorter(&pool, expected, before).await, warned);
        }
        opened.pool.close().await;
    }

    #[tokio::test]
    async fn lock_holders_include_prepared_transactions() {
        let mut server = NetworkServer::start().await;
        server.execute("postgres", "alter system set max_prepared_transactions = 2").await;
        server.kill();
        server.restart().await;
        let prepare = "create table changes (); create table change_positions (); begin; select from changes; prepare transaction 'forgotten'";
        server.execute("postgres", prepare).await;
        let mut connection = PgConnection::connect(&server.url("postgres", "postgres")).await.unwrap();
        let holders: String = sqlx::query_scalar(HOLDERS).fetch_one(&mut connection).await.unwrap();
        assert_eq!(holders, "prepared transaction 'forgotten'");
    }
}
