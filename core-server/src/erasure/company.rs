//! The erasure of a whole company, in batches that commit. After an interruption, it continues where it ended.

use sqlx::{AssertSqlSafe, PgConnection};

use super::{
    retry::{ErasureError, retried},
    step::{COMMAND, ERASED_RECORDS, Entries, begin, delete, redact},
};

/// Number of changes that one statement erases with a company.
const ERASED_CHANGES: i64 = 256;

/// The tables with records, each before the tables that it refers to. The column is the one by which rows are deleted.
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
/// The tables with counts of records.
const COUNTS: [&str; 2] = ["compliance_url_counts", "compliance_case_counts"];
/// The tables whose rows remain, without personal data.
const REDACTED: [&str; 3] = ["changes", "change_positions", "change_drops"];

/// Every table that has data of a company.
pub fn tables() -> impl Iterator<Item = &'static str> {
    RECORDS.into_iter().map(|(table, _)| table).chain(COUNTS).chain(REDACTED)
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

/// Erases a company's records, counts, and personal data in the record of changes. Records that others write during this time may
/// remain.
///
/// # Errors
///
/// If the database does not respond, or other writers keep blocking the erasure. What was erased remains erased.
pub async fn erase_company(connection: &mut PgConnection, company_id: i64) -> Result<(), ErasureError> {
    // Checked before anything is erased, because `erase_changes` does nothing for other roles.
    let is_owner = "select pg_has_role(current_user, relowner, 'usage') from pg_class where oid = 'changes'::regclass";
    if !sqlx::query_scalar::<_, bool>(is_owner).fetch_one(&mut *connection).await? {
        return Err(ErasureError::NotOwner);
    }
    for (table, key) in RECORDS {
        loop {
            match retried(async || erase_records(connection, company_id, table, key).await).await? {
                0 => break,
                deleted => tracing::info!(table, deleted, "records are erased"),
            }
        }
    }
    let mut position = 0;
    while let Some(last) = retried(async || erase_changes(connection, company_id, position).await).await? {
        position = last;
        tracing::info!(position, "changes are erased");
    }
    for table in COUNTS {
        let delete = AssertSqlSafe(format!("delete from {table} where company_id = $1 and n = 0"));
        sqlx::query(delete).bind(company_id).execute(&mut *connection).await?;
    }
    Ok(())
}

/// Erases up to [`ERASED_RECORDS`] records of a table in one transaction, with what others have just added to them. Returns their number.
async fn erase_records(
    connection: &mut PgConnection,
    company_id: i64,
    table: &str,
    key: &str,
) -> Result<u64, sqlx::Error> {
    let mut transaction = begin(connection).await?;
    let erased = if let "affiliates" | "compliance_urls" | "compliance_cases" = table {
        let lock = format!("select id from {table} where company_id = $1 order by id limit $2 for update");
        let lock = sqlx::query_scalar(AssertSqlSafe(lock)).bind(company_id).bind(ERASED_RECORDS);
        let ids: Vec<i64> = lock.fetch_all(&mut *transaction).await?;
        match table {
            "compliance_urls" => delete(&mut transaction, company_id, &[], &ids, &[]).await?,
            "compliance_cases" => delete(&mut transaction, company_id, &[], &[], &ids).await?,
            _ => {
                let urls = of_affiliates(&mut transaction, company_id, "compliance_urls", &ids).await?;
                let cases = of_affiliates(&mut transaction, company_id, "compliance_cases", &ids).await?;
                delete(&mut transaction, company_id, &ids, &urls, &cases).await?
            }
        };
        ids.len() as u64
    } else {
        let delete = format!(
            "delete from {table} where company_id = $1 and {key} = any(array(
                select k.{key} from {table} k where k.company_id = $1 order by k.{key} limit $2))"
        );
        let delete = sqlx::query(AssertSqlSafe(delete)).bind(company_id).bind(ERASED_RECORDS);
        delete.execute(&mut *transaction).await?.rows_affected()
    };
    transaction.commit().await?;
    Ok(erased)
}

/// Locks the records of a table that affiliates have, and returns their IDs.
async fn of_affiliates(
    connection: &mut PgConnection,
    company_id: i64,
    table: &str,
    affiliates: &[i64],
) -> Result<Vec<i64>, sqlx::Error> {
    let lock =
        format!("select id from {table} where company_id = $1 and affiliate_id = any($2) order by id for update");
    sqlx::query_scalar(AssertSqlSafe(lock)).bind(company_id).bind(affiliates).fetch_all(connection).await
}

/// Erases up to [`ERASED_CHANGES`] rows of the record of changes after a position. Returns the last of their positions.
async fn erase_changes(
    connection: &mut PgConnection,
    company_id: i64,
    position: i64,
) -> Result<Option<i64>, sqlx::Error> {
    let next = "select array(
        select position from changes where company_id = $1 and position > $2 and operation <> 4 and resource <> 0 order by position limit $3)";
    let mut transaction = begin(connection).await?;
    let next = sqlx::query_scalar(next).bind(company_id).bind(position).bind(ERASED_CHANGES);
    let positions: Vec<i64> = next.fetch_one(&mut *transaction).await?;
    let last = positions.last().copied();
    if last.is_some() {
        redact(&mut transaction, company_id, None, COMMAND, &Entries { positions, ..Entries::default() }).await?;
    }
    transaction.commit().await?;
    Ok(last)
}
