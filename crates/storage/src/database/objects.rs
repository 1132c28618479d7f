//! Finds tables that lack triggers, constraints or indexes, as after an incomplete restore.

use sqlx::PgExecutor;

use super::error::DatabaseError;
use crate::Schema;

/// Disabled triggers and unfinished indexes count as missing. Citus moves objects to shards.
const MISSING: &str = "
    select kind, format('%s (%s of %s)', name, found, expected)
    from unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[]) as wanted (name, triggers, constraints, indexes),
        lateral (values
            ('triggers', triggers, (select count(*) from pg_trigger
                where tgrelid = to_regclass(name) and not tgisinternal and tgenabled in ('O', 'A'))),
            ('constraints', constraints, (select count(*) from pg_constraint
                where conrelid = to_regclass(name) and contype in ('c', 'f', 'p', 'u'))),
            ('indexes', indexes, (select count(*) from pg_index where indrelid = to_regclass(name) and indisvalid))
        ) as kinds (kind, expected, found)
    where found < expected and to_regclass('pg_dist_partition') is null
    order by kind desc, name";

/// Fails if a table lacks objects of these kinds: `triggers`, `constraints` or `indexes`.
pub(super) async fn check(executor: impl PgExecutor<'_>, schema: &Schema, kinds: &[&str]) -> Result<(), DatabaseError> {
    let names: Vec<&str> = schema.objects.iter().map(|(name, _)| *name).collect();
    let [triggers, constraints, indexes]: [Vec<i64>; 3] =
        [0, 1, 2].map(|kind| schema.objects.iter().map(|(_, counts)| counts[kind]).collect());
    let missing: Vec<(String, String)> = sqlx::query_as(MISSING)
        .bind(names)
        .bind(triggers)
        .bind(constraints)
        .bind(indexes)
        .fetch_all(executor)
        .await
        .map_err(DatabaseError::History)?;
    let of_kind = |kind: &&str| {
        let tables: Vec<&str> =
            missing.iter().filter(|(found, _)| found == kind).map(|(_, table)| table.as_str()).collect();
        (!tables.is_empty()).then(|| format!("{kind} of {}", tables.join(", ")))
    };
    let missing: Vec<String> = kinds.iter().filter_map(of_kind).collect();
    if missing.is_empty() { Ok(()) } else { Err(DatabaseError::Incomplete { missing: missing.join("; ") }) }
}
