//! The chain of the record of changes: whether it is whole, and where it ends.

mod broken;
mod kept;

use sqlx::{PgConnection, PgExecutor};

pub use self::broken::Broken;
pub use self::kept::{Drop, Kept, drops, kept};

/// The end of a company's record of changes. Kept elsewhere, it shows later that nothing up to its position has changed.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow, serde::Serialize, serde::Deserialize)]
pub struct Checkpoint {
    /// The company.
    pub company_id: i64,
    /// The position of its last change.
    pub position: i64,
    /// The hash of the row that ends with it, in hexadecimal. It depends on all rows before.
    pub hash: String,
}

/// The companies that have a record of changes or a part of one, or records that it must have, by ID.
///
/// # Errors
///
/// If the database does not respond, or has no record.
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

/// The end of a company's record; `None` if it has none.
///
/// # Errors
///
/// If the database does not respond, or has no record.
pub async fn checkpoint(executor: impl PgExecutor<'_>, company_id: i64) -> Result<Option<Checkpoint>, sqlx::Error> {
    let end = "select company_id, position, encode(hash, 'hex') as hash from change_positions where company_id = $1";
    sqlx::query_as(end).bind(company_id).fetch_optional(executor).await
}

/// Compares a checkpoint with the record as it is now. Call [`verify`], too: it shows that the rows before are those of the hash.
///
/// # Errors
///
/// If the database does not respond, or has no record.
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
        Some((None, dropped)) if dropped >= position => Some(Broken::NotKept { position }),
        _ => Some(Broken::Rewritten { position }),
    })
}

/// Positions of a company's record that a restore has passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Restore {
    /// The first of them.
    pub first: i64,
    /// The last one, which is that of the entry of the restore.
    pub last: i64,
    /// When it was noticed.
    pub time: time::OffsetDateTime,
}

/// The restores of a company's record, by position.
///
/// # Errors
///
/// If the database does not respond, or has no record.
pub async fn restores(executor: impl PgExecutor<'_>, company_id: i64) -> Result<Vec<Restore>, sqlx::Error> {
    let restores = "
        select position_before(resource, operation, position, ids, records) + 1 as first, position as last, nearest_shown(changed_at) as time
        from changes
        where company_id = $1 and resource = 0 and operation = 2 and cardinality(ids) = 1 and ids[1] = $1
        order by position";
    sqlx::query_as(restores).bind(company_id).fetch_all(executor).await
}

/// How many rows of a company's record are erased.
///
/// # Errors
///
/// If the database does not respond, or has no record.
pub async fn erased(executor: impl PgExecutor<'_>, company_id: i64) -> Result<i64, sqlx::Error> {
    let rows = "select count(*) from changes where company_id = $1 and erased_digest is not null";
    sqlx::query_scalar(rows).bind(company_id).fetch_one(executor).await
}

/// Checks every row of a company's record on one snapshot, in constant memory, and returns what is wrong with the first that is. Changes that
/// are missing at the beginning must have been dropped by retention.
///
/// # Errors
///
/// If the database does not respond, or has no record.
pub async fn verify(connection: &mut PgConnection, company_id: i64) -> Result<Option<Broken>, sqlx::Error> {
    if checkpoint(&mut *connection, company_id).await?.is_none() {
        // Rows without an end are no record.
        let rows = "select min(position - cardinality(ids) + 1), max(position) from changes where company_id = $1";
        let rows: (Option<i64>, Option<i64>) =
            sqlx::query_as(rows).bind(company_id).fetch_one(&mut *connection).await?;
        if let (Some(first), Some(last)) = rows {
            return Ok(Some(Broken::Altered { first, last }));
        }
        return Ok(is_removed(connection, company_id).await?.then_some(Broken::RemovedAll));
    }
    if let Some(removed) = kept::verify(&mut *connection, company_id).await? {
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

/// Whether the changes of a company are missing although its records, or what was dropped of them, show that it had some. Records from before
/// changes were recorded have a drop: that of the first position, which the company got when the record began.
async fn is_removed(connection: &mut PgConnection, company_id: i64) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar(include_str!("audit/is_removed.sql")).bind(company_id).fetch_one(connection).await
}
