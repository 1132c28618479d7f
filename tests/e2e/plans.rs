//! Checks which indexes the database uses for lists, foreign keys and write lookups.
//!
//! Plans must not depend on statistics. They are the same for new, filled and analyzed databases, for generic and custom plans, and
//! on every connection.

use std::collections::BTreeSet;

use serde_json::Value;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _};
use test_support::fresh_database;

/// Tables that grow with a company, except the monthly change tables.
const LARGE: &[&str] = &[
    "affiliates",
    "compliance_urls",
    "compliance_cases",
    "compliance_url_counts",
    "compliance_case_counts",
    "infractions",
    "incidents",
    "webhooks",
    "webhook_deliveries",
];

/// Company `$1`'s records, with realistic lengths, because the planner prefers different indexes for small tables.
const RECORDS: [&str; 7] = [
    "insert into affiliates (company_id, id, client_affiliate_id, affiliate_name)
        select $1, n, n::text, n::text from generate_series(1, 500) n",
    "insert into compliance_cases (company_id, id, affiliate_id, case_status_id, created_date)
        select $1, n, 1 + n % 500, 1 + n % 9, timestamptz '2024-01-01Z' + n % 700 * interval '1 day'
        from generate_series(1, 20000) n",
    "insert into compliance_urls (company_id, id, url, url_hash, incident_status_id, affiliate_id, case_id, discovery_date,
            last_review_date, last_seen)
        select $1, n, rpad(n::text, 500, '-'), decode(lpad(to_hex(n), 16, '0'), 'hex'), 1 + n % 6, 1 + n % 500, 1 + n % 20000,
            timestamptz '2024-01-01Z' + n % 700 * interval '1 day',
            case when n % 3 > 0 then timestamptz '2024-01-01Z' + n % 600 * interval '1 day' end,
            case when n % 2 > 0 then timestamptz '2024-01-01Z' + n % 500 * interval '1 day' end
        from generate_series(1, 60000) n",
    "insert into infractions (company_id, url_id, infraction_type_id) select $1, n, 1 from generate_series(1, 60000) n",
    "insert into incidents (company_id, case_id, incident_type, url_id) select $1, n, 1, n from generate_series(1, 20000) n",
    "insert into webhooks (company_id, id, url, types, secret, position)
        select $1, n, rpad('https://', 200, '-'), '{}', 'whsec_', 0 from generate_series(1, 2000) n",
    "insert into webhook_deliveries
            (company_id, webhook_id, number, message_id, after, position, attempt, started_at, duration_ms)
        select $1, 1 + n % 2000, n, 'msg_1', 0, 1, 1, now(), 1 from generate_series(1, 4000) n",
];

