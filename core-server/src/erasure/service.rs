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
        let erase = |pool: Connections, _| async move {
            let is_whole = |step: &Option<Step>| step.as_ref().is_some_and(|step| step.is_whole);
            let by = statement::writer();
            pool.in_transaction(is_whole, async |connection| step(connection, company_id, id, ERASED_ROWS, &by).await)
                .await
        };
        let Some(Step { erased, is_whole }) = permit.write(&self.0.pool, is_contention, erase).await? else {
            return Err(Error::affiliate_not_found(id).into());
        };
        if is_whole { Ok(Response::new(erased)) } else { Err(Error::erasure_too_large(id).into()) }
    }
}
