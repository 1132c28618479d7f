//! Audits the record of changes: whether its chain is intact, where it ends, and what retention has dropped.

use sqlx::{PgConnection, PgExecutor};
use time::OffsetDateTime;

/// The end of a company's record of changes. A copy stored elsewhere reveals any later alteration of the record up to this position.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow, serde::Serialize, serde::Deserialize)]
pub struct Checkpoint {
    /// The company's ID.
    pub company_id: i64,
    /// The position of the last change.
    pub position: i64,
    /// The hash of the row that ends with this change, in hexadecimal. It depends on all earlier rows.
    pub hash: String,
}

/// Returns the IDs of companies that have or should have changes, in ascending order.
///
/// # Errors
///
/// Returns an error if the database does not respond or contains no record of changes.
pub async fn companies(connection: &mut PgConnection) -> Result<Vec<i64>, sqlx::Error> {
    let mut companies = vec![i64::MIN];
    loop {
        let next = sqlx::query_scalar(include_str!("audit/company_after.sql")).bind(companies.last());
        let Some(next) = next.fetch_one(&mut *connection).await? else { break };
        companies.push(next);
    }
    companies.remove(0);
    Ok(companies)
}

/// Returns the end of a company's record, or `None` if the company has no record.
///
/// # Errors
///
/// Returns an error if the database does not respond or contains no record of changes.
pub async fn checkpoint(executor: impl PgExecutor<'_>, company_id: i64) -> Result<Option<Checkpoint>, sqlx::Error> {
    let end = "select company_id, position, encode(hash, 'hex') as hash from change_positions where company_id = $1";
    sqlx::query_as(end).bind(company_id).fetch_optional(executor).await
}

/// Compares a checkpoint with the current record.
///
/// Also call [`verify`], which checks that the rows before the checkpoint match its hash.
///
/// # Errors
///
/// Returns an error if the database does not respond or contains no record of changes.
pub async fn compare(connection: &mut PgConnection, checkpoint: &Checkpoint) -> Result<Option<Broken>, sqlx::Error> {
    let Checkpoint { company_id, position, ref hash } = *checkpoint;
    let row = include_str!("audit/compare.sql");
    let row: Option<(Option<String>, i64)> =
        sqlx::query_as(row).bind(company_id).bind(position).fetch_optional(&mut *connection).await?;
    let restores = restores(connection, company_id).await?;
    let is_lost = restores.iter().any(|restore| (restore.first..restore.last).contains(&position));
    Ok(match row {
        Some((None, _)) if is_lost => Some(Broken::Lost { position }),
        Some((Some(found), _)) if found == *hash => None,
        Some((None, dropped)) if dropped >= position => Some(Broken::NotRetained { position }),
        _ => Some(Broken::Rewritten { position }),
    })
}

/// The positions that a restore skipped in a company's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Restore {
    /// The first skipped position.
    pub first: i64,
    /// The position of the restore's entry, which is the last skipped position.
    pub last: i64,
    /// When the restore was detected.
    pub time: OffsetDateTime,
}

/// Returns the restores in a company's record of changes, by position.
///
/// # Errors
///
/// Returns an error if the database does not respond or contains no record of changes.
pub async fn restores(executor: impl PgExecutor<'_>, company_id: i64) -> Result<Vec<Restore>, sqlx::Error> {
    let restores = "
        select position_before(resource, operation, position, ids, records) + 1 as first, position as last, nearest_shown(changed_at) as time
        from changes
        where company_id = $1 and resource = 0 and operation = 2 and cardinality(ids) = 1 and ids[1] = $1
        order by position";
    sqlx::query_as(restores).bind(company_id).fetch_all(executor).await
}

/// Returns the number of erased rows in a company's record.
///
/// # Errors
///
/// Returns an error if the database does not respond or contains no record of changes.
pub async fn erased(executor: impl PgExecutor<'_>, company_id: i64) -> Result<i64, sqlx::Error> {
    let rows = "select count(*) from changes where company_id = $1 and erased_digest is not null";
    sqlx::query_scalar(rows).bind(company_id).fetch_one(executor).await
}

