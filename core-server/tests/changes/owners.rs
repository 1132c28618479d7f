//! Tests operators' own changes to the schema and data: reads of the record of changes keep working, and data changes are recorded.

use compliance_api::{
    json::datetime_text,
    v1::{GetAffiliateRequest, SearchChangesRequest},
};
use core_server::{audit, doctor::check_counts, erasure};
use prost_types::Timestamp;
use sqlx::{AssertSqlSafe, PgPool};
use test_support::{TestCore, connect_to_citus, fresh_database, new_company, now};

use super::{all, past};

/// Tables with recorded changes, in the order of their numbers.
const RECORDED: [&str; 6] =
    ["affiliates", "compliance_urls", "infractions", "compliance_cases", "incidents", "vocabulary_entries"];

async fn run(pool: &PgPool, statement: String) {
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(pool).await.unwrap();
}

/// Operators add and drop columns between writes. Feeds, audits, earlier states, searches and erasures ignore these columns.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn operator_columns_are_not_recorded() {
    let core = TestCore::over(fresh_database().await.options, 4).await;
    for table in RECORDED {
        run(
            &core.pool,
            format!("alter table {table} add column own_text text not null default 'own', add column own_json jsonb"),
        )
        .await;
    }
    let companies = [new_company(), new_company()];
    let mut snapshots = vec![past::history(&core, companies[0]).await];
    for table in RECORDED {
        let change = format!(
            "update {table} set own_text = 'mine';
            alter table {table} drop column own_text, drop column own_json, add column own_number bigint default 7"
        );
        run(&core.pool, change).await;
    }
    snapshots.push(past::history(&core, companies[1]).await);
    for (company, snapshots) in companies.into_iter().zip(&snapshots) {
        let mut clients = core.company(company);
        let changes = all(&mut clients, 0, 1000).await;
        let own = changes.iter().flat_map(|change| &change.fields).find(|field| field.field.starts_with("own"));
        assert_eq!(own, None);
        past::searches_find(&mut clients, changes).await;
        let mut connection = core.pool.acquire().await.unwrap();
        assert_eq!(audit::verify(&mut connection, company).await.unwrap(), None);
        past::read_every_state(&core, company, snapshots).await;
    }
    let mut connection = core.pool.acquire().await.unwrap();
    erasure::erase_company(&mut connection, companies[0]).await.unwrap();
    assert!(all(&mut core.company(companies[0]), 0, 1000).await.iter().any(|change| change.operation == "erased"));
}

/// Follows `docs/adding-a-field.md` in a database where an operator's column comes first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn new_columns_after_operator_columns_are_recorded() {
    let core = TestCore::over(fresh_database().await.options, 4).await;
    let company = new_company();
    let insert = |id: i64, columns: &str, values: &str| {
        format!(
            "insert into affiliates (company_id, id, client_affiliate_id, affiliate_name{columns})
            values ({company}, {id}, '{id}', '{id}'{values})"
        )
    };
    run(&core.pool, insert(1, "", "")).await;
    run(&core.pool, "alter table affiliates add column own text default 'own'".to_owned()).await;
    run(&core.pool, insert(2, "", "")).await;
    let ours = "alter table affiliates add column region text;
        alter type recorded_affiliates add attribute region text;
        do $$ begin perform record_changes_of('affiliates', 1); end $$";
    run(&core.pool, ours.to_owned()).await;
    run(&core.pool, insert(3, ", region", ", 'north'")).await;
    run(
        &core.pool,
        format!("update affiliates set region = 'south', own = 'x' where company_id = {company} and id > 1"),
    )
    .await;
    let changes = all(&mut core.company(company), 0, 10).await;
    let regions = changes.iter().map(|change| {
        assert!(change.fields.iter().all(|field| field.field != "own"), "{change:?}");
        let region = change.fields.iter().find(|field| field.field == "region");
        (change.id, region.map(|field| (field.before.as_deref(), field.after.as_deref())))
    });
    assert_eq!(
        regions.collect::<Vec<_>>(),
        [
            (1, None),
            (2, None),
            (3, Some((None, Some("north")))),
            (2, Some((None, Some("south")))),
            (3, Some((Some("north"), Some("south")))),
        ]
    );
    let mut connection = core.pool.acquire().await.unwrap();
    assert_eq!(audit::verify(&mut connection, company).await.unwrap(), None);
}