/// States of the planner statistics.
const STATES: [&str; 3] = ["empty", "filled and never analyzed", "analyzed"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plans_do_not_depend_on_statistics() {
    let mut connection = PgConnection::connect_with(&fresh_database().await.options).await.unwrap();
    let mut lists_of_empty = Vec::new();
    for state in STATES {
        bring_to(&mut connection, state).await;
        check_lists(&mut connection, state, &mut lists_of_empty).await;
        check_lookups(&mut connection, state).await;
        check_scans(&mut connection, state).await;
        check_keys(&mut connection, state).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn first_load_reads_by_key_despite_wrong_statistics() {
    check_keys(&mut analyzed_while_loaded().await, "analyzed while it was loaded").await;
}

/// Checks that lists use the same indexes as on an empty database.
async fn check_lists(connection: &mut PgConnection, state: &str, of_empty: &mut Vec<BTreeSet<(String, String)>>) {
    for mode in ["force_generic_plan", "force_custom_plan"] {
        set_mode(connection, mode).await;
        let mut statements = 0;
        for (number, (name, statement, types)) in core_server::list_statements().enumerate() {
            // The arguments are company, limit, offset, days and affiliate, then the filters.
            let filters = types.split(", ").skip(6).map(|kind| if kind == "boolean" { "false" } else { "1" });
            let arguments =
                [&["1", "100", "0", "19800", "19900", "1"], &*filters.collect::<Vec<_>>()].concat().join(", ");
            let plan = plan(connection, &types, statement, &arguments).await;
            let what = format!("{name} on a database ({state}, {mode})");
            let mut scans = Vec::new();
            collect_scans(&plan, &mut scans);
            assert!(scans.len() > 1, "{what}: no scans in {plan}");
            for Scan { table, kind, condition, .. } in &scans {
                assert!(kind.starts_with("Index"), "{what}: {kind} of {table}");
                assert!(condition.contains("company_id"), "{what}: the scan of {table} reads several companies");
                let by_key = table != "affiliates" || condition.matches(" = ").count() >= 2;
                assert!(by_key, "{what}: the plan reads all affiliates: {plan}");
            }
            let indexes: BTreeSet<_> = scans
                .into_iter()
                // Both unique keys of these tables begin with the searched columns.
                .filter(|scan| scan.table != "infractions" && scan.table != "incidents")
                .map(|scan| (scan.table, scan.index))
                .collect();
            match of_empty.get(number) {
                Some(expected) => assert_eq!(&indexes, expected, "{what}"),
                None => of_empty.push(indexes),
            }
            statements += 1;
        }
        // Four sorts for URLs and two for cases, in two directions, with and without days, filters and an affiliate.
        assert_eq!(statements, (4 + 2) * 2 * 2 * 2 * 2);
    }
}

/// A page reads the index from the first match to the end of the page, and then only its own records.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_read_no_index_entries_past_their_end() {
    let mut connection = PgConnection::connect_with(&fresh_database().await.options).await.unwrap();
    let records = "insert into compliance_urls
            (company_id, id, url, url_hash, incident_status_id, disabled, discovery_date, last_review_date, last_seen)
        select 1, n, n::text, decode(lpad(to_hex(n), 16, '0'), 'hex'), 1 + n % 6, n % 25 = 0, day, day, day
        from generate_series(1, 60000) n, lateral (select timestamptz '2024-01-01Z' + n * interval '4 seconds' as day) d";
    sqlx::raw_sql(records).execute(&mut connection).await.unwrap();
    sqlx::raw_sql("vacuum analyze").execute(&mut connection).await.unwrap();
    set_mode(&mut connection, "force_generic_plan").await;
    let in_order = core_server::list_statements().filter(|(name, statement, _)| {
        name.starts_with("compliance_urls") && !name.contains("of_affiliate: true") && !statement.contains("choice")
    });
    let mut statements = 0;
    for (name, statement, types) in in_order {
        let filters = types.split(", ").skip(6).map(|kind| if kind == "boolean" { "false" } else { "1" });
        let filters = filters.collect::<Vec<_>>().join(", ");
        for offset in [0, 8000] {
            let arguments = format!("1, 100, {offset}, 19700, 19800, 1, {filters}");
            let plan =
                explained(&mut connection, "explain (analyze, format json)", &types, statement, &arguments).await;
            let read = entries_read(&plan, "compliance_urls");
            // The plan also reads the page's records by ID.
            assert!(read <= f64::from(offset + 2 * 100), "{name} from {offset} reads {read} records: {plan}");
        }
        statements += 1;
    }
    // Four sorts in two directions, with and without filters. The sort by the filtered date also comes in variants with days.
    assert_eq!(statements, (4 + 1) * 2 * 2);
}

/// Write lookups, each with its required index.
const LOOKUPS: &[(&str, &str, &str)] = &[
    ("bigint, bigint", "select from affiliates where company_id = $1 and id = $2", "affiliates_pkey"),
    ("bigint, text", "select from affiliates where company_id = $1 and affiliate_name = $2", "affiliates_name_key"),
    (
        "bigint, text",
        "select id from affiliates where company_id = $1 and client_affiliate_id = $2 order by id limit 1",
        "affiliates_client_affiliate_id_idx",
    ),
    ("bigint, bigint", "select from compliance_urls where company_id = $1 and id = $2", "compliance_urls_pkey"),
    ("bigint, bytea", "select from compliance_urls where company_id = $1 and url_hash = $2", "compliance_urls_url_key"),
    ("bigint, bigint", "select from compliance_cases where company_id = $1 and id = $2", "compliance_cases_pkey"),
    (
        "bigint, text",
        "select from compliance_cases where company_id = $1 and request_id = $2",
        "compliance_cases_request_id_key",
    ),
];

/// Checks that write lookups and foreign key checks use their own indexes.
async fn check_lookups(connection: &mut PgConnection, state: &str) {
    let checks = foreign_key_checks(connection).await;
    // Seven foreign keys refer to four tables.
    assert_eq!(checks.len(), 11, "{checks:?}");
    for mode in ["force_generic_plan", "force_custom_plan"] {
        set_mode(connection, mode).await;
        for (types, statement, expected) in LOOKUPS {
            let arguments = if types.ends_with("bytea") { "1, ''" } else { "1, '1'" };
            let plan = plan(connection, types, statement, arguments).await;
            expect_index(&plan, &[(*expected).to_owned()], 2, &format!("{statement}, {state}, {mode}"));
        }
        for (statement, expected) in &checks {
            let plan = plan(connection, "bigint, bigint", statement, "1, 1").await;
            expect_index(&plan, expected, 2, &format!("{statement}, {state}, {mode}"));
        }
    }
}

/// Checks that searches, the overview and lists without counts read one company in key order, without sorting.
async fn check_scans(connection: &mut PgConnection, state: &str) {
    // A month without changes has nothing to scan.
    let empty = "select relname::text from pg_class where relname like 'changes\\_%' and pg_relation_size(oid) = 0";
    let empty: Vec<String> = sqlx::query_scalar(empty).fetch_all(&mut *connection).await.unwrap();
    for mode in ["force_generic_plan", "force_custom_plan"] {
        set_mode(connection, mode).await;
        for (number, (statement, types)) in core_server::scan_statements().enumerate() {
            let arguments = match types.split(", ").count() {
                2 => "1, '2025-06-01Z'",
                3 if types.ends_with("smallint") => "1, 10, 2",
                6 => "1, '{abc,b}', 20, 7, 'abc', '12345'",
                11 => "1, 20, 0, null, null, null, 'active', 840, '{abc,b}', '7', '12345'",
                5 if types.ends_with("bytea") => "1, '{abc,b}', 20, 7, ''",
                21 => {
                    "1, 20, 0, null, null, null, null, true, 1, 1, 'ann', true, 1, 20000, true, '2025-06-01Z', 1, 20000, 1, 7, 'a'"
                }
                4 => "1, 1, 7, 1700000000",
                5 if types.starts_with("bigint, bigint, smallint, ") => "1, 10, 2, 1000, 1000",
                12 => "1, 20, 0, null, null, null, null, true, 20000, 20001, 1, true",
                10 => "1, 1000, 1, 7, null, null, 0, 9999999999, 20, 2000",
                _ => "1, 10, null, 20, 2000",
            };
            let plan = plan(connection, types, statement, arguments).await;
            let what = format!("statement {number} on a database ({state}, {mode})");
            let mut scans = Vec::new();
            collect_scans(&plan, &mut scans);
            assert!(!scans.is_empty(), "{what}: no scans in {plan}");
            for Scan { table, kind, index, condition } in scans {
                if kind == "Seq Scan" && empty.contains(&table) {
                    continue;
                }
                let is_key = index == format!("{table}_pkey")
                    // Changes to one record, or to one kind of record.
                    || table.starts_with("changes_") && index.starts_with(&format!("{table}_company_id_resource_"))
                    // Changes made after the clock went back.
                    || table.starts_with("changes_") && index == format!("{table}_company_id_position_idx")
                    // Both unique keys begin with the searched columns.
                    || ["infractions", "incidents"].contains(&&*table) && condition.matches(" = ").count() >= 2
                    // These lookups find an upline by its identifier, or a record named in a search.
                    || ["affiliates_client_affiliate_id_idx", "affiliates_name_key", "compliance_urls_url_key"].contains(&&*index)
                        && condition.matches(" = ").count() == 2;
                let what = format!("{what}: {kind} of {table} by {index}, {condition}");
                assert!(kind.starts_with("Index") && is_key, "{what} in {plan}");
                assert!(condition.contains("company_id = "), "{what}: the scan reads several companies");
            }
        }
    }
}

/// Changes to other records do not affect the number of rows read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn as_of_reads_do_not_scan_unrelated_changes() {
    let mut connection = PgConnection::connect_with(&fresh_database().await.options).await.unwrap();
    let changes = "
        insert into affiliates (company_id, id, client_affiliate_id, affiliate_name) values (1, 1, 'a', 'a');
        insert into compliance_urls (company_id, id, url, url_hash) select 1, n, n, int8send(n) from generate_series(1, 500) n;
        insert into compliance_cases (company_id, id, affiliate_id) select 1, n, 1 from generate_series(1, 500) n;
        do $$ begin
            for n in 1..500 loop
                insert into infractions (company_id, url_id, infraction_type_id) values (1, n, 1);
                insert into infractions (company_id, url_id, infraction_type_id) select 1, n, t from generate_series(2, 4) t;
                update infractions set infraction_name_id = 1 where company_id = 1 and url_id = n;
                insert into incidents (company_id, case_id, incident_type, reference) select 1, n, 2, t from generate_series(1, 4) t;
                delete from incidents where company_id = 1 and case_id = n and reference = '1';
            end loop;
        end $$;
        -- A row with parts of all.
        insert into infractions (company_id, url_id, infraction_type_id) select 1, n, 9 from generate_series(1, 500) n";
    sqlx::raw_sql(changes).execute(&mut connection).await.unwrap();
    let past = core_server::scan_statements().filter(|(_, types)| *types == "bigint, smallint, bigint, bigint");
    let past: Vec<_> = past.collect();
    for state in ["never analyzed", "analyzed"] {
        if state == "analyzed" {
            sqlx::raw_sql("vacuum analyze").execute(&mut connection).await.unwrap();
        }
        for mode in ["force_generic_plan", "force_custom_plan"] {
            set_mode(&mut connection, mode).await;
            for ((statement, types), resource) in past.iter().zip([1, 2, 4]) {
                let arguments = format!("1, {resource}, 7, 1700000000");
                let explain = "explain (analyze, format json)";
                let plan = explained(&mut connection, explain, types, statement, &arguments).await;
                let read = entries_read(&plan, "changes_");
                assert!(
                    (1.0..30.0).contains(&read),
                    "{state}, {mode}: the plan reads {read} rows of kind {resource}: {plan}"
                );
            }
        }
    }
    assert_eq!(past.len(), 3);
}

/// Returns a database whose tables were analyzed before their first records were committed. To the planner, they have many pages and no rows.
///
/// Loads the records with plans from an empty database, as on the service's first day. Checks that the load does not scan existing records.
async fn analyzed_while_loaded() -> PgConnection {
    let options = fresh_database().await.options;
    let mut loading = PgConnection::connect_with(&options).await.unwrap();
    let mut connection = PgConnection::connect_with(&options).await.unwrap();
    bring_to(&mut connection, "empty").await;
    set_mode(&mut loading, "force_generic_plan").await;
    let mut transaction = loading.begin().await.unwrap();
    for statement in RECORDS {
        sqlx::query(statement).bind(1_i64).execute(&mut *transaction).await.unwrap();
    }
    sqlx::raw_sql("analyze").execute(&mut connection).await.unwrap();
    transaction.commit().await.unwrap();
    sqlx::raw_sql("select pg_stat_force_next_flush()").execute(&mut loading).await.unwrap();
    let read: Vec<(String, i64)> = sqlx::query_as(
        "select indexrelname::text, idx_tup_read from pg_stat_user_indexes
        where relname in ('affiliates', 'compliance_urls', 'compliance_cases') and idx_tup_read > 0",
    )
    .fetch_all(&mut loading)
    .await
    .unwrap();
    // The load inserts 160,500 rows with up to four foreign keys each. Setting a URL's case requires an extra lookup.
    assert!(read.iter().any(|(index, _)| index == "compliance_urls_pkey"), "no foreign key checks in {read:?}");
    assert!(read.iter().all(|(_, entries)| *entries < 400_000), "{read:?}");
    let known = "select relpages, reltuples from pg_class where relname = 'compliance_urls'";
    let (pages, rows): (i32, f32) = sqlx::query_as(known).fetch_one(&mut connection).await.unwrap();
    assert!(pages > 100 && rows < 1.0, "the statistics show {pages} pages and {rows} rows");
    connection
}

/// Checks that reads by ID and writes use the key, and that reads of all records follow the key.
async fn check_keys(connection: &mut PgConnection, state: &str) {
    expect_keys(connection, state, core_server::read_statements(), 9).await;
    expect_keys(connection, state, core_server::write_statements(), 15).await;
}

/// Checks that every scan of a large table compares at least two columns of an index, or continues after a key.
///
/// `least` is the minimum number of statements.
async fn expect_keys(
    connection: &mut PgConnection,
    state: &str,
    statements: impl Iterator<Item = (&'static str, &'static str)>,
    least: usize,
) {
    set_mode(connection, "force_generic_plan").await;
    let mut count = 0;
    for (number, (statement, types)) in statements.enumerate() {
        let arguments: Vec<&str> = types.split(", ").map(|_| "null").collect();
        let plan = plan(connection, types, statement, &arguments.join(", ")).await;
        let mut scans = Vec::new();
        collect_scans(&plan, &mut scans);
        for Scan { table, kind, condition, .. } in scans.iter().filter(|scan| !scan.kind.starts_with("Modify")) {
            let what = format!("statement {number} on a database ({state}): {kind} of {table} by {condition}");
            let by_key = condition.matches(" = ").count() >= 2 || condition.contains("(id > $2)");
            // Statements also find locked rows by their physical position.
            assert!(kind.starts_with("Index") && by_key || kind == "Tid Scan", "{what} in {plan}");
        }
        count += 1;
    }
    assert!(count >= least, "only {count} statements");
}

/// Batches do not compare each item with all of its case's incidents, or with all of the company's names.
///
/// The planner assumes that a batch has ten items.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batch_items_do_not_rescan_cases_or_vocabularies() {
    let mut connection = PgConnection::connect_with(&fresh_database().await.options).await.unwrap();
    bring_to(&mut connection, "empty").await;
    sqlx::raw_sql("alter table vocabulary_entries set (autovacuum_enabled = false)")
        .execute(&mut connection)
        .await
        .unwrap();
    let records = "
        insert into affiliates (company_id, id, client_affiliate_id, affiliate_name) values (1, 1, '1', '1');
        insert into compliance_cases (company_id, id, affiliate_id) values (1, 1, 1);
        insert into compliance_urls (company_id, id, url, url_hash)
            select 1, n, n::text, decode(lpad(to_hex(n), 16, '0'), 'hex') from generate_series(1, 5000) n;
        insert into incidents (company_id, case_id, incident_type, url_id, reference)
            select 1, 1, 1 + n % 2, case when n % 2 = 0 then n end, case when n % 2 = 1 then n::text end
            from generate_series(1, 5000) n;
        insert into vocabulary_entries (company_id, vocabulary, id, name, parent_id)
            select 1, 7 + n % 2, 100000 + n, n::text, case when n % 2 = 1 then 99999 + n end from generate_series(0, 4999) n";
    sqlx::raw_sql(records).execute(&mut connection).await.unwrap();
    set_mode(&mut connection, "force_generic_plan").await;
    // Every second item exists.
    let batches = [
        (
            "incident_input[]",
            "row(1 + n % 2, case when n % 2 = 0 then n / 2 end, null, case when n % 2 = 1 then n::text end, 1, null)",
        ),
        (
            "incident_key_input[]",
            "row(null, 1 + n % 2, case when n % 2 = 0 then n / 2 end, null, case when n % 2 = 1 then n::text end)",
        ),
        ("vocabulary_entry_input[]", "row(7 + n % 2, n::text, null, case when n % 2 = 1 then (n - 1)::text end)"),
    ];
    for (batch, item) in batches {
        let (statement, types) = core_server::write_statements().find(|(_, types)| types.contains(batch)).unwrap();
        let kind = batch.trim_end_matches("[]");
        let items = format!("select array(select {item}::{kind} from generate_series(9001, 10000) n)::text");
        let items: String = sqlx::query_scalar(AssertSqlSafe(items)).fetch_one(&mut connection).await.unwrap();
        let arguments: Vec<String> = types
            .split(", ")
            .enumerate()
            .map(|(position, kind)| match (position, kind) {
                (_, kind) if kind == batch => format!("'{}'", items.replace('\'', "''")),
                (_, "smallint") if position == 2 => "8".to_owned(),
                (_, "smallint") => "7".to_owned(),
                (0 | 1, _) => "1".to_owned(),
                _ => "10000".to_owned(),
            })
            .collect();
        let arguments = arguments.join(", ");
        let plan = explained(&mut connection, "explain (analyze, format json)", types, statement, &arguments).await;
        for table in ["incidents", "vocabulary_entries"] {
            let read = entries_read(&plan, table);
            // The limit allows reading all rows twice, plus the inserted or found rows.
            assert!(read < 16_000.0, "{batch}: the plan reads {read} entries of {table}: {plan}");
        }
    }
}