/// Checks every row in a company's record and returns the first error.
///
/// Reads one snapshot in constant memory. Changes can be missing at the beginning only if retention dropped them.
///
/// # Errors
///
/// Returns an error if the database does not respond or contains no record of changes.
pub async fn verify(connection: &mut PgConnection, company_id: i64) -> Result<Option<Broken>, sqlx::Error> {
    if checkpoint(&mut *connection, company_id).await?.is_none() {
        // Changes without a checkpoint do not form a record.
        let rows = "select min(position - cardinality(ids) + 1), max(position) from changes where company_id = $1";
        let rows: (Option<i64>, Option<i64>) =
            sqlx::query_as(rows).bind(company_id).fetch_one(&mut *connection).await?;
        if let (Some(first), Some(last)) = rows {
            return Ok(Some(Broken::Altered { first, last }));
        }
        return Ok(is_removed(connection, company_id).await?.then_some(Broken::RemovedAll));
    }
    if let Some(removed) = wrongly_dropped(connection, company_id).await? {
        return Ok(Some(removed));
    }
    let broken: Option<(i64, i64, Option<i64>, bool)> =
        sqlx::query_as(include_str!("audit/verify.sql")).bind(company_id).fetch_optional(&mut *connection).await?;
    let Some((previous, position, entries, is_linked)) = broken else {
        return Ok(is_removed(connection, company_id).await?.then_some(Broken::RemovedAll));
    };
    Ok(Some(match entries {
        // The record ends before its last position.
        None => Broken::Removed { first: previous + 1, last: position },
        Some(entries) if !is_linked && previous < position - entries => {
            Broken::Removed { first: previous + 1, last: position - entries }
        }
        Some(entries) => Broken::Altered { first: position - entries + 1, last: position },
    }))
}

/// Returns whether a company lacks changes although its records or drops show that it had some.
///
/// If a company's records predate the record of changes, a drop covers the first position, which was assigned when recording began.
async fn is_removed(connection: &mut PgConnection, company_id: i64) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar(include_str!("audit/is_removed.sql")).bind(company_id).fetch_one(connection).await
}

/// The part of a company's record that is still retained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Retained {
    /// The number of changes, excluding skipped positions.
    pub changes: i64,
    /// The time of the first retained change, if any.
    pub since: Option<OffsetDateTime>,
}

/// Changes that were dropped together, as the schema owner recorded them.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Drop {
    /// The position before the first dropped change.
    pub after: i64,
    /// The position of the last dropped change.
    pub position: i64,
    /// The number of dropped changes, excluding positions that a restore skipped.
    pub changes: i64,
    /// The partition that contained the changes.
    pub part: Option<String>,
    /// The retention at that time, in days, or `None` if drops were not yet recorded.
    pub days: Option<i32>,
    /// When the changes were dropped, or when the drop was detected if drops were not yet recorded.
    pub dropped_at: OffsetDateTime,
    /// The role that dropped the changes.
    pub dropped_by: String,
    /// The program that dropped the changes.
    pub program: String,
}

/// Returns the retained part of a company's record, or `None` if the company has no record.
///
/// # Errors
///
/// Returns an error if the database does not respond or contains no record of changes.
pub async fn retained(executor: impl PgExecutor<'_>, company_id: i64) -> Result<Option<Retained>, sqlx::Error> {
    sqlx::query_as(include_str!("audit/retained.sql")).bind(company_id).fetch_optional(executor).await
}

/// Returns the dropped parts of a company's record, oldest first.
///
/// # Errors
///
/// Returns an error if the database does not respond or contains no record of drops.
pub async fn drops(executor: impl PgExecutor<'_>, company_id: i64) -> Result<Vec<Drop>, sqlx::Error> {
    let drops = "
        select after, position, position - after - passed_over as changes, part, days, nearest_shown(dropped_at) as dropped_at, dropped_by, program
        from change_drops where company_id = $1 order by position";
    sqlx::query_as(drops).bind(company_id).fetch_all(executor).await
}

/// Returns changes that are missing from the beginning but were not dropped by retention, if any.
///
/// Drops must be contiguous up to the beginning of the record, and must not contain changes within the retention period.
async fn wrongly_dropped(connection: &mut PgConnection, company_id: i64) -> Result<Option<Broken>, sqlx::Error> {
    let wrong: Option<(i64, i64)> =
        sqlx::query_as(include_str!("audit/wrongly_dropped.sql")).bind(company_id).fetch_optional(connection).await?;
    Ok(wrong.map(|(after, last)| Broken::Removed { first: after + 1, last }))
}

/// An error in a record of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// Rows are missing.
    #[error("changes {first} to {last} were removed")]
    Removed {
        /// The first missing position.
        first: i64,
        /// The last missing position.
        last: i64,
    },
    /// The company has records or dropped changes, but its record of changes is empty.
    #[error("all changes were removed")]
    RemovedAll,
    /// The content, time or order of a row has changed.
    #[error("changes {first} to {last} were altered or reordered, or belong to a different record")]
    Altered {
        /// The first position of the row.
        first: i64,
        /// The last position of the row.
        last: i64,
    },
    /// The record's hash differs from the checkpoint's hash.
    #[error("the record up to change {position} differs from the checkpoint")]
    Rewritten {
        /// The checkpoint's position.
        position: i64,
    },
    /// A restore skipped the position of a checkpoint.
    #[error("a restored backup lost change {position}, so the checkpoint cannot be compared")]
    Lost {
        /// The checkpoint's position.
        position: i64,
    },
    /// Retention dropped the checkpoint's change.
    #[error("change {position} was removed after its retention period, so the checkpoint cannot be compared")]
    NotRetained {
        /// The checkpoint's position.
        position: i64,
    },
}