/// Each function sets its own `search_path` or qualifies all names. Trigger functions that record changes run as the owner.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn functions_do_not_depend_on_search_path() {
    let pool = TestCore::start().await.pool;
    let mut transaction = pool.begin().await.unwrap();
    let schema: String =
        sqlx::query_scalar("select current_schema()::text").fetch_one(&mut *transaction).await.unwrap();
    sqlx::raw_sql("set local search_path = ''").execute(&mut *transaction).await.unwrap();
    let functions = "select p.proname::text, pg_get_functiondef(p.oid), l.lanname = 'sql', p.prosecdef,
            exists (select from unnest(p.proconfig) setting where setting = format('search_path=%s, pg_temp', $1))
        from pg_proc p join pg_language l on l.oid = p.prolang
        where p.pronamespace = $1::regnamespace and l.lanname in ('sql', 'plpgsql')
            -- On Citus: what the service calls in place of its statements, and never a trigger.
            and p.proname !~ '^call_[0-9a-f]{16}$'";
    let functions = sqlx::query_as(functions).bind(schema).fetch_all(&mut *transaction).await;
    let functions: Vec<(String, String, bool, bool, bool)> = functions.unwrap();
    assert!(functions.len() > 25, "{functions:?}");
    for (name, definition, is_sql, is_definer, has_search_path) in functions {
        if RECORDED.iter().any(|table| name == format!("record_{table}")) {
            assert!(is_definer, "{name} must be `security definer`: callers cannot write changes themselves");
        }
        if is_definer {
            assert!(has_search_path, "{name} is `security definer` without a fixed search_path");
        }
        if has_search_path {
            continue;
        }
        let created = sqlx::raw_sql(AssertSqlSafe(definition)).execute(&mut *transaction).await;
        assert!(
            is_sql && created.is_ok(),
            "create {name} with `set search_path = …, pg_temp`, or in SQL with schema-qualified names: {created:?}"
        );
    }
    transaction.rollback().await.unwrap();
}

/// `pg_restore` and careful operators clear the `search_path`. Triggers still write changes and counts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn manual_changes_are_recorded_without_search_path() {
    let core = TestCore::start().await;
    let company = new_company();
    let mut connection = core.pool.acquire().await.unwrap();
    let schema: String = sqlx::query_scalar("select current_schema()::text").fetch_one(&mut *connection).await.unwrap();
    let changes = [
        "insert into {s}.affiliates (company_id, id, client_affiliate_id, affiliate_name) values ({c}, 1, 'a', 'a')",
        "insert into {s}.compliance_cases (company_id, id, affiliate_id) values ({c}, 1, 1)",
        "insert into {s}.compliance_urls (company_id, id, url, url_hash, affiliate_id) values ({c}, 1, 'u', 'u', 1)",
        "insert into {s}.infractions (company_id, id, url_id) values ({c}, 1, 1)",
        "insert into {s}.incidents (company_id, id, case_id, incident_type, url_id) values ({c}, 1, 1, 1, 1)",
        "insert into {s}.vocabulary_entries (company_id, vocabulary, name) values ({c}, 1, 'x')",
        "update {s}.affiliates set city = 'X' where company_id = {c}",
        "update {s}.compliance_cases set case_status_id = 2 where company_id = {c}",
        "update {s}.compliance_urls set disabled = true where company_id = {c}",
        "update {s}.infractions set infraction_type_id = 2 where company_id = {c}",
        "update {s}.incidents set infraction_type_id = 2 where company_id = {c}",
        "update {s}.vocabulary_entries set name = 'y' where company_id = {c}",
        "delete from {s}.incidents where company_id = {c}",
        "delete from {s}.infractions where company_id = {c}",
        "delete from {s}.compliance_urls where company_id = {c}",
        "delete from {s}.compliance_cases where company_id = {c}",
        "delete from {s}.affiliates where company_id = {c}",
        "delete from {s}.vocabulary_entries where company_id = {c}",
    ];
    let before = sqlx::query_scalar::<_, String>("select set_config('search_path', '', false)");
    before.fetch_one(&mut *connection).await.unwrap();
    for change in changes {
        let change = change.replace("{s}", &schema).replace("{c}", &company.to_string());
        sqlx::raw_sql(AssertSqlSafe(change)).execute(&mut *connection).await.unwrap();
    }
    sqlx::raw_sql("reset search_path").execute(&mut *connection).await.unwrap();
    // Two more changes: the incident sets its URL's case, and its deletion clears the case.
    let recorded = all(&mut core.company(company), 0, 100).await;
    assert_eq!(recorded.len(), changes.len() + 2);
    assert_eq!(audit::verify(&mut connection, company).await.unwrap(), None);
    assert_eq!(check_counts(&mut connection, false).await.unwrap(), []);
}