/// Returns PostgreSQL's foreign key queries in both directions, with their allowed indexes. Allowed indexes begin with the key columns.
async fn foreign_key_checks(connection: &mut PgConnection) -> Vec<(String, Vec<String>)> {
    let rows = sqlx::query_as::<_, (String, Vec<String>, String)>(
        "select k.relation, k.columns, i.name
        from (
            select confrelid as oid, confrelid::regclass::text as relation, confkey as key, confkey as numbers, array(
                select attname::text from unnest(confkey) with ordinality n (number, position)
                join pg_attribute on attrelid = confrelid and attnum = number order by position
            ) as columns from pg_constraint where contype = 'f'
            union
            select conrelid, conrelid::regclass::text, conkey, conkey, array(
                select attname::text from unnest(conkey) with ordinality n (number, position)
                join pg_attribute on attrelid = conrelid and attnum = number order by position
            ) from pg_constraint where contype = 'f'
        ) k
        left join lateral (
            select indexrelid::regclass::text as name from pg_index
            where indrelid = k.oid and (indkey::int2[])[0:1] = k.numbers
        ) i on true
        order by 1, 2, 3",
    );
    let mut checks: Vec<(String, Vec<String>)> = Vec::new();
    for (relation, columns, index) in rows.fetch_all(&mut *connection).await.unwrap() {
        let [company, column] = columns.as_slice() else { panic!("unexpected foreign key on {columns:?}") };
        let statement = format!(
            "select 1 from only {relation} x where {company} operator(pg_catalog.=) $1 and {column} operator(pg_catalog.=) $2
            for key share of x"
        );
        match checks.last_mut() {
            Some((last, indexes)) if *last == statement => indexes.push(index),
            _ => checks.push((statement, vec![index])),
        }
    }
    checks
}

