//! The schema that this version requires, and every operation's statements.

use compliance_api::v1::{Affiliate, AffiliateInput, ComplianceCase, ComplianceUrl};
use storage::{Schema, table::Expected};

use crate::{affiliates, cases, changes, monitoring, overview, urls, webhooks};

/// The tables and the statements that use them.
pub(crate) static SCHEMA: Schema = Schema {
    migrations: sqlx::migrate!("./migrations"),
    statements,
    distributed: &[
        "affiliates",
        "vocabulary_entries",
        "compliance_case_counts",
        "compliance_url_counts",
        "compliance_cases",
        "compliance_urls",
        "infractions",
        "incidents",
        "change_positions",
        "changes",
        "webhooks",
        "webhook_deliveries",
        "change_drops",
    ],
    copied: &["_sqlx_migrations", "change_retention"],
    numbered: &[
        "affiliates",
        "vocabulary_entries",
        "compliance_cases",
        "compliance_urls",
        "infractions",
        "incidents",
        "webhooks",
    ],
    objects: &[
        ("affiliates", [9, 4, 3]),
        ("vocabulary_entries", [5, 3, 2]),
        ("compliance_cases", [10, 5, 6]),
        ("compliance_urls", [10, 6, 11]),
        ("infractions", [6, 5, 2]),
        ("incidents", [7, 7, 3]),
        ("compliance_url_counts", [0, 1, 1]),
        ("compliance_case_counts", [0, 1, 1]),
        ("change_positions", [0, 2, 1]),
        ("changes", [0, 1, 6]),
        ("webhooks", [5, 4, 1]),
        ("webhook_deliveries", [0, 3, 1]),
        ("database_identity", [0, 3, 1]),
        ("change_retention", [0, 4, 1]),
        ("change_drops", [0, 2, 1]),
    ],
    functions: &[
        "change_compliance_url_counts",
        "change_compliance_case_counts",
        "change_case_of_urls",
        "write_changes",
        "erase_changes",
    ],
};

fn statements() -> Vec<(&'static str, &'static str)> {
    let pages = list_statements().map(|(_, statement, types)| (statement, &*types.leak()));
    let reads = read_statements().chain(scan_statements());
    let writes = write_statements().chain(monitoring::SMALL_STATEMENTS).chain(webhooks::statements());
    pages.chain(reads).chain(writes).collect()
}

/// Returns the tables and types that the core expects in the database catalog.
pub(crate) fn expected() -> Expected {
    let expected = Expected::default()
        .record::<Affiliate>()
        .record::<AffiliateInput>()
        .record::<ComplianceUrl>()
        .record::<ComplianceCase>()
        .composite(&affiliates::INPUT);
    monitoring::expect(expected)
}

/// Returns the statements that read a page, with their names and parameter types, for plan checks.
pub fn list_statements() -> impl Iterator<Item = (String, &'static str, String)> {
    urls::STATEMENTS.pages().chain(cases::STATEMENTS.pages())
}

/// Returns the statements that read records by ID or all records, with their parameter types, for plan checks.
pub fn read_statements() -> impl Iterator<Item = (&'static str, &'static str)> {
    let exports = monitoring::export_statements();
    affiliates::read_statements()
        .chain(urls::STATEMENTS.reads())
        .chain(cases::STATEMENTS.reads())
        .chain(exports)
        .chain([urls::KNOWN])
}

/// Returns the statements that scan a company's records by key, with their parameter types, for plan checks.
///
/// Covers searches, the overview and changes. A scan ends when it has enough records or has read all records.
pub fn scan_statements() -> impl Iterator<Item = (&'static str, &'static str)> {
    let changes = [changes::STATEMENT, changes::SEARCH, changes::CHANGED];
    let past = changes::PAST.values().map(|statement| (*statement, changes::TYPES_OF_PAST));
    let others = [urls::search_statement(), overview::STATEMENT];
    affiliates::scan_statements()
        .chain(others)
        .chain(urls::STATEMENTS.compared())
        .chain(cases::STATEMENTS.compared())
        .chain(changes)
        .chain(past)
}

