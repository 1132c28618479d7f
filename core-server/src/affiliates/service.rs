//! `AffiliateService`: who asks, and whether the request holds what it must.

use std::time::Duration;

use crate::database::Connections;
use compliance_api::{
    MAX_ID,
    error::Error,
    record::FieldSet,
    rules::Violations,
    v1::{
        Affiliate, AffiliateUpdate, BatchCreateAffiliatesRequest, BatchCreateAffiliatesResponse,
        BatchGetAffiliatesRequest, BatchGetAffiliatesResponse, BatchUpdateAffiliatesRequest,
        BatchUpdateAffiliatesResponse, CreateAffiliateRequest, CreateAffiliateResponse, GetAffiliateRequest,
        ListAffiliatesRequest, ListAffiliatesResponse, UpdateAffiliateRequest, UpdateAffiliateResponse,
        affiliate_service_server::AffiliateService,
    },
};
use tonic::{Request, Response, Status};

use super::{
    create,
    create_one::{CreateOne, NewAffiliate},
    in_order::Applied,
    input::Input,
    read, update,
    update_one::{Change, UpdateOne},
};
use crate::{
    CoreSettings,
    access::Caller,
    lists::Source,
    reads::Reads,
    record_pages::{self, RecordPages},
    requests::{accept, holding, timeout_of},
    shares::Shares,
    writes::{CompanyQueue, Queues, Writes},
};

/// The service.
pub(crate) struct Affiliates {
    pool: Connections,
    single: Reads<Affiliate>,
    shares: Shares,
    list_timeout: Duration,
    /// Bytes of records in one response, unless it is a stream.
    most: usize,
    creates: CompanyQueue,
    updates: CompanyQueue,
    create_one: Writes<CreateOne>,
    update_one: Writes<UpdateOne>,
}

impl Affiliates {
    /// The service over a database.
    pub(crate) fn new(
        pool: &Connections,
        single: Reads<Affiliate>,
        shares: &Shares,
        queues: &Queues,
        settings: &CoreSettings,
    ) -> Self {
        let Queues { created_affiliates: creates, updated_affiliates: updates, .. } = queues.clone();
        let create_one = Writes::new(CreateOne, pool, &creates);
        let update_one = Writes::new(UpdateOne, pool, &updates);
        let (pool, shares) = (pool.clone(), shares.clone());
        let (list_timeout, most) = (settings.list_timeout, settings.message_limit / 2);
        Self { pool, single, shares, list_timeout, most, creates, updates, create_one, update_one }
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
        Ok(record_pages::all(&self.pool, &self.shares, company_id, 0, limit)?)
    }

    async fn get_affiliate(&self, request: Request<GetAffiliateRequest>) -> Result<Response<Affiliate>, Status> {
        let (company_id, request) = accept(request)?;
        Ok(self.single.get(company_id, request.id).await?)
    }

    async fn batch_get_affiliates(
        &self,
        request: Request<BatchGetAffiliatesRequest>,
    ) -> Result<Response<BatchGetAffiliatesResponse>, Status> {
        let (company_id, request) = accept(request)?;
        let memory = &self.shares.memory.reservation(Some(company_id));
        let source = Source { pool: &self.pool, company_id, memory };
        let affiliates = read::by_ids(source, &request.ids, self.most).await?;
        Ok(holding(BatchGetAffiliatesResponse { affiliates: affiliates.records }, affiliates.memory))
    }

    async fn create_affiliate(
        &self,
        request: Request<CreateAffiliateRequest>,
    ) -> Result<Response<CreateAffiliateResponse>, Status> {
        let (company_id, request) = accept(request)?;
        let affiliate = request.affiliate.unwrap_or_default();
        let client_affiliate_id = affiliate.client_affiliate_id.clone().unwrap_or_default();
        let input = Input::new(1, affiliate, FieldSet::ALL);
        match self.create_one.write(NewAffiliate { company_id, input }).await? {
            Some(affiliate_id) => Ok(Response::new(CreateAffiliateResponse { affiliate_id, client_affiliate_id })),
            None => Err(Error::affiliate_name_exists(&client_affiliate_id).into()),
        }
    }

    async fn batch_create_affiliates(
        &self,
        request: Request<BatchCreateAffiliatesRequest>,
    ) -> Result<Response<BatchCreateAffiliatesResponse>, Status> {
        let (company_id, request) = accept(request)?;
        let results = create::create(&self.pool, &self.creates, company_id, request.affiliates).await?;
        Ok(Response::new(BatchCreateAffiliatesResponse { results }))
    }

    async fn update_affiliate(
        &self,
        request: Request<UpdateAffiliateRequest>,
    ) -> Result<Response<UpdateAffiliateResponse>, Status> {
        let (company_id, request) = accept(request)?;
        let update: AffiliateUpdate = request.update.unwrap_or_default();
        let affiliate_id = update.id.unwrap_or_default();
        match self.update_one.write(Change { company_id, input: update::change(update) }).await? {
            Applied::Saved => Ok(Response::new(UpdateAffiliateResponse { affiliate_id })),
            Applied::Unknown => Err(Error::affiliate_not_found(affiliate_id).into()),
            // The rules leave nothing else to the store.
            Applied::Taken | Applied::Failed => {
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
        match update::update(&self.pool, &self.updates, company_id, anchor, request.affiliates).await? {
            Some(results) => Ok(Response::new(BatchUpdateAffiliatesResponse { results })),
            None => Err(Error::affiliate_not_found(anchor.filter(|id| *id <= MAX_ID).unwrap_or_default()).into()),
        }
    }
}
