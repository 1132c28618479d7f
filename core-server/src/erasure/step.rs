//! Runs a single erasure transaction and retries the command's transactions while other writers block them.

use std::time::Duration;

use compliance_api::v1::EraseAffiliateResponse;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Postgres, Transaction};
use storage::error::{is_contention, is_lock_timeout, text};
use tokio::time::sleep;

/// Maximum number of records of one kind per transaction, which takes about a second.
pub const ERASED_RECORDS: i64 = 1000;
/// Lock timeout for a `compliance erase` transaction.
const ERASURE_LOCK_TIMEOUT: &str = "5s";

const FIND: &str = include_str!("find.sql");
/// Calls a function that runs as the schema owner, because the service cannot change the record of changes
/// (`migrations/20261128000032_erase_changes.sql`). On Citus, the table in the statement makes the function run on the company's node.
const REDACT: &str = "
    select erase_changes(p.company_id, $2, $3, $4, $5, $6, $7, $8, $9::jsonb) from change_positions p where p.company_id = $1";

/// The writer recorded for the command's changes.
pub(super) const COMMAND: &str = r#"[null, "compliance erase"]"#;

/// The result of one erasure transaction for an affiliate.
pub(super) struct Step {
    pub(super) erased: EraseAffiliateResponse,
    /// Whether the whole affiliate was erased.
    pub(super) is_whole: bool,
}

/// The entries to erase from the record of changes. If `ids` is `None`, all entries in the rows at `positions`.
#[derive(Default, sqlx::FromRow)]
pub(super) struct Entries {
    /// The kind of each entry's record, as in `record_changes_of`.
    pub(super) resources: Option<Vec<i16>>,
    pub(super) ids: Option<Vec<i64>>,
    pub(super) last_position: Option<i64>,
    pub(super) positions: Vec<i64>,
}

/// Begins a transaction for the command. The first setting makes Citus propagate the other settings to its nodes.
pub(super) async fn begin(connection: &mut PgConnection) -> Result<Transaction<'_, Postgres>, sqlx::Error> {
    let begin = format!(
        "begin; set local citus.propagate_set_commands = 'local'; set local lock_timeout = '{ERASURE_LOCK_TIMEOUT}';
        set local compliance.changed_by = '{COMMAND}'"
    );
    connection.begin_with(AssertSqlSafe(begin)).await
}

/// Erases up to [`ERASED_RECORDS`] each of an affiliate's URLs and cases, and the affiliate itself if none remain.
///
/// Erases nothing if the affiliate has more than `most_rows` change rows. The step finds these rows before locking positions, so the
/// company's other writers wait only for the rest. Returns `None` if the company has no such affiliate.
pub(super) async fn step(
    connection: &mut PgConnection,
    company_id: i64,
    affiliate_id: i64,
    most_rows: i64,
    by: &str,
) -> Result<Option<Step>, sqlx::Error> {
    // The lock prevents new references to the affiliate.
    let affiliate = "select from affiliates where company_id = $1 and id = $2 for update";
    if sqlx::query(affiliate).bind(company_id).bind(affiliate_id).fetch_optional(&mut *connection).await?.is_none() {
        return Ok(None);
    }
    let [urls, cases] = [
        "select id from compliance_urls where company_id = $1 and affiliate_id = $2 order by id limit (select $3::bigint) for update",
        "select id from compliance_cases where company_id = $1 and affiliate_id = $2 order by id limit (select $3::bigint) for update",
    ]
    .map(|records| sqlx::query_scalar::<_, i64>(records).bind(company_id).bind(affiliate_id).bind(ERASED_RECORDS));
    let (urls, cases) = (urls.fetch_all(&mut *connection).await?, cases.fetch_all(&mut *connection).await?);
    let is_whole = [&urls, &cases].iter().all(|ids| (ids.len() as i64) < ERASED_RECORDS);
    if !is_whole && most_rows < i64::MAX {
        return Ok(Some(Step { erased: EraseAffiliateResponse::default(), is_whole }));
    }
    let find = sqlx::query_as(FIND).bind(company_id).bind(is_whole.then_some(affiliate_id)).bind(&urls).bind(&cases);
    let entries: Entries = find.bind(most_rows.saturating_add(1)).fetch_one(&mut *connection).await?;
    if entries.positions.len() as i64 > most_rows {
        return Ok(Some(Step { erased: EraseAffiliateResponse::default(), is_whole: false }));
    }
    let deleted = delete(connection, company_id, is_whole.then_some(affiliate_id).as_slice(), &urls, &cases).await?;
    redact(connection, company_id, Some(affiliate_id), by, &entries).await?;
    Ok(Some(Step { erased: deleted, is_whole }))
}

