//! Erases the personal data of an affiliate or a whole company from the records and the record of changes.
//!
//! The hash chain stays intact: an erased row keeps its digest, and the erasure's entry contains the digest of
//! the rest (`migrations/20261127000040_erasure.sql`).

mod step;

use std::sync::Arc;

use compliance_api::{
    error::Error,
    v1::{EraseAffiliateRequest, EraseAffiliateResponse, erasure_service_server::ErasureService},
};
use sqlx::{AssertSqlSafe, PgConnection};
use storage::{database::Connections, error::is_contention, statement_context};
use tonic::{Request, Response};

use self::step::{COMMAND, Entries, Step, begin, delete, redact, retried, step};
pub use self::step::{ERASED_RECORDS, ErasureError};
use crate::{
    access::{Served, accept},
    backend::Backend,
    record_sql::revisions,
};

/// Erases an affiliate with its URLs and cases.
///
/// Transactions are bounded in size, and the last one erases the affiliate itself. After an interruption, call this function again. Returns
/// `None` if the company has no such affiliate.
///
/// # Errors
///
/// Returns an error if the database does not respond, or if other writers keep blocking the erasure. Erased data remains erased.
pub async fn erase_affiliate(
    connection: &mut PgConnection,
    company_id: i64,
    affiliate_id: i64,
) -> Result<Option<EraseAffiliateResponse>, ErasureError> {
    let mut total = EraseAffiliateResponse::default();
    loop {
        let step = retried(async || commit_step(connection, company_id, affiliate_id).await).await?;
        let Some(Step { erased, is_whole }) = step else { return Ok(None) };
        total.urls += erased.urls;
        total.cases += erased.cases;
        total.incidents += erased.incidents;
        total.infractions += erased.infractions;
        if is_whole {
            return Ok(Some(total));
        }
    }
}

/// Runs one step of the command in its own transaction.
async fn commit_step(
    connection: &mut PgConnection,
    company_id: i64,
    affiliate_id: i64,
) -> Result<Option<Step>, sqlx::Error> {
    let mut transaction = begin(connection).await?;
    let step = step(&mut transaction, company_id, affiliate_id, i64::MAX, COMMAND).await?;
    transaction.commit().await?;
    Ok(step)
}

/// Maximum number of change rows that one request erases. The company's other writers wait for the erasure.
pub const ERASED_ROWS: i64 = 10_000;

/// Implements `ErasureService`.
pub(crate) struct Erasures(pub(crate) Arc<Backend>);

#[tonic::async_trait]
impl ErasureService for Erasures {
    async fn erase_affiliate(&self, request: Request<EraseAffiliateRequest>) -> Served<EraseAffiliateResponse> {
        let (company_id, EraseAffiliateRequest { id, etag }) = accept(request)?;
        let revisions = revisions(&etag);
        let revisions = revisions.as_deref();
        let permit = self.0.queues.updated_affiliates.all(company_id).await?;
        let erase = |pool: Connections, _| async move {
            let is_whole = |erased: &Erased| matches!(erased, Ok(Some(Step { is_whole: true, .. })));
            let by = statement_context::writer();
            let erase = async |connection: &mut PgConnection| {
                if let Some(revisions) = revisions
                    && let Some(other) = other_revision(connection, company_id, id, revisions).await?
                {
                    return Ok(Err(other));
                }
                step(connection, company_id, id, ERASED_ROWS, &by).await.map(Ok)
            };
            pool.in_transaction(is_whole, erase).await
        };
        let Step { erased, is_whole } = match permit.write(&self.0.pool, is_contention, erase).await? {
            Ok(Some(step)) => step,
            Ok(None) => return Err(Error::affiliate_not_found(id).into()),
            Err(other) => return Err(Error::etag_mismatch("affiliate_id", id, &other.to_string()).into()),
        };
        if is_whole { Ok(Response::new(erased)) } else { Err(Error::erasure_too_large(id).into()) }
    }
}

/// What was erased, or the affiliate's revision if the request does not accept it.
type Erased = Result<Option<Step>, i64>;

/// Returns an affiliate's revision if it is not among `revisions`. Locks the affiliate until the transaction ends.
async fn other_revision(
    connection: &mut PgConnection,
    company_id: i64,
    id: i64,
    revisions: &[i64],
) -> Result<Option<i64>, sqlx::Error> {
    let revision = "select revision from affiliates where company_id = $1 and id = $2 for update";
    let revision = sqlx::query_scalar(revision).bind(company_id).bind(id).fetch_optional(connection).await?;
    Ok(revision.filter(|revision| !revisions.contains(revision)))
}

/// Maximum number of change rows per transaction when erasing a company.
const ERASED_CHANGES: i64 = 256;

/// The record tables, each listed before the tables it references, with the column that selects rows to delete.
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
/// The tables with record counts.
const COUNTS: [&str; 2] = ["compliance_url_counts", "compliance_case_counts"];
/// The tables whose rows are redacted instead of deleted.
const REDACTED: [&str; 3] = ["changes", "change_positions", "change_drops"];

/// Returns every table with company data.
pub fn tables() -> impl Iterator<Item = &'static str> {
    RECORDS.into_iter().map(|(table, _)| table).chain(COUNTS).chain(REDACTED)
}

/// Returns each record table with the number of a company's rows.
///
/// # Errors
///
/// Returns an error if the database does not respond.
pub async fn rows_by_table(
    connection: &mut PgConnection,
    company_id: i64,
) -> Result<Vec<(&'static str, i64)>, sqlx::Error> {
    let mut all = Vec::new();
    for (table, _) in RECORDS {
        let count = AssertSqlSafe(format!("select count(*) from {table} where company_id = $1"));
        let rows = sqlx::query_scalar(count).bind(company_id).fetch_one(&mut *connection).await?;
        all.push((table, rows));
    }
    Ok(all)
}

/// Erases a company's records, their counts, and the personal data in its record of changes.
///
/// Records written during the erasure can remain.
///
/// # Errors
///
/// Returns an error if the database does not respond, or if other writers keep blocking the erasure. Erased data remains erased.
pub async fn erase_company(connection: &mut PgConnection, company_id: i64) -> Result<(), ErasureError> {
    // Checks the role before anything is erased, because `erase_changes` does nothing for other roles.
    let is_owner = "select pg_has_role(current_user, relowner, 'usage') from pg_class where oid = 'changes'::regclass";
    if !sqlx::query_scalar::<_, bool>(is_owner).fetch_one(&mut *connection).await? {
        return Err(ErasureError::NotOwner);
    }
    for (table, key) in RECORDS {
        loop {
            match retried(async || erase_records(connection, company_id, table, key).await).await? {
                0 => break,
                deleted => tracing::info!(table, deleted, "erased records"),
            }
        }
    }
    let mut position = 0;
    while let Some(last) = retried(async || erase_changes(connection, company_id, position).await).await? {
        position = last;
        tracing::info!(position, "erased changes");
    }
    for table in COUNTS {
        let delete = AssertSqlSafe(format!("delete from {table} where company_id = $1 and n = 0"));
        sqlx::query(delete).bind(company_id).execute(&mut *connection).await?;
    }
    Ok(())
}

/// Erases up to [`ERASED_RECORDS`] records of a table in one transaction and returns their number.
///
/// Also erases data that other writers have just added to these records.
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

/// Locks the affiliates' records in a table and returns their IDs.
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

/// Erases up to [`ERASED_CHANGES`] change rows after a position. Returns the last erased position, if any.
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
