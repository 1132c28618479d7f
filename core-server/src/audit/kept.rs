//! What is kept of a record of changes, and what retention has dropped of it.

use sqlx::{PgConnection, PgExecutor};
use time::OffsetDateTime;

use super::broken::Broken;

/// What is kept of a company's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Kept {
    /// The position before the first change that is kept. It is the last one if none is.
    pub after: i64,
    /// The position of the last change.
    pub last: i64,
    /// The number of changes between the two, without positions that a restore has passed over.
    pub changes: i64,
    /// The time of the first change that is kept.
    pub since: Option<OffsetDateTime>,
}

/// Changes that were dropped at once, as the owner of the schema has recorded it.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Drop {
    /// The position before the first of them.
    pub after: i64,
    /// The position of the last of them.
    pub position: i64,
    /// Their number, without positions that a restore has passed over.
    pub changes: i64,
    /// The part of the record that they were in.
    pub part: Option<String>,
    /// For how many days changes were kept then. `None`: they were dropped before drops were recorded.
    pub days: Option<i32>,
    /// When they were dropped, or, if that was before drops were recorded, when it was noticed.
    pub dropped_at: OffsetDateTime,
    /// The role of the session that dropped them.
    pub dropped_by: String,
    /// The program of that session.
    pub program: String,
}

/// What is kept of a company's record; `None` if it has none.
///
/// # Errors
///
/// If the database does not respond, or has no record.
pub async fn kept(executor: impl PgExecutor<'_>, company_id: i64) -> Result<Option<Kept>, sqlx::Error> {
    let kept = "
        select coalesce(c.after, p.position) as after, p.position as last, shown(c.changed_at) as since,
            (p.position - coalesce(c.after, p.position) - r.passed_over)::bigint as changes
        from change_positions p
        left join (
            select position_before(c.resource, c.operation, c.position, c.ids, c.records) as after, c.changed_at from changes c
            where c.company_id = $1 order by c.position limit 1
        ) c on true
        cross join (
            select coalesce(sum(r.position - position_before(r.resource, r.operation, r.position, r.ids, r.records) - 1), 0) as passed_over
            from changes r
            where r.company_id = $1 and r.resource = 0 and r.operation = 2 and cardinality(r.ids) = 1 and r.ids[1] = $1
        ) r
        where p.company_id = $1";
    sqlx::query_as(kept).bind(company_id).fetch_optional(executor).await
}

/// What was dropped of a company's record, the oldest first.
///
/// # Errors
///
/// If the database does not respond, or has no record of drops.
pub async fn drops(executor: impl PgExecutor<'_>, company_id: i64) -> Result<Vec<Drop>, sqlx::Error> {
    let drops = "
        select after, position, position - after - passed_over as changes, part, days, nearest_shown(dropped_at) as dropped_at, dropped_by, program
        from change_drops where company_id = $1 order by position";
    sqlx::query_as(drops).bind(company_id).fetch_all(executor).await
}

/// Whether each change that is missing at the beginning was dropped by retention: drops follow each other up to where the record begins, and
/// none of them is of changes that had to be kept.
pub(super) async fn verify(connection: &mut PgConnection, company_id: i64) -> Result<Option<Broken>, sqlx::Error> {
    let wrong: Option<(i64, i64)> = sqlx::query_as(WRONG).bind(company_id).fetch_optional(connection).await?;
    Ok(wrong.map(|(after, last)| Broken::Removed { first: after + 1, last }))
}

/// The first changes that were not dropped as they should have been: the position before them, and the last one. The record of a company whose
/// first change follows a restore begins at a multiple of its distance (see `first_position`).
const WRONG: &str = "
    with dropped as (
        select d.after, d.position, d.hash,
            lag(d.position, 1, case when d.after % restore_distance() = 0 and d.after <= first_position() then d.after else 0 end)
                over (order by d.position) as previous,
            coalesce(d.changed_at > d.dropped_at - make_interval(days => d.days), false) as is_early
        from change_drops d where d.company_id = $1
    ), beginning as (
        select p.dropped_position, p.dropped_hash, coalesce(d.position, case
            when p.dropped_hash is null and p.dropped_position % restore_distance() = 0 and p.dropped_position <= first_position()
            then p.dropped_position else 0 end) as expected
        from change_positions p
        left join (select d.position from dropped d order by d.position desc limit 1) d on true
        where p.company_id = $1
    )
    select w.after, w.last from (
        select least(d.previous, d.after) as after, case when d.previous = d.after then d.position else greatest(d.previous, d.after) end as last
        from dropped d where d.previous <> d.after or d.is_early
        union all
        select least(b.expected, b.dropped_position), greatest(b.expected, b.dropped_position)
        from beginning b where b.dropped_position <> b.expected
        union all
        select 0, b.dropped_position
        from beginning b join dropped d on d.position = b.dropped_position
        where d.hash is distinct from b.dropped_hash
    ) w
    order by w.after
    limit 1";