/// Anyone can create a temporary table, but not even the owner can use one to record changes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn temporary_tables_cannot_record_changes() {
    let core = TestCore::start().await;
    let company = new_company();
    let mut connection = core.pool.acquire().await.unwrap();
    for table in RECORDED {
        let may = "select has_function_privilege('public', ('record_' || $1)::regproc, 'execute')";
        let may: bool = sqlx::query_scalar(may).bind(table).fetch_one(&mut *connection).await.unwrap();
        assert!(!may, "any role can use record_{table} in a trigger");
    }
    let own = format!(
        "create temporary table own_infractions (like infractions);
        create trigger own after insert on own_infractions referencing new table as new_rows
            for each statement execute function record_infractions();
        insert into own_infractions (company_id, id, url_id, created_date) values ({company}, 1, 1, now())"
    );
    let error = sqlx::raw_sql(AssertSqlSafe(own)).execute(&mut *connection).await.unwrap_err();
    assert_eq!(error.as_database_error().unwrap().code().as_deref(), Some("42501"), "{error}");
    assert_eq!(all(&mut core.company(company), 0, 10).await.len(), 0);
}

/// Changes identify a record by its company and ID.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn record_keys_are_immutable() {
    let core = TestCore::start().await;
    let company = new_company();
    let rows = format!(
        "insert into affiliates (company_id, id, client_affiliate_id, affiliate_name) values ({company}, 1, 'a', 'a');
        insert into compliance_cases (company_id, id, affiliate_id) values ({company}, 1, 1);
        insert into compliance_urls (company_id, id, url, url_hash) values ({company}, 1, 'u', 'u');
        insert into infractions (company_id, id, url_id) values ({company}, 1, 1);
        insert into incidents (company_id, id, case_id, incident_type, reference) values ({company}, 1, 1, 2, 'x');
        insert into vocabulary_entries (company_id, id, vocabulary, name) values ({company}, 1001, 1, 'x');
        insert into webhooks (company_id, id, url, types, secret, position) values ({company}, 1, 'u', '{{}}', 's', 0)"
    );
    for row in rows.split(";\n") {
        run(&core.pool, row.to_owned()).await;
    }
    let is_citus = connect_to_citus(&core.pool).await.is_some();
    for table in RECORDED.into_iter().chain(["webhooks"]) {
        // Citus itself rejects updates of `company_id`.
        let columns: &[&str] = if is_citus { &["id"] } else { &["id", "company_id"] };
        for column in columns {
            let update = format!("update {table} set {column} = {column} + 1000000 where company_id = {company}");
            let error = sqlx::raw_sql(AssertSqlSafe(update)).execute(&core.pool).await.unwrap_err();
            let error = error.as_database_error().unwrap();
            assert_eq!(error.code().as_deref(), Some("23001"), "{table}.{column}: {error}");
            assert!(error.message().contains("never change"), "{error}");
        }
        // An update that sets the same key succeeds.
        run(&core.pool, format!("update {table} set id = id where company_id = {company}")).await;
    }
    for (table, column) in [("infractions", "url_id"), ("incidents", "case_id"), ("vocabulary_entries", "vocabulary")] {
        let update = format!("update {table} set {column} = {column} + 1 where company_id = {company}");
        let error = sqlx::raw_sql(AssertSqlSafe(update)).execute(&core.pool).await.unwrap_err();
        let expected = format!("{column} of a row of {table}");
        assert!(error.as_database_error().unwrap().message().starts_with(&expected), "{error}");
        run(&core.pool, format!("update {table} set {column} = {column} where company_id = {company}")).await;
    }
    let upsert = "insert into affiliates (company_id, id, client_affiliate_id, affiliate_name) values ({}, 1, 'a', 'a')
        on conflict (company_id, id) do update set id = excluded.id, city = 'X'";
    run(&core.pool, upsert.replace("{}", &company.to_string())).await;
    let changes = all(&mut core.company(company), 0, 100).await;
    assert_eq!(changes.last().map(|change| change.fields.len()), Some(2));
}