/// Brings a database from the previous state to this state.
async fn bring_to(connection: &mut PgConnection, state: &str) {
    // Autovacuum must not analyze the tables at a random time.
    for table in LARGE {
        let statement = format!("alter table {table} set (autovacuum_enabled = false)");
        sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut *connection).await.unwrap();
    }
    match state {
        "empty" => {}
        "analyzed" => {
            sqlx::raw_sql("vacuum analyze").execute(&mut *connection).await.unwrap();
        }
        _ => {
            for statement in RECORDS {
                sqlx::query(statement).bind(1_i64).execute(&mut *connection).await.unwrap();
            }
        }
    }
}

async fn set_mode(connection: &mut PgConnection, mode: &str) {
    let statement = format!("set plan_cache_mode = {mode}");
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(connection).await.unwrap();
}

async fn plan(connection: &mut PgConnection, types: &str, statement: &str, arguments: &str) -> Value {
    explained(connection, "explain (format json)", types, statement, arguments).await
}

async fn explained(
    connection: &mut PgConnection,
    explain: &str,
    types: &str,
    statement: &str,
    arguments: &str,
) -> Value {
    let prepare = format!("prepare planned ({types}) as {statement}");
    sqlx::raw_sql(AssertSqlSafe(prepare)).execute(&mut *connection).await.unwrap();
    let explain = format!("{explain} execute planned({arguments})");
    let row = sqlx::raw_sql(AssertSqlSafe(explain)).fetch_one(&mut *connection).await.unwrap();
    sqlx::raw_sql("deallocate planned").execute(&mut *connection).await.unwrap();
    let text: String = row.try_get_unchecked(0).unwrap();
    serde_json::from_str::<Value>(&text).unwrap()[0]["Plan"].take()
}

