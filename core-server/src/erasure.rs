//! Erasure of personal data from records and from the record of changes. The chain of the record of changes remains whole: an erased row
//! keeps its digest, and the entry of the erasure has the digest of what is left (`migrations/20261127000040_erasure.sql`).

mod company;
mod retry;
mod step;

use std::sync::Arc;

use compliance_api::{
    error::Error,
    v1::{EraseAffiliateRequest, EraseAffiliateResponse, erasure_service_server::ErasureService},
};
use sqlx::PgConnection;
use storage::{database::Connections, error::is_contention, statement};
use tonic::{Request, Response};

pub use self::{
    company::{Held, erase_company, held, tables},
    retry::ErasureError,
    step::ERASED_RECORDS,
};
use self::{
    retry::retried,
    step::{COMMAND, Step, begin, step},
};
use crate::{
    backend::Backend,
    requests::{self, Served, accept},
};

/// Erases an affiliate with its URLs and cases.
///
/// Each transaction has a bounded size, and the affiliate comes last. After an interruption, call this again. `None` if the company has no
/// such affiliate.
///
/// # Errors
///
/// If the database does not respond, or other writers keep blocking the erasure. What was erased remains erased.
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

/// Runs one step of the command in a transaction of its own.
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

/// Maximum number of rows of changes that one request may erase. Other writers of the company wait for it.
pub const ERASED_ROWS: i64 = 10_000;

/// `ErasureService`.
pub(crate) struct Erasures(pub(crate) Arc<Backend>);

#[tonic::async_trait]
impl ErasureService for Erasures {
    async fn erase_affiliate(&self, request: Request<EraseAffiliateRequest>) -> Served<EraseAffiliateResponse> {
        let (company_id, EraseAffiliateRequest { id, etag }) = accept(request)?;
        let revisions = requests::revisions(&etag);
        let revisions = revisions.as_deref();
        let permit = self.0.queues.updated_affiliates.all(company_id).await?;
        let erase = |pool: Connections, _| async move {
            let is_whole = |erased: &Erased| matches!(erased, Ok(Some(Step { is_whole: true, .. })));
            let by = statement::writer();
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

/// What was erased, or the affiliate's revision if the request does not allow it.
type Erased = Result<Option<Step>, i64>;

/// The revision of an affiliate, unless it is one of these. Locks the affiliate until the end of the transaction.
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