/// Some tables have longer keys, so two of a company's rows can have the same ID.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_with_equal_ids_are_recorded_separately() {
    let core = TestCore::start().await;
    let company = new_company();
    let statements = "
        insert into affiliates (company_id, id, client_affiliate_id, affiliate_name) values ({c}, 1, 'a', 'a');
        insert into compliance_cases (company_id, id, affiliate_id) values ({c}, 1, 1), ({c}, 2, 1);
        insert into compliance_urls (company_id, id, url, url_hash) values ({c}, 1, 'u', 'u'), ({c}, 2, 'v', 'v');
        insert into infractions (company_id, id, url_id, infraction_type_id) values ({c}, 1, 1, 1), ({c}, 1, 2, 2);
        insert into incidents (company_id, id, case_id, incident_type, reference) values ({c}, 1, 1, 2, 'x'), ({c}, 1, 2, 2, 'y');
        insert into vocabulary_entries (company_id, id, vocabulary, name) values ({c}, 1001, 1, 'x'), ({c}, 1001, 2, 'y');
        update infractions set infraction_type_id = infraction_type_id + 10 where company_id = {c};
        update incidents set reference = reference || '!' where company_id = {c};
        update vocabulary_entries set name = name || '!' where company_id = {c}";
    for statement in statements.split(";\n") {
        run(&core.pool, statement.replace("{c}", &company.to_string())).await;
    }
    let updates = "select r.record from changes c cross join lateral unnest(c.records) r (record)
        where c.company_id = $1 and c.operation = 2 order by c.position, r.record";
    let updates: Vec<String> = sqlx::query_scalar(updates).bind(company).fetch_all(&core.pool).await.unwrap();
    let expected = [
        r#","infraction_type_id":[1, 11]"#,
        r#","infraction_type_id":[2, 12]"#,
        r#","reference":["x", "x!"]"#,
        r#","reference":["y", "y!"]"#,
        r#","name":["x", "x!"]"#,
        r#","name":["y", "y!"]"#,
    ];
    assert_eq!(updates, expected);
}

/// Released names are not recorded, so each affiliate needs a new name before the commit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn released_names_cannot_be_committed() {
    let core = TestCore::start().await;
    let company = new_company();
    let (c, released) = (company, "repeat('.', 200) || ':'");
    let insert = "insert into affiliates (company_id, id, client_affiliate_id, affiliate_name) values";
    run(&core.pool, format!("{insert} ({c}, 1, 'a', 'A'), ({c}, 2, 'b', 'B')")).await;
    let release = format!("update affiliates set affiliate_name = {released} || affiliate_name where company_id = {c}");
    for refused in [
        release.clone(),
        format!("{insert} ({c}, 3, 'c', {released} || 'C')"),
        format!(
            "{release} and id = 1; update affiliates set affiliate_name = {released} || 'X' where company_id = {c} and id = 1"
        ),
        format!("{release}; update affiliates set affiliate_name = 'X' where company_id = {c} and id = 1"),
    ] {
        let error = sqlx::raw_sql(AssertSqlSafe(refused.clone())).execute(&core.pool).await.expect_err(&refused);
        let error = error.as_database_error().unwrap();
        assert_eq!(error.code().as_deref(), Some("23001"), "{refused}: {error}");
        assert!(error.message().contains("has a released name"), "{error}");
    }
    assert_eq!(all(&mut core.company(company), 0, 100).await.len(), 2);
    // Affiliate 1 takes the name of a deleted affiliate.
    let names = format!(
        "{release}; delete from affiliates where company_id = {c} and id = 2;
        update affiliates set affiliate_name = 'B' where company_id = {c} and id = 1"
    );
    run(&core.pool, names).await;
    assert_eq!(all(&mut core.company(company), 0, 100).await.len(), 4);
}

