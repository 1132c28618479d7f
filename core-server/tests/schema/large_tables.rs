//! Tests that migrations do not block users of large tables. Before each migration commits, the test asks PostgreSQL what the migration did
//! to existing tables. `docs/adding-a-field.md` describes the alternatives.

use sqlx::{AssertSqlSafe, Connection as _, PgConnection, migrate::Migrator};
use test_support::fresh_database;

static STEPS: Migrator = sqlx::migrate!("./migrations");

/// The last migration that predates the rules. It also follows them.
const BEFORE_RULES: i64 = 20_261_121_000_008;

/// Inserts rows into every table that migrations can change.
const TABLES: &str = "
    insert into affiliates (company_id, id, client_affiliate_id, affiliate_name) values (1, 1, 'A', 'A'), (1, 2, 'B', 'B');
    insert into compliance_cases (company_id, id, affiliate_id) values (1, 1, 1);
    insert into compliance_urls (company_id, id, url, url_hash, domain) values (1, 1, 'https://a.example/', '1', 'a.example');
    insert into infractions (company_id, url_id) values (1, 1);
    insert into incidents (company_id, case_id, incident_type, url_id) values (1, 1, 1, 1);
    insert into vocabulary_entries (company_id, vocabulary, name) values (1, 1, 'A')";

/// Saves the state before a migration.
const BEFORE: &str = "
    drop table if exists large_before;
    create table large_before as
        select c.oid, c.relname, pg_relation_filenode(c.oid) as file, array(select conname from pg_constraint where conrelid = c.oid
            and convalidated) as constraints, array(select indexrelid from pg_index where indrelid = c.oid) as indexes
        from pg_class c where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r'";

/// Returns the first rule that this transaction's statements violate.
const BROKEN: &str = "
    with large as (
        select b.*, exists (select from pg_locks where pid = pg_backend_pid() and relation = b.oid and granted and mode in
            ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')) as locked
        from large_before b join pg_class c on c.oid = b.oid
    )
    select format(rule, relname) from (
        select 1 as number, relname, 'rewrites %s: add a column that may be null or has a constant default, and change no type' as rule
        from large where file <> pg_relation_filenode(oid)
        union all
        select 2, relname, 'makes an index on %s while writers wait: `create index concurrently`, in a file of its own that begins with `-- no-transaction`'
        -- A table without rows has its index at once.
        from large where pg_relation_size(oid) > 0 and exists (
            select from pg_index i where i.indrelid = large.oid and i.indexrelid <> all(indexes))
        union all
        select 3, relname, 'checks all rows of %s while others wait: add the constraint `not valid`, and `validate constraint` in a file of its own'
        -- A constraint trigger checks no rows that exist.
        from large where locked and exists (
            select from pg_constraint n
            where n.conrelid = large.oid and n.contype <> 't' and n.convalidated and n.conname <> all(constraints))
        union all
        select 4, l.relname, 'changes rows of %s in one transaction: in batches that commit, in a file of its own that begins with `-- no-transaction`'
        from large l join pg_stat_xact_user_tables s on s.relid = l.oid
        where s.n_tup_ins + s.n_tup_upd + s.n_tup_del > 0
        union all
        select 5, l.relname, 'reads all rows of %s while others wait: `set not null` needs a valid constraint that says the same'
        from large l join pg_stat_xact_user_tables s on s.relid = l.oid where l.locked and s.seq_scan > 0 and pg_relation_size(l.oid) > 0
    ) broken order by number, relname limit 1";

/// Returns the rule that the text of a non-transactional migration violates. Such a migration commits while it runs.
fn broken_outside(sql: &str) -> Option<&'static str> {
    let lines = sql.lines().filter(|line| !line.trim_start().starts_with("--"));
    let text = lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ");
    let statement = text.strip_suffix(';').unwrap_or(&text);
    if let Some(body) = statement.strip_prefix("do $$") {
        let is_whole = body.find("$$").is_some_and(|end| end + 2 == body.len());
        return (!is_whole || !body.contains("commit;") || !body.contains(" limit ") || !body.contains("lock_timeout"))
            .then_some("must be one `do $$ … $$` that changes rows in batches with a `limit`, commits each batch, and sets a `lock_timeout`");
    }
    if statement.contains(';') {
        return Some("must be one statement: PostgreSQL runs several as one transaction");
    }
    let forms = ["create index concurrently ", "create unique index concurrently ", "drop index concurrently "];
    if !forms.iter().any(|form| statement.starts_with(form)) {
        return Some("can only create or drop indexes `concurrently`, or change rows in batches");
    }
    let checks = statement.starts_with("create") && statement.contains("if not exists");
    checks.then_some("must not use `if not exists`: an earlier attempt can leave an unfinished index")
}

/// Runs a migration and returns the rule that it violates, if any.
async fn broken(connection: &mut PgConnection, sql: &str) -> Option<String> {
    if sql.starts_with("-- no-transaction") {
        let rule = broken_outside(sql);
        if rule.is_none() {
            sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(connection).await.unwrap();
        }
        return rule.map(|rule| format!("a non-transactional migration {rule}"));
    }
    sqlx::raw_sql(BEFORE).execute(&mut *connection).await.unwrap();
    // Flushes the statistics, so earlier statements do not count.
    sqlx::raw_sql("select pg_stat_force_next_flush()").execute(&mut *connection).await.unwrap();
    let mut transaction = connection.begin().await.unwrap();
    sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(&mut *transaction).await.unwrap();
    let rule = sqlx::query_scalar(BROKEN).fetch_optional(&mut *transaction).await.unwrap();
    transaction.commit().await.unwrap();
    rule
}

