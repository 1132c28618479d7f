//! Checks of stored data that operations depend on: sequences, values in range, and the months of the record of changes.

use sqlx::{AssertSqlSafe, FromRow, PgConnection, PgExecutor};

/// A sequence that is behind its table. New records get IDs that are taken.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct BehindSequence {
    /// The sequence.
    pub sequence: String,
    /// The table.
    pub table: String,
    /// The last ID that the sequence returned.
    pub last_id: i64,
    /// The greatest ID of the table.
    pub greatest_id: i64,
}

/// A row that violates a later constraint, or has too high an ID. Such an ID is near the end of its range.
///
/// Reads return null for a date that violates its constraint, and the next write stores a date that they can return. A sequence does not
/// follow an ID near the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViolatingRow {
    /// The table.
    pub table: String,
    /// The constraint, or the range of IDs.
    pub constraint: String,
    /// The company.
    pub company_id: i64,
    /// The record's ID, if the row has one.
    pub id: Option<i64>,
}

const BEHIND: &str = "
    select s.id_sequence::text as sequence, s.of_table::text as table, r.last_id, r.greatest_id
    from id_sequences() s cross join lateral id_reached(s.id_sequence, s.of_table, s.of_column) r
    where r.last_id < r.greatest_id";

/// Returns the sequences that are behind. With `repair`, sets each to the greatest ID.
///
/// # Errors
///
/// If the database does not respond.
pub async fn check_sequences(connection: &mut PgConnection, repair: bool) -> Result<Vec<BehindSequence>, sqlx::Error> {
    let behind: Vec<BehindSequence> = sqlx::query_as(BEHIND).fetch_all(&mut *connection).await?;
    if repair {
        for BehindSequence { table, .. } in &behind {
            sqlx::query("select advance_ids($1)").bind(table).execute(&mut *connection).await?;
        }
    }
    Ok(behind)
}

const UNCERTAIN: &str = include_str!("uncertain.sql");

/// The columns of IDs, and the last ID that a sequence follows.
const LAST_IDS: &str = "
    select s.of_table::text, s.of_column::text, s.most - (s.most >> 11) from id_sequences() s order by 1";

/// Returns the rows with a wrong value, at most `most` of each kind. These rows violate a constraint, or have an ID near the end of its
/// range.
///
/// # Errors
///
/// If the database does not respond.
pub async fn check_values(connection: &mut PgConnection, most: i64) -> Result<Vec<ViolatingRow>, sqlx::Error> {
    let constraints: Vec<(String, String, String, bool)> =
        sqlx::query_as(UNCERTAIN).fetch_all(&mut *connection).await?;
    let mut violating = Vec::new();
    for (table, constraint, expression, has_id) in constraints {
        let id = if has_id { "id::bigint" } else { "null::bigint" };
        let rows = format!("select company_id, {id} from {table} where not ({expression}) limit $1");
        let rows: Vec<(i64, Option<i64>)> =
            sqlx::query_as(AssertSqlSafe(rows)).bind(most).fetch_all(&mut *connection).await?;
        violating.extend(rows.into_iter().map(|(company_id, id)| ViolatingRow {
            table: table.clone(),
            constraint: constraint.clone(),
            company_id,
            id,
        }));
    }
    let last_ids: Vec<(String, String, i64)> = sqlx::query_as(LAST_IDS).fetch_all(&mut *connection).await?;
    for (table, column, last) in last_ids {
        let rows =
            format!("select company_id, {column}::bigint from {table} where {column} > {last} order by 1, 2 limit $1");
        let rows: Vec<(i64, i64)> = sqlx::query_as(AssertSqlSafe(rows)).bind(most).fetch_all(&mut *connection).await?;
        violating.extend(rows.into_iter().map(|(company_id, id)| ViolatingRow {
            table: table.clone(),
            constraint: format!("the range of IDs, which ends at {last}"),
            company_id,
            id: Some(id),
        }));
    }
    Ok(violating)
}

/// Missing months of the record of changes, and months to drop.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct Months {
    /// How many days changes are kept.
    pub days: i32,
    /// This month and the next one, if they are missing. A month with changes in the default partition remains there.
    pub missing: Vec<String>,
    /// Months whose changes could have been dropped more than a day ago.
    pub overdue: Vec<String>,
}

/// Returns the months that are missing or overdue.
///
/// # Errors
///
/// If the database does not respond, or has no record of changes.
pub async fn months(executor: impl PgExecutor<'_>) -> Result<Months, sqlx::Error> {
    sqlx::query_as(include_str!("months.sql")).fetch_one(executor).await
}
