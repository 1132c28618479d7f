//! What is stored so that operations meet it: sequences behind their tables, and values out of range.

use sqlx::{AssertSqlSafe, FromRow, PgConnection};

/// A sequence of IDs that is behind its table: new records meet IDs that are taken.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct BehindSequence {
    /// The sequence.
    pub sequence: String,
    /// The table.
    pub table: String,
    /// The last ID that the sequence gave out.
    pub last_id: i64,
    /// The greatest ID of the table.
    pub greatest_id: i64,
}

/// A row that violates a constraint that was added later: reads have null for its date, and the next write stores what they can show; or one
/// whose ID leaves hardly any after it, which no sequence follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViolatingRow {
    /// The table.
    pub table: String,
    /// The constraint, or the range of IDs.
    pub constraint: String,
    /// The company.
    pub company_id: i64,
    /// The record, as far as the row has an ID.
    pub id: Option<i64>,
}

const BEHIND: &str = "
    select s.id_sequence::text as sequence, s.of_table::text as table, r.last_id, r.greatest_id
    from id_sequences() s cross join lateral id_reached(s.id_sequence, s.of_table, s.of_column) r
    where r.last_id < r.greatest_id";

/// Finds the sequences of IDs that are behind, and lets them go on after the greatest ID if `repair`.
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

/// The columns of IDs, and the last one that a sequence follows.
const LAST_IDS: &str = "
    select s.of_table::text, s.of_column::text, s.most - (s.most >> 11) from id_sequences() s order by 1";

/// Finds rows that violate constraints, or have an ID near the end, at most `most` of each.
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
