//! `AffiliateService`: who asks, and whether the request holds what it must.

use std::time::Duration;

use crate::database::Connections;
use compliance_api::{
    MAX_ID,
    error::Error,
    rules::Violations,
    v1::{
        Affiliate, AffiliateUpdate, BatchCreateAffiliatesRequest, BatchCreateAffiliatesResponse,
        BatchGetAffiliatesRequest, BatchGetAffiliatesResponse, BatchUpdateAffiliatesRequest,
        BatchUpdateAffiliatesResponse, CreateAffiliateRequest, CreateAffiliateResponse, GetAffiliateRequest,
        ListAffiliatesRequest, ListAffiliatesResponse, ResultCode, UpdateAffiliateRequest, UpdateAffiliateResponse,
        affiliate_service_server::AffiliateService,
    },
};
use tonic::{Request, Response, Status};

use super::{create, read, update};
use crate::{
    access::Caller,
    reads::Reads,
    record_pages::{self, RecordPages},
    requests::{accept, timeout_of},
    shares::Shares,
};

/// The service.
pub(crate) struct Affiliates {
    pool: Connections,
    single: Reads<Affiliate>,
    shares: Shares,
    list_timeout: Duration,
}

impl Affiliates {
    pub(crate) fn new(pool: &Connections, single: Reads<Affiliate>, shares: &Shares, list_timeout: Duration) -> Self {
        Self { pool: pool.clone(), single, shares: shares.clone(), list_timeout }
    }
}

#[tonic::async_trait]
impl AffiliateService for Affiliates {
    type ListAffiliatesStream = RecordPages<ListAffiliatesResponse>;

    async fn list_affiliates(
        &self,
        request: Request<ListAffiliatesRequest>,
    ) -> Result<Response<Self::ListAffiliatesStream>, Status> {
        let company_id = Caller::of(&request)?.company_id;
        let limit = timeout_of(&request).map_or(self.list_timeout, |asked| asked.min(self.list_timeout));
        Ok(Response::new(record_pages::all(&self.pool, &self.shares, company_id, 0, limit)?))
    }

    async fn get_affiliate(&self, request: Request<GetAffiliateRequest>) -> Result<Response<Affiliate>, Status> {
        let (company_id, request) = accept(request)?;
        Ok(Response::new(self.single.get(company_id, request.id).await?))
    }

    async fn batch_get_affiliates(
        &self,
        request: Request<BatchGetAffiliatesRequest>,
    ) -> Result<Response<BatchGetAffiliatesResponse>, Status> {
        let (company_id, request) = accept(request)?;
        let affiliates = read::by_ids(&self.pool, company_id, &request.ids).await?;
        Ok(Response::new(BatchGetAffiliatesResponse { affiliates }))
    }

    async fn create_affiliate(
        &self,
        request: Request<CreateAffiliateRequest>,
    ) -> Result<Response<CreateAffiliateResponse>, Status> {
        let (company_id, request) = accept(request)?;
        let affiliate = vec![request.affiliate.unwrap_or_default()];
        let result = create::create(&self.pool, company_id, affiliate).await?.pop().unwrap_or_default();
        let client_affiliate_id = result.client_affiliate_id.unwrap_or_default();
        match result.affiliate_id {
            Some(affiliate_id) => Ok(Response::new(CreateAffiliateResponse { affiliate_id, client_affiliate_id })),
            None => Err(Error::affiliate_name_exists(&client_affiliate_id).into()),
        }
    }

    async fn batch_create_affiliates(
        &self,
        request: Request<BatchCreateAffiliatesRequest>,
    ) -> Result<Response<BatchCreateAffiliatesResponse>, Status> {
        let (company_id, request) = accept(request)?;
        let results = create::create(&self.pool, company_id, request.affiliates).await?;
        Ok(Response::new(BatchCreateAffiliatesResponse { results }))
    }

    async fn update_affiliate(
        &self,
        request: Request<UpdateAffiliateRequest>,
    ) -> Result<Response<UpdateAffiliateResponse>, Status> {
        let (company_id, request) = accept(request)?;
        let update: AffiliateUpdate = request.update.unwrap_or_default();
        let affiliate_id = update.id.unwrap_or_default();
        let outcome = update::update(&self.pool, company_id, None, vec![update]).await?;
        match outcome.into_iter().flatten().next().map(|result| result.code()) {
            Some(ResultCode::Saved) => Ok(Response::new(UpdateAffiliateResponse { affiliate_id })),
            Some(ResultCode::NotFound) | None => Err(Error::affiliate_not_found(affiliate_id).into()),
            // A single update has no other fault that the rules leave to the store.
            Some(_) => {
                let taken = "The affiliate name has already been taken.";
                Err(Error::invalid(Violations::one("affiliate_name", taken)).into())
            }
        }
    }

    async fn batch_update_affiliates(
        &self,
        request: Request<BatchUpdateAffiliatesRequest>,
    ) -> Result<Response<BatchUpdateAffiliatesResponse>, Status> {
        let (company_id, request) = accept(request)?;
        let anchor = request.anchor_id;
        match update::update(&self.pool, company_id, anchor, request.affiliates).await? {
            Some(results) => Ok(Response::new(BatchUpdateAffiliatesResponse { results })),
            None => Err(Error::affiliate_not_found(anchor.filter(|id| *id <= MAX_ID).unwrap_or_default()).into()),
        }
    }
}
