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
    sqlx::query_as(include_str!("kept.sql")).bind(company_id).fetch_optional(executor).await
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
    let wrong: Option<(i64, i64)> =
        sqlx::query_as(include_str!("wrongly_dropped.sql")).bind(company_id).fetch_optional(connection).await?;
    Ok(wrong.map(|(after, last)| Broken::Removed { first: after + 1, last }))
}
