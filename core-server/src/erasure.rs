//! Erasure of personal data from records and from the record of changes. The chain of the record of changes remains whole: an erased row
//! keeps its digest, and the entry of the erasure has the digest of what is left (`migrations/20261127000040_erasure.sql`).

mod company;
mod retry;
mod service;
mod step;

use compliance_api::v1::EraseAffiliateResponse;
use sqlx::PgConnection;

pub(crate) use self::service::Erasures;
pub use self::{
    company::{Held, erase_company, held, tables},
    retry::ErasureError,
    service::ERASED_ROWS,
    step::ERASED_RECORDS,
};
use self::{
    retry::retried,
    step::{COMMAND, Step, begin, step},
};

/// Erases an affiliate with its URLs and cases.
///
/// Each transaction has a bounded size, and the affiliate comes last. After an interruption, call this again. `None` if the company has no
/// such affiliate.
///
/// # Errors
///
/// If the database does not respond, or other writers stay in the way. What was erased remains erased.
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