/// Returns the statements that write many records, with their parameter types, for plan checks.
pub fn write_statements() -> impl Iterator<Item = (&'static str, &'static str)> {
    affiliates::write_statements().chain([urls::ADD]).chain(monitoring::WRITE_STATEMENTS)
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
    use storage::limits::STATEMENT_CACHE;
    use test_support::fresh_database;

    use super::*;

    /// The digests of all released migrations, as `sha384sum` prints them.
    const PUBLISHED: &str = include_str!("../migrations/published.sha384");

    /// Databases store the digests of applied migrations. Changes go into new files, which each release adds to the list.
    #[test]
    fn published_migrations_never_change() {
        let hexadecimal = |byte: &u8| [byte >> 4, byte & 15].map(|digit| char::from_digit(digit.into(), 16).unwrap());
        let digest = |bytes: &[u8]| bytes.iter().flat_map(hexadecimal).collect::<String>();
        let steps: Vec<(String, i64)> =
            SCHEMA.migrations.iter().map(|step| (digest(&step.checksum), step.version)).collect();
        let mut count = 0;
        for line in PUBLISHED.lines() {
            let (digest, file) = line.split_once("  ").unwrap();
            let version = file.split('_').next().unwrap().parse().unwrap();
            assert!(steps.contains(&(digest.to_owned(), version)), "{file} was published and must not change");
            count += 1;
        }
        assert!(count >= 18, "only {count} published migrations");
    }

    #[test]
    fn every_table_is_distributed_or_copied() {
        let lines = SCHEMA.migrations.iter().flat_map(|step| step.sql.as_str().lines());
        let made = lines.filter_map(|line| line.strip_prefix("create table ")?.split([' ', '(']).next());
        // Only the coordinator has a database identity.
        let made = made.filter(|table| *table != "database_identity");
        let known = SCHEMA.distributed.iter().chain(SCHEMA.copied).copied();
        let known = known.filter(|table| *table != "_sqlx_migrations");
        assert_eq!(made.collect::<BTreeSet<_>>(), known.collect());
    }

    /// Without an expected number, a missing trigger would go unnoticed.
    #[tokio::test]
    async fn expected_objects_are_complete() {
        let options = fresh_database().await.options;
        let mut connection = PgConnection::connect_with(&options).await.unwrap();
        let all = "select count(*) filter (where kind = 't'), count(*) filter (where kind = 'c'), count(*) filter (where kind = 'i')
            from (select 't' as kind, tgrelid as relation from pg_trigger where not tgisinternal
                union all select 'c', conrelid from pg_constraint where contype in ('c', 'f', 'p', 'u')
                union all select 'i', indrelid from pg_index) as objects
            join pg_class c on c.oid = relation
            where relnamespace = 'public'::regnamespace and not relispartition and relname <> '_sqlx_migrations'";
        let all: (i64, i64, i64) = sqlx::query_as(all).fetch_one(&mut connection).await.unwrap();
        let expected = [0, 1, 2].map(|kind| SCHEMA.objects.iter().map(|(_, counts)| counts[kind]).sum::<i64>());
        assert_eq!([all.0, all.1, all.2], expected);
        connection.close().await.unwrap();
        let pool = sqlx::PgPool::connect_with(options).await.unwrap();
        storage::database::check_complete(&pool, &SCHEMA).await.unwrap();
        let check = async || storage::database::check_migrated(&pool, &SCHEMA).await;
        check().await.unwrap();
        for (damage, repair) in [
            ("alter table incidents disable trigger user", "alter table incidents enable trigger user"),
            ("drop trigger a_record_deleted on webhooks", "select"),
        ] {
            sqlx::raw_sql(damage).execute(&pool).await.unwrap();
            let error = check().await.unwrap_err();
            assert!(error.is_wrong_setting() && error.to_string().contains("triggers of "), "{error}");
            sqlx::raw_sql(repair).execute(&pool).await.unwrap();
        }
        pool.close().await;
    }

    /// Renames the tables and their constraints to shard names. Statements that use any other name then fail to prepare.
    #[tokio::test]
    async fn every_statement_prepares_with_shard_names() {
        let options = fresh_database().await.options;
        let mut node = PgConnection::connect_with(&options).await.unwrap();
        let next_id = "create function next_id(text) returns bigint language sql as 'select 1::bigint'".to_owned();
        let mut names = vec![next_id];
        for (shard, table) in (1..).zip(SCHEMA.distributed) {
            let constraints =
                "select conname::text from pg_constraint where conrelid = $1::text::regclass and contype in ('p', 'u')";
            let constraints: Vec<String> =
                sqlx::query_scalar(constraints).bind(table).fetch_all(&mut node).await.unwrap();
            for constraint in constraints {
                names.push(format!("alter table {table} rename constraint {constraint} to {constraint}_{shard}"));
            }
            names.push(format!("alter table {table} rename to {table}_{shard}"));
        }
        sqlx::raw_sql(AssertSqlSafe(names.join(";"))).execute(&mut node).await.unwrap();
        let shards: Vec<String> = (1..=SCHEMA.distributed.len()).map(|shard| shard.to_string()).collect();
        let mut count = 0;
        for (statement, types) in storage::database::statements_on_shards(&SCHEMA) {
            let text = sqlx::query_scalar("select format($1, variadic $2)").bind(statement).bind(&shards);
            let text: String = text.fetch_one(&mut node).await.unwrap();
            let prepare = sqlx::raw_sql(AssertSqlSafe(format!("prepare statement_{count} ({types}) as {text}")));
            prepare.execute(&mut node).await.unwrap_or_else(|error| panic!("{error}: {text}"));
            count += 1;
        }
        assert!(count > 150, "only {count} statements");
        node.close().await.unwrap();
    }

    /// Preparing an evicted statement again costs a round trip and a plan.
    #[test]
    fn statement_cache_holds_every_statement() {
        // Maximum number of statements that are neither listed by this crate nor described in `.sqlx`.
        let others = 50;
        let lists = list_statements().count();
        let described = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".sqlx")).unwrap().count();
        let all = lists + read_statements().count() + write_statements().count() + described + others;
        assert!(
            all <= STATEMENT_CACHE,
            "{all} statements ({lists} for lists) do not fit into a cache of {STATEMENT_CACHE}"
        );
    }
}
