//! Tests for lost updates: writers of different fields wait for the same record, and every field keeps its writer's value. A statement that
//! reads the record before it locks the row would overwrite the other fields with old values.

use std::time::Duration;

use compliance_api::{
    record::Record as _,
    v1::{
        AffiliateInput, AffiliateUpdate, AttachIncidentsRequest, CloseCaseRequest, ExportCasesRequest,
        ExportUrlsRequest, ResolveCaseRequest, UpdateAffiliateRequest, UpdateCaseRequest, UrlObservation,
    },
};
use futures::future::{LocalBoxFuture, join_all};
use serde_json::{Map, Value, json};
use sqlx::{AssertSqlSafe, PgPool, Postgres, Transaction};
use test_support::{TestCore, values};
use tokio::time::timeout;

use super::builders::{form_incident, observation, opening, some};

/// Number of concurrent writers, less than the core's number of connections.
const WRITERS: usize = 6;

type Writer<'w> = LocalBoxFuture<'w, ()>;

/// Locks every row of a table.
async fn lock(pool: &PgPool, table: &str) -> Transaction<'static, Postgres> {
    let mut lock = pool.begin().await.unwrap();
    let statement = format!("select 1 from {table} for update");
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut *lock).await.unwrap();
    lock
}

/// Releases the lock once a writer's statement waits for it. Other writers send their own statements, share this one, or wait outside the
/// database.
async fn release(pool: &PgPool, lock: Transaction<'static, Postgres>) {
    let waiting = "select count(*) from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'";
    let contended = async {
        while sqlx::query_scalar::<_, i64>(waiting).fetch_one(pool).await.unwrap() == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(Duration::from_mins(1), contended).await.expect("no writer waited for the lock");
    lock.rollback().await.unwrap();
}

/// Runs writers against a lock and releases it once they wait.
async fn run(pool: &PgPool, lock: Transaction<'static, Postgres>, writers: Vec<impl Future<Output = ()>>) {
    tokio::join!(join_all(writers), release(pool, lock));
}

fn groups(values: &Map<String, Value>) -> Vec<Vec<(String, Value)>> {
    let each: Vec<_> = values.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    each.chunks(WRITERS).map(<[_]>::to_vec).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_case_updates_keep_every_field() {
    let core = TestCore::start().await;
    let mut company = core.company(1);
    company.affiliate("A").await;
    company.affiliate("B").await;
    let case_id = company.open(opening("r")).await;
    let mut values = values::of_case();
    // Every update sets this date.
    values.remove("last_updated_date");
    for group in groups(&values) {
        let lock = lock(&core.pool, "compliance_cases").await;
        let writers: Vec<_> = (group.iter().cloned())
            .map(|(name, value)| {
                let mut company = core.company(1);
                async move {
                    let case = Some(serde_json::from_value(json!({ name: value })).unwrap());
                    let request = UpdateCaseRequest { id: case_id, case, update_mask: None, etag: String::new() };
                    assert!(company.monitoring.update_case(request).await.unwrap().into_inner().changed);
                }
            })
            .collect();
        run(&core.pool, lock, writers).await;
    }
    let mut exported = company.monitoring.export_cases(ExportCasesRequest::default()).await.unwrap().into_inner();
    let case = exported.message().await.unwrap().unwrap().cases.remove(0).case.unwrap();
    let mut stored = serde_json::to_value(&case).unwrap();
    stored.as_object_mut().unwrap().remove("last_updated_date");
    assert_eq!(stored, Value::Object(values));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn case_operations_keep_each_others_changes() {
    let core = TestCore::start().await;
    let mut company = core.company(1);
    company.affiliate("A").await;
    let case_id = company.open(opening("r")).await;
    let lock = lock(&core.pool, "compliance_cases").await;
    let mut clients: Vec<_> = (0..3).map(|_| core.company(1)).collect();
    let (mut one, mut two, mut three) = (clients.remove(0), clients.remove(0), clients.remove(0));
    let writers: Vec<Writer<'_>> = vec![
        Box::pin(async move {
            let case = Some(serde_json::from_value(json!({"case_worker": "worker"})).unwrap());
            one.monitoring
                .update_case(UpdateCaseRequest { id: case_id, case, update_mask: None, etag: String::new() })
                .await
                .unwrap();
        }),
        Box::pin(async move {
            let request = ResolveCaseRequest { id: case_id, ..ResolveCaseRequest::default() };
            two.monitoring.resolve_case(request).await.unwrap();
        }),
        Box::pin(async move {
            let request = AttachIncidentsRequest { id: case_id, incidents: vec![form_incident("form")] };
            three.monitoring.attach_incidents(request).await.unwrap();
        }),
    ];
    run(&core.pool, lock, writers).await;
    let read = company.case(case_id).await;
    assert_eq!((read.case_worker, read.case_status.as_deref()), (some("worker"), Some("Resolved")));
    assert!(read.resolved_date.is_some() && read.first_action_date.is_some() && read.incidents.len() == 1);
    let request = CloseCaseRequest { id: case_id, ..CloseCaseRequest::default() };
    company.monitoring.close_case(request).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_observations_keep_every_field() {
    let core = TestCore::start().await;
    let mut company = core.company(1);
    company.affiliate("A").await;
    company.affiliate("B").await;
    let url = "https://example.org/";
    company.observe_one(observation(url)).await;
    let values = values::of_observation();
    for group in groups(&values) {
        let lock = lock(&core.pool, "compliance_urls").await;
        let writers: Vec<_> = (group.iter().cloned())
            .map(|(name, value)| {
                let mut company = core.company(1);
                async move {
                    let observation: UrlObservation = serde_json::from_value(json!({"url": url, name: value})).unwrap();
                    company.observe_one(observation).await;
                }
            })
            .collect();
        run(&core.pool, lock, writers).await;
    }
    let mut exported = company.monitoring.export_urls(ExportUrlsRequest::default()).await.unwrap().into_inner();
    let observation = exported.message().await.unwrap().unwrap().observations.remove(0);
    let mut stored = serde_json::to_value(&observation).unwrap();
    stored.as_object_mut().unwrap().remove("url");
    assert_eq!(stored, Value::Object(values));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_affiliate_updates_keep_every_field() {
    let core = TestCore::start().await;
    let mut company = core.company(1);
    let id = company.affiliate("A").await;
    let value = |name: &str| match name {
        "country" => "US".to_owned(),
        "status" => "probation".to_owned(),
        "start_date" => "2024-01-31".to_owned(),
        "replicated_website" => "https://example.org/".to_owned(),
        _ if name.contains("email") => format!("{name}@example.org"),
        _ => name.chars().rev().take(16).collect(),
    };
    let names = AffiliateInput::names();
    for group in names.chunks(WRITERS) {
        let lock = lock(&core.pool, "affiliates").await;
        let writers: Vec<_> = (group.iter())
            .map(|name| {
                let (mut company, name) = (core.company(1), *name);
                async move {
                    let mut affiliate = AffiliateInput::default();
                    assert!(AffiliateInput::field(name).unwrap().set_written(&mut affiliate, Some(value(name))));
                    let update = AffiliateUpdate {
                        id: Some(id),
                        affiliate: Some(affiliate),
                        update_mask: None,
                        etag: String::new(),
                    };
                    let request = UpdateAffiliateRequest { update: Some(update) };
                    company.affiliates.update_affiliate(request).await.unwrap();
                }
            })
            .collect();
        run(&core.pool, lock, writers).await;
    }
    let read = company.read_affiliate(id).await;
    let shown = format!("{read:?}");
    for name in names {
        let stored = if name == "country" { "840".to_owned() } else { format!("\"{}\"", value(name)) };
        assert!(shown.contains(&stored), "{name} should be {stored}: {shown}");
    }
}