/// Deletes records, and the records that reference them. The caller must lock the records to prevent new references.
pub(super) async fn delete(
    connection: &mut PgConnection,
    company_id: i64,
    affiliates: &[i64],
    urls: &[i64],
    cases: &[i64],
) -> Result<EraseAffiliateResponse, sqlx::Error> {
    let mut counts = [0; 7];
    for (count, (delete, ids)) in counts.iter_mut().zip([
        ("delete from incidents where company_id = $1 and case_id = any($2)", cases),
        ("delete from incidents where company_id = $1 and url_id = any($2)", urls),
        ("delete from infractions where company_id = $1 and url_id = any($2)", urls),
        // Another affiliate's URL can reference the case without an incident.
        ("update compliance_urls set case_id = null where company_id = $1 and case_id = any($2)", cases),
        ("delete from compliance_urls where company_id = $1 and id = any($2)", urls),
        ("delete from compliance_cases where company_id = $1 and id = any($2)", cases),
        ("delete from affiliates where company_id = $1 and id = any($2)", affiliates),
    ]) {
        let deleted = sqlx::query(delete).bind(company_id).bind(ids).execute(&mut *connection).await?;
        *count = deleted.rows_affected().cast_signed();
    }
    let [of_cases, of_urls, infractions, _, urls, cases, _] = counts;
    Ok(EraseAffiliateResponse { urls, cases, incidents: of_cases + of_urls, infractions })
}

/// Erases entries and adds an entry for the erasure to the record of changes.
pub(super) async fn redact(
    connection: &mut PgConnection,
    company_id: i64,
    affiliate_id: Option<i64>,
    by: &str,
    Entries { resources, ids, last_position, positions }: &Entries,
) -> Result<(), sqlx::Error> {
    let (resource, id) = affiliate_id.map_or((0_i16, company_id), |id| (1, id));
    let query = sqlx::query(REDACT).bind(company_id).bind(resource).bind(id).bind(positions).bind(last_position);
    let query = query.bind(resources).bind(ids).bind(rand::random::<[u8; 16]>()).bind(by);
    query.execute(connection).await.map(drop)
}

/// Maximum number of attempts per transaction.
const ERASURE_TRIES: u32 = 12;
/// Pause after the first attempt. Each later pause is longer by the same amount.
const ERASURE_PAUSE: Duration = Duration::from_millis(50);

/// Errors from the erase command. Erased data remains erased.
#[derive(Debug, thiserror::Error)]
pub enum ErasureError {
    /// Other writers blocked every attempt.
    #[error(
        "gave up after {ERASURE_TRIES} attempts, because other writes blocked the erasure; last error: {}. Data erased so far stays \
         erased. Revoke the company's tokens, end its long-running transactions, and run the command again",
        text(.0)
    )]
    InTheWay(sqlx::Error),
    /// Only the owner can erase the record of changes.
    #[error("only the owner of the tables can erase a company: connect as that role")]
    NotOwner,
    /// The database did not respond, or rejected a statement.
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

/// Runs a transaction and retries it while another writer blocks it.
pub(super) async fn retried<T>(
    mut transaction: impl AsyncFnMut() -> Result<T, sqlx::Error>,
) -> Result<T, ErasureError> {
    let mut attempt = 0;
    loop {
        let error = match transaction().await {
            Ok(done) => return Ok(done),
            Err(error) if is_contention(&error) || is_lock_timeout(&error) => error,
            Err(error) => return Err(ErasureError::Database(error)),
        };
        attempt += 1;
        if attempt >= ERASURE_TRIES {
            return Err(ErasureError::InTheWay(error));
        }
        tracing::info!(attempt, "a concurrent write blocked an erasure transaction; retrying: {}", text(&error));
        sleep(ERASURE_PAUSE * attempt).await;
    }
}

#[cfg(test)]
mod tests {
    use std::{borrow::Cow, error::Error, fmt};

    use sqlx::error::{DatabaseError, ErrorKind};

    use super::{ERASURE_TRIES, ErasureError, retried};

    #[derive(Debug)]
    struct Code(&'static str);

    impl fmt::Display for Code {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Code {}

    impl DatabaseError for Code {
        fn message(&self) -> &str {
            self.0
        }
        fn code(&self) -> Option<Cow<'_, str>> {
            Some(self.0.into())
        }
        fn as_error(&self) -> &(dyn Error + Send + Sync + 'static) {
            self
        }
        fn as_error_mut(&mut self) -> &mut (dyn Error + Send + Sync + 'static) {
            self
        }
        fn into_error(self: Box<Self>) -> Box<dyn Error + Send + Sync + 'static> {
            self
        }
        fn kind(&self) -> ErrorKind {
            ErrorKind::Other
        }
    }

    #[tokio::test(start_paused = true)]
    async fn blocked_erasures_give_up_after_max_tries() {
        let fail = async |code| {
            let mut attempts = 0;
            let failed = retried::<()>(async || {
                attempts += 1;
                Err(sqlx::Error::Database(Box::new(Code(code))))
            });
            (failed.await.unwrap_err(), attempts)
        };
        for code in ["40P01", "40001", "23503", "55P03"] {
            let (last, attempts) = fail(code).await;
            assert!(matches!(last, ErasureError::InTheWay(_)) && last.to_string().contains("run the command again"));
            assert_eq!(attempts, ERASURE_TRIES);
        }
        assert!(matches!(fail("42501").await, (ErasureError::Database(_), 1)));
    }
}
