//! `ErasureService`: the caller, and what one request may erase.

use std::sync::Arc;

use compliance_api::{
    error::Error,
    v1::{EraseAffiliateRequest, EraseAffiliateResponse, erasure_service_server::ErasureService},
};
use tonic::{Request, Response};

use super::{Step, step};
use crate::{
    backend::Backend,
    database::Connections,
    deadline::check_caller,
    error::is_contention,
    limits::ERASED_ROWS,
    requests::{Served, accept},
    statement,
};

pub(crate) struct Erasures(pub(crate) Arc<Backend>);

#[tonic::async_trait]
impl ErasureService for Erasures {
    async fn erase_affiliate(&self, request: Request<EraseAffiliateRequest>) -> Served<EraseAffiliateResponse> {
        let (company_id, EraseAffiliateRequest { id }) = accept(request)?;
        let permit = self.0.queues.updated_affiliates.all(company_id).await?;
        let erase = |pool, _| erase(pool, company_id, id);
        let Some(Step { erased, is_whole }) = permit.write(&self.0.pool, is_contention, erase).await? else {
            return Err(Error::affiliate_not_found(id).into());
        };
        if is_whole { Ok(Response::new(erased)) } else { Err(Error::erasure_too_large(id).into()) }
    }
}

/// All or nothing, in a transaction.
async fn erase(pool: Connections, company_id: i64, affiliate_id: i64) -> Result<Option<Step>, sqlx::Error> {
    // A connection that is not `done` is closed, which rolls back what was not committed.
    let mut lease = pool.lease().await?;
    let mut transaction = pool.begin(&mut lease).await?;
    let step = step(&mut transaction, company_id, affiliate_id, ERASED_ROWS, &statement::writer()).await?;
    if step.as_ref().is_some_and(|step| step.is_whole) {
        check_caller().await;
        transaction.commit().await?;
    } else {
        transaction.rollback().await?;
    }
    lease.done(Ok(step))
}