/// Date columns that no program reads, except to sort lists by `last_updated_date`.
const UNREAD: [(&str, &str); 3] =
    [("_sqlx_migrations", "installed_on"), ("change_drops", "changed_at"), ("affiliates", "last_updated_date")];

/// Checks every date column in the catalog, so new columns need a constraint. Monthly partitions of `changes` have bounds instead.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_reject_unrepresentable_dates() {
    let pool = TestCore::start().await.pool;
    let columns = "
        select c.relname::text, a.attname::text, format_type(a.atttypid, a.atttypmod),
            (
                select string_agg(format('(%s) is false', pg_get_expr(k.conbin, k.conrelid)), ' or ')
                from pg_constraint k where k.conrelid = c.oid and k.contype = 'c'
            ),
            (
                select string_agg(format('%s as %I', case b.attnum when a.attnum then '$1::text' else 'null' end
                    || '::' || format_type(b.atttypid, b.atttypmod), b.attname), ', ')
                from pg_attribute b where b.attrelid = c.oid and b.attnum > 0 and not b.attisdropped
            )
        from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
        where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r'
            and (not c.relispartition or pg_get_expr(c.relpartbound, c.oid) = 'DEFAULT')
            and format_type(a.atttypid, null) ~ '^(date|timestamp)'
        order by 1, 2";
    let columns: Vec<(String, String, String, Option<String>, String)> =
        sqlx::query_as(columns).fetch_all(&pool).await.unwrap();
    assert!(columns.len() > 25, "{columns:?}");
    for (table, column, sql_type, refused, row) in columns {
        if UNREAD.contains(&(&*table, &*column)) {
            continue;
        }
        for date in ["infinity", "-infinity", "10000-01-01", "0044-03-15 BC"] {
            let refused = refused.as_deref().unwrap_or("false");
            let value = if sql_type.ends_with("[]") { format!("{{{date}}}") } else { date.to_owned() };
            let check = AssertSqlSafe(format!("select {refused} from (select {row}) t"));
            let is_refused: bool = sqlx::query_scalar(check).bind(value).fetch_one(&pool).await.unwrap();
            assert!(
                is_refused,
                "{table}.{column} accepts {date}: add a migration that extends the constraint {table}_dates_check"
            );
        }
    }
}

/// Simulates changes from before the constraint.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_with_unrepresentable_times_stay_readable() {
    let core = TestCore::over(fresh_database().await.options, 4).await;
    run(&core.pool, "alter table changes_default drop constraint changes_default_dates_check".to_owned()).await;
    for date in ["infinity", "-infinity", "10000-01-01", "0044-03-15 BC"] {
        let company = new_company();
        let mut clients = core.company(company);
        let id = clients.affiliate("A").await;
        clients.affiliate("B").await;
        run(
            &core.pool,
            format!("update changes set changed_at = '{date}' where company_id = {company} and position = 1"),
        )
        .await;
        let changes = all(&mut clients, 0, 10).await;
        assert_eq!(changes.iter().map(|change| change.time.is_some()).collect::<Vec<_>>(), [false, true], "{date}");
        clients.audit.search_changes(SearchChangesRequest::default()).await.unwrap();
        let as_of = datetime_text(&Timestamp { seconds: now(), nanos: 0 });
        clients.affiliates.get_affiliate(GetAffiliateRequest { id, as_of }).await.unwrap();
        audit::retained(&core.pool, company).await.unwrap();
        let mut connection = core.pool.acquire().await.unwrap();
        assert!(audit::verify(&mut connection, company).await.unwrap().is_some(), "the audit must report {date}");
    }
}
