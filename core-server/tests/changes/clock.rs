//! Tests temporary clock errors: positions stay in order, and times recover.

use compliance_api::v1::{GetAffiliateRequest, SearchChangesRequest};
use core_server::audit;
use sqlx::{AssertSqlSafe, PgConnection, postgres::PgPoolOptions};
use test_support::{GrpcClients, TestCore, connect_to_citus, fresh_database, new_company, now};

use super::all;

const HOUR: i64 = 3600;
const DAYS: i64 = 400 * 24 * HOUR;

/// Shifts the triggers' clock by `test.clock` seconds.
async fn shift_clocks(connection: &mut PgConnection) {
    let shifted = "do $$ begin
        execute replace(pg_get_functiondef('write_changes'::regproc), 'clock_timestamp()',
            '(clock_timestamp() + make_interval(secs => current_setting(''test.clock'')::double precision))');
    end $$";
    sqlx::raw_sql(shifted).execute(connection).await.unwrap();
}

/// Sets the city of affiliate 1 while the clock is `seconds` ahead.
async fn set_city(connection: &mut PgConnection, company: i64, city: &str, seconds: i64) {
    let update = format!(
        "begin;
        set local test.clock = {seconds};
        insert into affiliates (company_id, id, client_affiliate_id, affiliate_name, city) values ({company}, 1, 'a', 'a', '{city}')
        on conflict (company_id, id) do update set city = excluded.city;
        commit"
    );
    sqlx::raw_sql(AssertSqlSafe(update)).execute(connection).await.unwrap();
}

/// Returns the time `seconds` from now, as text.
fn second(seconds: i64) -> String {
    compliance_api::json::datetime_text(&prost_types::Timestamp { seconds: now() + seconds, nanos: 0 }).unwrap()
}

async fn city(clients: &mut GrpcClients, seconds: i64) -> String {
    let request = GetAffiliateRequest { id: 1, as_of: Some(second(seconds)) };
    clients.affiliates.get_affiliate(request).await.unwrap().into_inner().city.unwrap()
}

