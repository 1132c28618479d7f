//! The schema that this version of the service works with.

use compliance_api::v1::{Affiliate, AffiliateInput, ComplianceCase, ComplianceUrl};
use storage::{Schema, table::Expected};

use crate::{
    affiliates, monitoring,
    statements::{list_statements, read_statements, scan_statements, write_statements},
    webhooks,
};

/// The tables, and the statements that use them.
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

/// What the database's catalogue is checked against at start.
pub(crate) fn expected() -> Expected {
    let expected = Expected::default()
        .record::<Affiliate>()
        .record::<AffiliateInput>()
        .record::<ComplianceUrl>()
        .record::<ComplianceCase>()
        .composite(&affiliates::INPUT);
    monitoring::expect(expected)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::SCHEMA;

    /// The migrations of all releases as `sha384sum` prints them.
    const PUBLISHED: &str = include_str!("../migrations/published.sha384");

    /// Databases have run the migrations that a release has, and know their digests. A change goes into a new file, and a release adds its
    /// new files to the list.
    #[test]
    fn a_published_migration_never_changes() {
        let hexadecimal = |byte: &u8| [byte >> 4, byte & 15].map(|digit| char::from_digit(digit.into(), 16).unwrap());
        let digest = |bytes: &[u8]| bytes.iter().flat_map(hexadecimal).collect::<String>();
        let steps: Vec<(String, i64)> =
            SCHEMA.migrations.iter().map(|step| (digest(&step.checksum), step.version)).collect();
        let mut count = 0;
        for line in PUBLISHED.lines() {
            let (digest, file) = line.split_once("  ").unwrap();
            let version = file.split('_').next().unwrap().parse().unwrap();
            assert!(steps.contains(&(digest.to_owned(), version)), "{file} is published, and must be as it was");
            count += 1;
        }
        assert!(count >= 18, "{count} migrations are published");
    }

    #[test]
    fn every_table_is_distributed() {
        let lines = SCHEMA.migrations.iter().flat_map(|step| step.sql.as_str().lines());
        let made = lines.filter_map(|line| line.strip_prefix("create table ")?.split([' ', '(']).next());
        // The identity of the database is that of its coordinator.
        let made = made.filter(|table| *table != "database_identity");
        let known = SCHEMA.distributed.iter().chain(SCHEMA.copied).copied();
        let known = known.filter(|table| *table != "_sqlx_migrations");
        assert_eq!(made.collect::<BTreeSet<_>>(), known.collect());
    }

    #[test]
    fn no_statement_names_a_table_that_is_no_shard() {
        let statements: Vec<String> = storage::database::statements_on_shards(&SCHEMA).collect();
        assert!(statements.len() > 150);
        for statement in statements {
            let lines = statement.lines().filter(|line| !line.trim_start().starts_with("--"));
            let text: String = lines.flat_map(|line| [line, " "]).collect();
            for before in ["from ", "join ", "into ", "update "] {
                for table in SCHEMA.distributed {
                    let named = text.match_indices(&format!("{before}{table}")).count();
                    let sharded = text.match_indices(&format!("{before}{table}_%")).count();
                    assert_eq!(named, sharded, "{before}{table}: {text}");
                }
            }
        }
    }
}