/// Creates the schema as it was before the rules, with a few records.
async fn before_rules() -> PgConnection {
    let mut connection = PgConnection::connect_with(&fresh_database().await.options).await.unwrap();
    let schema = "create schema before_rules; set search_path = before_rules";
    sqlx::raw_sql(schema).execute(&mut connection).await.unwrap();
    for step in STEPS.iter().filter(|step| step.version <= BEFORE_RULES) {
        sqlx::raw_sql(step.sql.clone()).execute(&mut connection).await.unwrap();
    }
    sqlx::raw_sql(TABLES).execute(&mut connection).await.unwrap();
    connection
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn migrations_do_not_block_large_tables() {
    let mut connection = before_rules().await;
    for step in STEPS.iter().filter(|step| step.version > BEFORE_RULES) {
        let rule = broken(&mut connection, step.sql.as_str()).await;
        assert_eq!(rule, None, "migrations/{}_{}.sql blocks other statements", step.version, step.description);
    }
    // The records predate the record of changes, so it starts at position 1.
    let position = "select position from change_positions where company_id = 1";
    assert_eq!(sqlx::query_scalar::<_, i64>(position).fetch_one(&mut connection).await.unwrap(), 1);
    connection.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_rule_violation_is_detected() {
    let mut connection = before_rules().await;
    for (sql, rule) in [
        ("alter table affiliates add a text", ""),
        ("alter table affiliates add b bigint not null default 1", ""),
        ("alter table affiliates add c timestamptz not null default now()", ""),
        ("alter table affiliates add d uuid default gen_random_uuid()", "rewrites affiliates"),
        ("alter table compliance_urls alter country type integer", "rewrites compliance_urls"),
        ("alter table affiliates add e bigserial", "rewrites affiliates"),
        ("truncate compliance_url_counts", "rewrites compliance_url_counts"),
        ("create index i on compliance_urls (company_id, domain)", "makes an index on compliance_urls"),
        ("alter table incidents add constraint u unique (company_id, id)", "makes an index on incidents"),
        ("create table small (n integer primary key); create index j on small (n); insert into small values (1)", ""),
        ("alter table affiliates add constraint k check (id > 0)", "checks all rows of affiliates"),
        ("alter table infractions add constraint l check (id > 0) not valid", ""),
        ("alter table infractions validate constraint l", ""),
        ("create constraint trigger t after update on incidents for each row execute function set_case_of_urls()", ""),
        (
            "alter table incidents add constraint m foreign key (company_id, case_id) references compliance_cases not valid;
             alter table incidents validate constraint m",
            "checks all rows of incidents",
        ),
        ("update compliance_cases set case_worker = 'A'", "changes rows of compliance_cases"),
        ("delete from infractions", "changes rows of infractions"),
        ("alter table compliance_urls alter domain set not null", "reads all rows of compliance_urls"),
        ("-- no-transaction\ncreate index concurrently o on compliance_urls (company_id, domain);", ""),
        ("-- no-transaction\ncreate index if not exists p on compliance_urls (id)", "can only create or drop indexes"),
        ("-- no-transaction\ncreate index concurrently if not exists p on compliance_urls (id)", "must not use `if not exists`"),
        ("-- no-transaction\ndrop index concurrently o; create index concurrently o on affiliates (id)", "must be one statement"),
        ("-- no-transaction\ndo $$ begin update affiliates set a = 'A'; commit; end $$", "in batches with a `limit`"),
        ("-- no-transaction\ndo $$ begin commit; end $$; vacuum full affiliates", "in batches with a `limit`"),
        ("-- no-transaction\nvacuum full affiliates", "can only create or drop indexes"),
        (BATCHES, ""),
    ] {
        let found = broken(&mut connection, sql).await.unwrap_or_default();
        assert!(found.contains(rule) && found.is_empty() == rule.is_empty(), "{sql}: {found}");
    }
    let filled = "select count(*) filter (where a is null) from affiliates";
    assert_eq!(sqlx::query_scalar::<_, i64>(filled).fetch_one(&mut connection).await.unwrap(), 0);
    connection.close().await.unwrap();
}

/// The example in `docs/adding-a-field.md`. It can stop at any time and later continue with the remaining rows.
const BATCHES: &str = "-- no-transaction
do $$
declare
    last record;
begin
    perform set_config('lock_timeout', '40ms', false);
    select 0::bigint as company_id, 0::bigint as id into last;
    loop
        with batch as (
            select company_id, id from affiliates where (company_id, id) > (last.company_id, last.id)
            order by company_id, id limit 1000
        ), changed as (
            update affiliates t set a = upper(t.affiliate_name) from batch b
            where t.company_id = b.company_id and t.id = b.id and t.a is null
        )
        select company_id, id into last from batch order by company_id desc, id desc limit 1;
        exit when last is null;
        commit;
        perform pg_sleep(0.05);
    end loop;
end
$$";