/// Counts the entries read by scans of a table, including skipped entries. A name that ends in `_` is a prefix.
fn entries_read(plan: &Value, table: &str) -> f64 {
    let figure = |name: &str| plan[name].as_f64().unwrap_or_default();
    let name = plan["Relation Name"].as_str().unwrap_or_default();
    let own = if name == table || table.ends_with('_') && name.starts_with(table) {
        (figure("Actual Rows") + figure("Rows Removed by Filter")) * figure("Actual Loops")
    } else {
        0.0
    };
    own + plan["Plans"].as_array().into_iter().flatten().map(|inner| entries_read(inner, table)).sum::<f64>()
}

/// A scan of a large table.
struct Scan {
    table: String,
    kind: String,
    index: String,
    condition: String,
}

fn collect_scans(plan: &Value, scans: &mut Vec<Scan>) {
    if let Some(table) =
        plan["Relation Name"].as_str().filter(|table| LARGE.contains(table) || table.starts_with("changes_"))
    {
        let text = |name: &str| plan[name].as_str().unwrap_or_default().to_owned();
        scans.push(Scan {
            table: table.to_owned(),
            kind: text("Node Type"),
            index: text("Index Name"),
            condition: text("Index Cond"),
        });
    }
    for inner in plan["Plans"].as_array().into_iter().flatten() {
        collect_scans(inner, scans);
    }
}

/// Checks that the plan is a single scan of one of these indexes that compares this number of columns.
fn expect_index(plan: &Value, expected: &[String], columns: usize, what: &str) {
    let mut scans = Vec::new();
    collect_scans(plan, &mut scans);
    let [Scan { index, condition, .. }] = scans.as_slice() else { panic!("{what}: {plan}") };
    assert!(expected.contains(index), "{what}: uses {index} in {plan}");
    assert_eq!(condition.matches(" = ").count(), columns, "{what}: compares {condition}");
}
