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

use compliance_api::FILE_DESCRIPTOR_SET;
use prost_reflect::DescriptorPool;
use sqlx::{AssertSqlSafe, PgPool};

pub(crate) use self::{
    routes::{ROUTES, filled},
    tokens::WATCH,
    twin_calls::{Twin, calls},
    twins::Side,
};

/// Returns `Service/Method` for every operation in the contract.
pub(crate) fn operations() -> BTreeSet<String> {
    let pool = DescriptorPool::decode(FILE_DESCRIPTOR_SET).unwrap();
    let methods = pool.services().flat_map(|service| service.methods().collect::<Vec<_>>());
    let names = methods.map(|method| {
        let service = method.parent_service().full_name();
        let service =
            service.strip_prefix("compliance.v1.").unwrap_or_else(|| panic!("{service} is in a different package"));
        format!("{service}/{}", method.name())
    });
    names.collect()
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

/// Returns all of a company's rows, one per line, without change timestamps.
async fn rows_of(pool: &PgPool, company: i64) -> String {
    let rows = tables(pool).await.into_iter().map(|table| {
        // Erasure entries contain digests.
        format!(
            "select '{table} ' || (to_jsonb(t) - array['changed_at', 'digest', 'hash', 'key', 'erased_digest', 'created_at',
                'next_attempt_at', 'previous_secret_until',
                case when to_jsonb(t) @> '{{\"operation\":4,\"resource\":1}}' then 'records' else '' end])::text
            from {table} t where company_id = $1"
        )
    });
    let statement = rows.collect::<Vec<_>>().join(" union all ") + " order by 1";
    let rows: Vec<String> = sqlx::query_scalar(AssertSqlSafe(statement)).bind(company).fetch_all(pool).await.unwrap();
    rows.into_iter().map(|row| row + "\n").collect()
}
