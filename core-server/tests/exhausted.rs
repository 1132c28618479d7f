//! Tests busy and exhausted databases: locked tables, full disks and resource limits.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use compliance_api::v1::{AffiliateInput, BatchCreateAffiliatesRequest, GetAffiliateRequest, UpdateAffiliateRequest};
use sqlx::{AssertSqlSafe, PgPool};
use test_support::{TestCore, new_company, reason_of, update_of};
use tokio::time::sleep;
use tonic::Code;

use crate::monitoring::builders::{observation, opening};

async fn run(pool: &PgPool, statement: &str) {
    sqlx::raw_sql(AssertSqlSafe(statement.to_owned())).execute(pool).await.unwrap();
}

/// A trigger raises PostgreSQL's SQLSTATEs for exhausted resources. Each kind of write returns `UNAVAILABLE` and changes nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exhausted_database_rejects_writes_but_serves_reads() {
    let core = TestCore::start().await;
    let mut clients = core.company(new_company());
    let id = clients.affiliate("A").await;
    for code in ["53000", "53100", "53200", "53400"] {
        run(
            &core.pool,
            &format!(
                "create function raise_it() returns trigger language plpgsql as $$ begin
                    raise exception 'could not extend file' using errcode = '{code}'; end $$;
                create trigger full_affiliates before insert or update on affiliates execute function raise_it();
                create trigger full_urls before insert on compliance_urls execute function raise_it();
                create trigger full_cases before insert on compliance_cases execute function raise_it()"
            ),
        )
        .await;
        let affiliate = |name: &str| AffiliateInput {
            client_affiliate_id: Some(name.to_owned()),
            affiliate_name: Some(name.to_owned()),
            ..AffiliateInput::default()
        };
        let city = AffiliateInput { city: Some("X".to_owned()), ..AffiliateInput::default() };
        let update = update_of(id, city);
        let (mut affiliates, mut monitoring) = (clients.affiliates.clone(), clients.monitoring.clone());
        let batch = |count: usize| BatchCreateAffiliatesRequest {
            affiliates: (0..count).map(|number| affiliate(&format!("B{number}"))).collect(),
            validate_only: false,
        };
        let observe =
            compliance_api::v1::ObserveUrlsRequest { observations: vec![observation("https://example.org/")] };
        let errors = [
            affiliates.update_affiliate(UpdateAffiliateRequest { update: Some(update) }).await.map(drop),
            affiliates.batch_create_affiliates(batch(1)).await.map(drop),
            affiliates.batch_create_affiliates(batch(50)).await.map(drop),
            affiliates.batch_create_affiliates(batch(600)).await.map(drop),
            monitoring.observe_urls(observe).await.map(drop),
            monitoring.open_case(opening("one")).await.map(drop),
        ];
        for (write, error) in errors.into_iter().enumerate() {
            let status = error.unwrap_err();
            let found = (status.code(), reason_of(&status));
            assert_eq!(found, (Code::Unavailable, "DATABASE_UNAVAILABLE".to_owned()), "{code}, write {write}");
        }
        let read = affiliates.get_affiliate(GetAffiliateRequest { id, as_of: None }).await.unwrap().into_inner();
        assert_eq!(read.city, None);
        run(
            &core.pool,
            "drop trigger full_affiliates on affiliates; drop trigger full_urls on compliance_urls;
            drop trigger full_cases on compliance_cases; drop function raise_it()",
        )
        .await;
        let count: i64 = sqlx::query_scalar("select count(*) from affiliates").fetch_one(&core.pool).await.unwrap();
        assert_eq!(count, 1);
    }
    clients.affiliate("B").await;
}

/// A schema change locks the table that the database check reads. The check waits, and calls succeed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn locked_identity_table_causes_no_outage() {
    const PATIENCE: Duration = Duration::from_mins(1);
    let core = TestCore::start().await;
    let mut clients = core.company(new_company());
    let id = clients.affiliate("A").await;
    let mut schema_change = core.pool.begin().await.unwrap();
    sqlx::query("lock table database_identity in access exclusive mode").execute(&mut *schema_change).await.unwrap();
    let (start, mut waited) = (Instant::now(), HashSet::new());
    // When a second check waits, the first one has reached its lock timeout.
    while waited.len() < 2 {
        assert!(start.elapsed() < PATIENCE, "the core did not check the database twice");
        let waiting = "select query_start::text from pg_stat_activity
            where wait_event_type = 'Lock' and query like '%is_database_known%' and datname = current_database()";
        waited.extend(sqlx::query_scalar::<_, String>(waiting).fetch_all(&core.pool).await.unwrap());
        sleep(Duration::from_millis(10)).await;
    }
    let request = GetAffiliateRequest { id, as_of: None };
    clients.affiliates.get_affiliate(request.clone()).await.unwrap();
    schema_change.rollback().await.unwrap();
    clients.affiliates.get_affiliate(request).await.unwrap();
}
