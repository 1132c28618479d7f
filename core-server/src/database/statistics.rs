//! The planner's statistics, kept close to the truth while tables grow.
//!
//! A statement is planned once a connection. One that is planned while its table is empty finds all indexes equally
//! good, may take the wrong one, and keeps it until the table is next analyzed. The server's own autovacuum looks once a
//! minute, which a bulk load into a new database does not survive at speed; so whatever has doubled is analyzed at once.

use std::{collections::HashMap, time::Duration};

use super::Connections;

/// How often tables are looked at.
const INTERVAL: Duration = Duration::from_secs(1);

/// Tables that grow, each with the statement that analyzes it.
const TABLES: [(&str, &str); 8] = [
    ("affiliates", "analyze affiliates"),
    ("compliance_urls", "analyze compliance_urls"),
    ("compliance_cases", "analyze compliance_cases"),
    ("infractions", "analyze infractions"),
    ("incidents", "analyze incidents"),
    ("vocabulary_entries", "analyze vocabulary_entries"),
    ("compliance_url_counts", "analyze compliance_url_counts"),
    ("compliance_case_counts", "analyze compliance_case_counts"),
];

/// Each table's pages now, where they are more than twice those that the planner knows of.
const GROWN: &str = "
    select name, pages from (
        select t.name, c.relpages, pg_relation_size(c.oid) / current_setting('block_size')::bigint as pages
        from unnest($1::text[]) as t (name) join pg_class c on c.oid = to_regclass(t.name)
    ) t where pages > 2 * relpages";

/// Analyzes tables as they grow, until the task is dropped.
pub(crate) async fn keep(connections: Connections) {
    let names = TABLES.map(|(name, _)| name);
    // What was analyzed at which size: one that this role may not analyze is not tried again and again.
    let mut analyzed: HashMap<String, i64> = HashMap::new();
    loop {
        tokio::time::sleep(INTERVAL).await;
        // A database that is away is health's business.
        let grown = sqlx::query_as::<_, (String, i64)>(GROWN).bind(&names[..]).fetch_all(&connections).await;
        for (name, pages) in grown.unwrap_or_default() {
            if analyzed.get(&name).is_some_and(|before| pages <= before * 2) {
                continue;
            }
            let Some((_, statement)) = TABLES.iter().find(|(table, _)| *table == name) else { continue };
            match sqlx::query(*statement).execute(&connections).await {
                Ok(_) => tracing::debug!(table = name, pages, "analyzed"),
                Err(error) => tracing::warn!(table = name, "cannot be analyzed: {error}"),
            }
            analyzed.insert(name, pages);
        }
    }
}
