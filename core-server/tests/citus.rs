//! Tests the schema on Citus. `TEST_DATABASE_URL` must point to the coordinator.

use std::time::Duration;

use core_server::{
    database::{self, DatabaseError, check_migrated},
    doctor::check_counts,
};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, PgPool, postgres::PgConnectOptions};
use test_support::{TestCore, fresh_database};
use tokio::time::timeout;

async fn run(pool: &PgPool, statements: &[&'static str]) {
    for statement in statements {
        sqlx::raw_sql(*statement).execute(pool).await.unwrap();
    }
}

/// Connects, as the owner, to the node that contains this shard.
async fn worker(pool: &PgPool, options: &PgConnectOptions, shard: i64) -> PgConnection {
    let mut connection = PgConnection::connect_with(&options_of_worker(pool, options, shard).await).await.unwrap();
    let settings = "set citus.enable_ddl_propagation = off; set citus.override_table_visibility = off";
    sqlx::raw_sql(settings).execute(&mut connection).await.unwrap();
    connection
}

async fn options_of_worker(pool: &PgPool, options: &PgConnectOptions, shard: i64) -> PgConnectOptions {
    let node = "select n.nodename, n.nodeport from pg_dist_placement p join pg_dist_node n using (groupid) where p.shardid = $1";
    let (host, port): (String, i32) = sqlx::query_as(node).bind(shard).fetch_one(pool).await.unwrap();
    options.clone().host(&host).port(port as u16)
}

async fn a_shard(pool: &PgPool) -> i64 {
    let shard = "select get_shard_id_for_distribution_column('affiliates', 1)";
    sqlx::query_scalar(shard).fetch_one(pool).await.unwrap()
}

/// Reverts the migration that added the time of an affiliate's last change.
const REVERT: [&str; 3] = [
    "delete from _sqlx_migrations where version = 20261128000120",
    "drop function set_last_updated cascade",
    "alter table affiliates drop column last_updated_date",
];

/// Only the coordinator's sequences assign IDs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs TEST_DATABASE_URL"]
async fn worker_nodes_are_rejected() {
    let options = fresh_database().await.options;
    let pool = database::connect(options.clone(), 2).await.unwrap();
    let worker = options_of_worker(&pool, &options, a_shard(&pool).await).await;
    let error = database::connect(worker, 2).await.unwrap_err();
    assert!(matches!(error, DatabaseError::NotCoordinator), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs TEST_DATABASE_URL"]
async fn tables_are_distributed_by_company() {
    let pool = database::connect(fresh_database().await.options, 2).await.unwrap();
    // Only the coordinator contains the database identity.
    let tables = "
        select c.relname::text, concat_ws(' ', p.partmethod, column_to_column_name(p.logicalrelid, p.partkey)), p.colocationid
        from pg_class c left join pg_dist_partition p on p.logicalrelid = c.oid
        where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and c.relname <> 'database_identity' order by c.relname";
    let tables: Vec<(String, String, Option<i32>)> = sqlx::query_as(tables).fetch_all(&pool).await.unwrap();
    let (copied, records): (Vec<_>, Vec<_>) = tables.into_iter().partition(|(_, distributed, _)| distributed == "n");
    let copied: Vec<&str> = copied.iter().map(|(table, ..)| &**table).collect();
    assert_eq!(copied, ["_sqlx_migrations", "change_retention"]);
    assert!(records.len() >= 8, "{records:?}");
    for (table, distributed, together) in &records {
        assert_eq!(distributed, "h company_id", "{table}");
        assert_eq!(*together, records[0].2, "{table} is not colocated with {}", records[0].0);
    }

    run(&pool, &["select undistribute_table('vocabulary_entries')"]).await;
    let error = check_migrated(&pool).await.unwrap_err();
    assert!(
        matches!(&error, DatabaseError::NotDistributed { tables, .. } if tables == "vocabulary_entries"),
        "{error}"
    );
    for _ in 0..2 {
        database::migrate(&pool).await.unwrap();
        check_migrated(&pool).await.unwrap();
    }
    pool.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs TEST_DATABASE_URL"]
async fn shard_count_defaults_to_four_per_worker() {
    let options = fresh_database().await.options;
    for (setting, expected) in [
        ("reset citus.shard_count", "select 4 * count(*) from pg_dist_node where groupid <> 0"),
        ("set citus.shard_count = 6", "select 6::bigint"),
    ] {
        let pool = database::connect(options.clone(), 1).await.unwrap();
        let undistribute = "
            do $$ declare distributed regclass; begin
                loop
                    select logicalrelid into distributed from pg_dist_partition
                        where partmethod = 'h' and logicalrelid not in (select inhrelid from pg_inherits) limit 1;
                    exit when not found;
                    perform undistribute_table(distributed, cascade_via_foreign_keys => true);
                end loop;
                execute format('alter database %I ', current_database()) || {setting};
            end $$";
        let undistribute = undistribute.replace("{setting}", &format!("'{setting}'"));
        sqlx::raw_sql(AssertSqlSafe(undistribute)).execute(&pool).await.unwrap();
        pool.close().await;

        let pool = database::connect(options.clone(), 1).await.unwrap();
        database::migrate(&pool).await.unwrap();
        let shards = "select count(*) from pg_dist_shard where logicalrelid = 'affiliates'::regclass";
        let shards: i64 = sqlx::query_scalar(shards).fetch_one(&pool).await.unwrap();
        let expected: i64 = sqlx::query_scalar(expected).fetch_one(&pool).await.unwrap();
        assert_eq!(shards, expected, "{setting}");
        pool.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs TEST_DATABASE_URL"]
async fn migrations_alter_distributed_tables() {
    let database = fresh_database().await;
    let pool = database::connect(database.options.clone(), 2).await.unwrap();
    run(&pool, &REVERT).await;
    assert!(matches!(check_migrated(&pool).await, Err(DatabaseError::NotMigrated { missing: 1, .. })));
    database::migrate(&pool).await.unwrap();

    let core = TestCore::over(database.options, 4).await;
    let mut clients = core.company(1);
    clients.affiliate("A").await;
    run(&pool, &["update affiliates set city = 'B', last_updated_date = null where company_id = 1"]).await;
    let is_set = "select last_updated_date is not null from affiliates where company_id = 1";
    assert!(sqlx::query_scalar::<_, bool>(is_set).fetch_one(&pool).await.unwrap());
    pool.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs TEST_DATABASE_URL"]
async fn migrations_waiting_for_remote_locks_block_no_readers() {
    let options = fresh_database().await.options;
    let pool = database::connect(options.clone(), 4).await.unwrap();
    run(&pool, &REVERT).await;
    let shard = a_shard(&pool).await;
    let (mut dump, mut watcher) = (worker(&pool, &options, shard).await, worker(&pool, &options, shard).await);
    let mut dump = dump.begin().await.unwrap();
    let read = format!("select from affiliates_{shard}");
    sqlx::raw_sql(AssertSqlSafe(read)).execute(&mut *dump).await.unwrap();
    let watching = async {
        let waiting = format!(
            "select exists (select from pg_locks where not granted and mode = 'AccessExclusiveLock'
             and relation = 'affiliates_{shard}'::regclass)"
        );
        let until_it_waits = async {
            while !sqlx::query_scalar::<_, bool>(AssertSqlSafe(waiting.clone())).fetch_one(&mut watcher).await.unwrap()
            {
                tokio::task::yield_now().await;
            }
        };
        timeout(Duration::from_mins(1), until_it_waits).await.unwrap();
        // The read waits only until the migration's lock timeout, while the other transaction stays open.
        let read = sqlx::query("select from affiliates where company_id = 1").execute(&pool);
        timeout(Duration::from_mins(1), read).await.unwrap().unwrap();
        dump.commit().await.unwrap();
    };
    let (migrated, ()) = tokio::join!(database::migrate(&pool), watching);
    migrated.unwrap();
    check_migrated(&pool).await.unwrap();
    pool.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs TEST_DATABASE_URL"]
async fn doctor_finds_and_repairs_wrong_counts() {
    let core = TestCore::start().await;
    for company in 1..=3 {
        core.company(company).affiliate("A").await;
    }
    let damage = [
        "insert into compliance_cases (company_id, id, affiliate_id) select company_id, id, id from affiliates",
        "update compliance_case_counts set n = n + 1 where dimension = 'all'",
        "delete from compliance_case_counts where company_id = 2 and dimension = 'id'",
    ];
    run(&core.pool, &damage).await;
    let mut connection = core.pool.acquire().await.unwrap();
    for (repair, wrong) in [(false, 4), (true, 4), (false, 0)] {
        let found = check_counts(&mut connection, repair).await.unwrap();
        assert_eq!(found.iter().map(|found| found.counts).sum::<i64>(), wrong);
    }
}
