//! The erasure of a whole company, in batches that commit: after an interruption, it goes on where it was.

use sqlx::{AssertSqlSafe, PgConnection};

use super::{COMMAND, Entries, begin, redact};
use crate::limits::{ERASED_CHANGES, ERASED_RECORDS};

/// The tables with records, each before those that it refers to, with the column by which they are deleted.
const RECORDS: [(&str, &str); 8] = [
    ("webhook_deliveries", "webhook_id"),
    ("webhooks", "id"),
    ("incidents", "case_id"),
    ("infractions", "url_id"),
    ("compliance_urls", "id"),
    ("compliance_cases", "id"),
    ("affiliates", "id"),
    ("vocabulary_entries", "id"),
];
/// Those with the numbers of records.
const COUNTS: [&str; 2] = ["compliance_url_counts", "compliance_case_counts"];
/// Those whose rows stay, without personal data.
const KEPT: [&str; 2] = ["changes", "change_positions"];

/// Every table that has data of a company.
pub fn tables() -> impl Iterator<Item = &'static str> {
    RECORDS.into_iter().map(|(table, _)| table).chain(COUNTS).chain(KEPT)
}

/// The rows of a company in a table with records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// The table.
    pub table: &'static str,
    /// Their number.
    pub rows: i64,
}

/// The records of a company, by table.
///
/// # Errors
///
/// If the database does not respond.
pub async fn held(connection: &mut PgConnection, company_id: i64) -> Result<Vec<Held>, sqlx::Error> {
    let mut all = Vec::new();
    for (table, _) in RECORDS {
        let count = AssertSqlSafe(format!("select count(*) from {table} where company_id = $1"));
        let rows = sqlx::query_scalar(count).bind(company_id).fetch_one(&mut *connection).await?;
        all.push(Held { table, rows });
    }
    Ok(all)
}

/// Erases a company: its records, their counts, and the personal data in its record of changes. What others write meanwhile may stay.
///
/// # Errors
///
/// If the database does not respond, or another writer is in the way. What was erased stays so.
pub async fn erase_company(connection: &mut PgConnection, company_id: i64) -> Result<(), sqlx::Error> {
    for (table, key) in RECORDS {
        let delete = format!(
            "delete from {table} where company_id = $1 and {key} = any(array(
                select k.{key} from {table} k where k.company_id = $1 order by k.{key} limit $2))"
        );
        loop {
            let mut transaction = begin(connection).await?;
            let delete = sqlx::query(AssertSqlSafe(delete.clone())).bind(company_id).bind(ERASED_RECORDS);
            let deleted = delete.execute(&mut *transaction).await?.rows_affected();
            transaction.commit().await?;
            if deleted == 0 {
                break;
            }
            tracing::info!(table, deleted, "records are erased");
        }
    }
    let next = "select array(
        select position from changes where company_id = $1 and position > $2 and operation <> 4 and resource <> 0 order by position limit $3)";
    let mut position = 0;
    loop {
        let next = sqlx::query_scalar(next).bind(company_id).bind(position).bind(ERASED_CHANGES);
        let positions: Vec<i64> = next.fetch_one(&mut *connection).await?;
        let Some(last) = positions.last() else { break };
        position = *last;
        redact(connection, company_id, None, COMMAND, &Entries { positions, ..Entries::default() }).await?;
        tracing::info!(position, "changes are erased");
    }
    for table in COUNTS {
        let delete = AssertSqlSafe(format!("delete from {table} where company_id = $1 and n = 0"));
        sqlx::query(delete).bind(company_id).execute(&mut *connection).await?;
    }
    Ok(())
}