/// Returns the positions that a paged search finds, in ascending order.
async fn found(clients: &mut GrpcClients, from: i64, to: Option<i64>) -> Vec<i64> {
    let (mut before, mut positions) = (None, Vec::new());
    loop {
        let (from, to) = (Some(second(from)), to.map(second));
        let request = SearchChangesRequest { from, to, before, limit: Some(1), ..SearchChangesRequest::default() };
        let page = clients.audit.search_changes(request).await.unwrap().into_inner();
        positions.extend(page.changes.iter().map(|change| change.position));
        before = page.next;
        if before.is_none() {
            positions.reverse();
            return positions;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clock_jumps_have_no_lasting_effect() {
    let core = TestCore::over(fresh_database().await.options, 3).await;
    if connect_to_citus(&core.pool).await.is_some() {
        return;
    }
    let company = new_company();
    let mut clients = core.company(company);
    let mut connection = core.pool.acquire().await.unwrap();
    shift_clocks(&mut connection).await;
    for (city, seconds) in [("1", -3 * HOUR), ("2", -2 * HOUR), ("3", DAYS - HOUR), ("4", DAYS - HOUR)] {
        set_city(&mut connection, company, city, seconds).await;
    }
    // A read of the current state includes changes with future times.
    assert_eq!([city(&mut clients, -90 * 60).await, city(&mut clients, 0).await], ["2", "4"]);
    set_city(&mut connection, company, "5", -HOUR).await;
    set_city(&mut connection, company, "6", -HOUR / 2).await;
    let mut states = Vec::new();
    for seconds in [-3 * HOUR + 60, -2 * HOUR + 60, -HOUR - 60, -HOUR + 60, -HOUR / 2 + 60, 0] {
        states.push(city(&mut clients, seconds).await);
    }
    assert_eq!(states, ["1", "2", "2", "5", "6", "6"]);
    let changes = all(&mut clients, 0, 10).await;
    let times: Vec<i64> =
        changes.iter().map(|change| (change.time.unwrap().seconds - now() + 30).div_euclid(60)).collect();
    let minutes = |seconds: i64| seconds / 60;
    assert_eq!(
        times,
        [-180, -120, minutes(DAYS) - 60, minutes(DAYS) - 60, -60, -30],
        "times follow the correct clock again"
    );
    assert_eq!(found(&mut clients, -HOUR - 60, Some(0)).await, [5, 6]);
    assert_eq!(found(&mut clients, -4 * HOUR, Some(0)).await, [1, 2, 5, 6]);
    assert_eq!(found(&mut clients, -2 * HOUR - 60, None).await, [2, 3, 4, 5, 6]);
    assert_eq!(found(&mut clients, DAYS - 2 * HOUR, None).await, [3, 4]);
    assert_eq!(found(&mut clients, DAYS, None).await, [0; 0]);
    assert_eq!(audit::verify(&mut connection, company).await.unwrap(), None);
}

/// Times do not decrease if the clock is set back by less than five minutes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn setting_the_clock_back_loses_no_changes() {
    let core = TestCore::over(fresh_database().await.options, 3).await;
    if connect_to_citus(&core.pool).await.is_some() {
        return;
    }
    let company = new_company();
    let mut clients = core.company(company);
    let mut connection = core.pool.acquire().await.unwrap();
    shift_clocks(&mut connection).await;
    for (city, seconds) in [("1", -3 * HOUR), ("2", -3 * HOUR - 240), ("3", -5 * HOUR), ("4", -2 * HOUR)] {
        set_city(&mut connection, company, city, seconds).await;
    }
    let times = all(&mut clients, 0, 10).await.iter().map(|change| change.time.unwrap().seconds).collect::<Vec<_>>();
    assert_eq!(times[0], times[1]);
    assert!((times[1] - times[2] - 2 * HOUR).abs() < 60 && times[2] < times[3], "{times:?}");
    let mut states = Vec::new();
    for seconds in [-5 * HOUR + 60, -2 * HOUR - 60, -2 * HOUR + 60, 0] {
        states.push(city(&mut clients, seconds).await);
    }
    assert_eq!(states, ["3", "3", "4", "4"]);
    assert_eq!(found(&mut clients, -4 * HOUR, None).await, [1, 2, 4]);
    assert_eq!(found(&mut clients, -6 * HOUR, Some(-4 * HOUR)).await, [3]);
    assert_eq!(audit::verify(&mut connection, company).await.unwrap(), None);
}

/// The database cannot tell a clock jump from a long outage: in both cases, a month is old and the last attempt was long ago.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clock_jumps_do_not_drop_monthly_partitions() {
    let options = fresh_database().await.options;
    let core = TestCore::over(options.clone(), 3).await;
    // Uses one connection, because a second one could still encounter the locks of a statement that has just failed.
    let pool = PgPoolOptions::new().max_connections(1).connect_with(options).await.unwrap();
    let company = new_company();
    core.company(company).affiliate("A").await;
    core.company(company).affiliate("B").await;
    core.company(new_company()).affiliate("A").await;
    let old = format!(
        "create table changes_y2020m01 (like changes including compression);
        alter table changes attach partition changes_y2020m01 for values from ('2020-01-01Z') to ('2020-02-01Z');
        update changes set changed_at = '2020-01-05Z' where company_id = {company} and position = 1;
        update changes set changed_at = '2019-05-05Z' where company_id <> {company} and position = 1"
    );
    sqlx::raw_sql(AssertSqlSafe(old)).execute(&pool).await.unwrap();
    let run = async |statement: &str| sqlx::raw_sql(AssertSqlSafe(statement.to_owned())).execute(&pool).await;
    let kept = async || -> i64 {
        let kept = sqlx::query_scalar("select count(*) from changes where changed_at < '2021-01-01'");
        kept.fetch_one(&pool).await.unwrap()
    };
    let is_dropped = async || {
        run("select make_change_months()").await.unwrap();
        let before = kept().await;
        match run("select drop_change_month()").await {
            Ok(_) => kept().await < before,
            Err(error) => {
                let error = error.into_database_error().unwrap();
                assert!(error.code().as_deref() == Some("55000") && error.message().contains("clock"), "{error}");
                false
            }
        }
    };
    for last_run in ["now() - interval '400 days'", "now() - interval '50 hours'", "now() + interval '400 days'"] {
        run(&format!(
            "update change_retention set last_run_at = {last_run}, steady_since = now() - interval '900 days'"
        ))
        .await
        .unwrap();
        assert!(!is_dropped().await, "{last_run}");
        // The drop also fails if `make_change_months` did not run first.
        run(&format!(
            "update change_retention set last_run_at = {last_run}, steady_since = now() - interval '900 days'"
        ))
        .await
        .unwrap();
        run("select drop_change_month()").await.unwrap_err();
        run("select make_change_months()").await.unwrap();
        // Further attempts within a day drop nothing. Earlier releases call `keep_changes`, which also drops nothing.
        run("update change_retention set steady_since = steady_since - interval '23 hours', last_run_at = last_run_at - interval '1 hour'")
            .await
            .unwrap();
        assert!(!is_dropped().await, "{last_run}");
        run("select keep_changes(90)").await.unwrap();
        assert_eq!(kept().await, 2, "{last_run}");
    }
    run("update change_retention set steady_since = steady_since - interval '1 hour'").await.unwrap();
    for left in [1, 0] {
        assert!(is_dropped().await);
        assert_eq!(kept().await, left);
    }
    // The call succeeds if there is nothing to drop.
    run("update change_retention set last_run_at = now() - interval '400 days'").await.unwrap();
    run("select drop_change_month()").await.unwrap();
}
