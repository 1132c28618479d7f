//! Permissions: every operation rejects invalid tokens, and no company affects another (`twins`).
//!
//! The operations come from the descriptor set, and the routes from the OpenAPI document. The suite fails if an operation or route has no case.

mod repeats;
mod routes;
mod shards;
mod tokens;
mod twin_calls;
mod twins;

use std::collections::BTreeSet;

use sqlx::{AssertSqlSafe, PgPool};
use test_support::TestService;

use crate::described::{calls::Core, messages};

pub(crate) use self::{
    routes::{ROUTES, filled},
    twin_calls::{CALLS, perform},
    twins::Side,
};

/// Returns `Service/Method` for every operation in the contract.
pub(crate) fn operations() -> BTreeSet<String> {
    messages::operations(&messages::contract()).into_iter().map(|(name, _)| name).collect()
}

/// A service, and statements for the rows of one company.
struct Fixture {
    service: TestService,
    core: Core,
    /// Selects all of a company's rows as text, without change timestamps.
    select: String,
    /// Deletes all of a company's rows.
    delete: String,
}

impl Fixture {
    async fn start() -> Self {
        let service = TestService::start().await;
        // New IDs have the same number of digits, differ from the IDs in `twins`, and belong to one count bucket.
        let sequences = "select setval(oid::regclass, 103500) from pg_class
            where relkind = 'S' and relnamespace = 'public'::regnamespace";
        sqlx::raw_sql(sequences).execute(&service.pool).await.unwrap();
        let mut tables = tables(&service.pool).await;
        let rows = tables.iter().map(|table| {
            // Erasure entries contain digests.
            format!(
                "select '{table} ' || (to_jsonb(t) - array['changed_at', 'digest', 'hash', 'key', 'erased_digest',
                    'created_at', 'next_attempt_at', 'previous_secret_until',
                    case when to_jsonb(t) @> '{{\"operation\":4,\"resource\":1}}' then 'records' else '' end])::text
                from {table} t where company_id = $1"
            )
        });
        let select = rows.collect::<Vec<_>>().join(" union all ") + " order by 1";
        // First the tables whose foreign keys refer to other tables. Last the tables that triggers write.
        let first = ["infractions", "incidents", "compliance_urls", "compliance_cases", "webhook_deliveries"];
        tables.sort_by_key(|table| {
            let is_written_by_triggers = table.starts_with("change") || table.ends_with("_counts");
            (is_written_by_triggers, first.iter().position(|one| one == table).unwrap_or(first.len()))
        });
        let delete =
            tables.into_iter().map(|table| ["delete from ", &table, " where company_id = <company>;"].concat());
        let core = Core::connect(service.grpc).await;
        Self { service, core, select, delete: delete.collect() }
    }

    async fn rows_of(&self, company: i64) -> String {
        let rows = sqlx::query_scalar(AssertSqlSafe(self.select.clone())).bind(company);
        let rows: Vec<String> = rows.fetch_all(&self.service.pool).await.unwrap();
        rows.into_iter().map(|row| row + "\n").collect()
    }

    async fn forget(&self, company: i64) {
        let statements = self.delete.replace("<company>", &company.to_string());
        sqlx::raw_sql(AssertSqlSafe(statements)).execute(&self.service.pool).await.unwrap();
    }
}

/// Returns the tables with a company column, without partitions.
async fn tables(pool: &PgPool) -> Vec<String> {
    let tables: Vec<String> = sqlx::query_scalar(
        "select relname::text from pg_class join pg_attribute on attrelid = pg_class.oid
        where relkind in ('r', 'p') and not relispartition and relnamespace = 'public'::regnamespace
            and attname = 'company_id' and not attisdropped
        order by 1",
    )
    .fetch_all(pool)
    .await
    .unwrap();
    assert!(tables.len() >= 8, "{tables:?}");
    tables
}
