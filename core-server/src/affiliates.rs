//! Affiliates: a company's own records of its affiliates.

mod create;
mod in_order;
mod input;
pub(crate) mod read;
mod sync;
mod update;
mod update_one;

use std::sync::Arc;

use compliance_api::{
    MAX_ID,
    error::Error,
    rules::Violations,
    v1::{
        Affiliate, AffiliateUpdate, BatchCreateAffiliatesRequest, BatchCreateAffiliatesResponse,
        BatchGetAffiliatesRequest, BatchGetAffiliatesResponse, BatchUpdateAffiliatesRequest,
        BatchUpdateAffiliatesResponse, CreateAffiliateRequest, CreateAffiliateResponse, GetAffiliateRequest,
        ListAffiliatePageRequest, ListAffiliatePageResponse, ListAffiliatesRequest, ListAffiliatesResponse,
        SearchAffiliatesRequest, SearchAffiliatesResponse, UpdateAffiliateRequest, UpdateAffiliateResponse,
        affiliate_service_server::AffiliateService,
    },
};
use tonic::{Request, Response, codegen::BoxStream};

pub use self::create::MANY_AFFILIATES;
use self::{
    create::{CreateOne, Created},
    in_order::Applied,
    input::Input,
    read::{STATEMENTS, filters, search_statement},
    update_one::UpdateOne,
};
pub(crate) use self::{input::INPUT, read::single, sync::Syncs};
use crate::{
    access::{Served, accept},
    backend::Backend,
    changes::past,
    lists::{read_by_ids, too_large},
    quotas::with_memory,
    whole_lists,
};
use storage::{table::Reader, writes::Writes};

pub(crate) struct Affiliates {
    backend: Arc<Backend>,
    create_one: Writes<CreateOne>,
    update_one: Writes<UpdateOne>,
}

impl Affiliates {
    pub(crate) fn new(backend: &Arc<Backend>) -> Self {
        let Backend { pool, queues, .. } = &**backend;
        let create_one = Writes::new(CreateOne, pool, &queues.created_affiliates);
        let update_one = Writes::new(UpdateOne, pool, &queues.updated_affiliates);
        Self { backend: Arc::clone(backend), create_one, update_one }
    }
}

#[tonic::async_trait]
impl AffiliateService for Affiliates {
    type ListAffiliatesStream = BoxStream<ListAffiliatesResponse>;

    async fn list_affiliates(&self, request: Request<ListAffiliatesRequest>) -> Served<Self::ListAffiliatesStream> {
        whole_lists::all(&self.backend, request, |it| (None, it.changed_after, filters(it))).await
    }

    async fn list_affiliate_page(
        &self,
        request: Request<ListAffiliatePageRequest>,
    ) -> Served<ListAffiliatePageResponse> {
        let (company_id, request) = accept(request)?;
        let source = self.backend.source(company_id);
        let most = source.most;
        let page = STATEMENTS.page(source, &request, Reader::<Affiliate>::read).await?;
        let (page, meta) = page.ok_or_else(|| too_large(most))?;
        Ok(with_memory(ListAffiliatePageResponse { affiliates: page.records, meta: Some(meta) }, page.memory))
    }

    async fn get_affiliate(&self, request: Request<GetAffiliateRequest>) -> Served<Affiliate> {
        let (company_id, request) = accept(request)?;
        if let Some(as_of) = request.as_of.filter(|as_of| !as_of.is_empty()) {
            return past(&self.backend, &self.backend.affiliates, company_id, request.id, &as_of).await;
        }
        let (record, memory) = self.backend.affiliates.get(company_id, request.id).await?;
        Ok(with_memory(record, memory))
    }

    async fn batch_get_affiliates(
        &self,
        request: Request<BatchGetAffiliatesRequest>,
    ) -> Served<BatchGetAffiliatesResponse> {
        let (company_id, request) = accept(request)?;
        let source = self.backend.source(company_id);
        let affiliates = read_by_ids(source, STATEMENTS.by_ids, &request.ids, Reader::<Affiliate>::read).await?;
        Ok(with_memory(BatchGetAffiliatesResponse { affiliates: affiliates.records }, affiliates.memory))
    }

    async fn search_affiliates(&self, request: Request<SearchAffiliatesRequest>) -> Served<SearchAffiliatesResponse> {
        let (company_id, request) = accept(request)?;
        let found = read::search(self.backend.source(company_id), &request).await?;
        Ok(with_memory(SearchAffiliatesResponse { affiliates: found.records }, found.memory))
    }

    async fn create_affiliate(&self, request: Request<CreateAffiliateRequest>) -> Served<CreateAffiliateResponse> {
        let (company_id, request) = accept(request)?;
        let affiliate = request.affiliate.unwrap_or_default();
        let client_affiliate_id = affiliate.client_affiliate_id.clone().unwrap_or_default();
        match self.create_one.write(Input::created(company_id, affiliate)).await? {
            Created { id: Some(affiliate_id), .. } => {
                Ok(Response::new(CreateAffiliateResponse { affiliate_id, client_affiliate_id }))
            }
            Created { holder, .. } => Err(Error::affiliate_name_exists(&client_affiliate_id, holder).into()),
        }
    }

    async fn batch_create_affiliates(
        &self,
        request: Request<BatchCreateAffiliatesRequest>,
    ) -> Served<BatchCreateAffiliatesResponse> {
        let (company_id, request) = accept(request)?;
        let results = if request.validate_only {
            create::validate(&self.backend, company_id, request.affiliates).await?
        } else {
            create::create(&self.backend, company_id, request.affiliates).await?
        };
        Ok(Response::new(BatchCreateAffiliatesResponse { results }))
    }

    async fn update_affiliate(&self, request: Request<UpdateAffiliateRequest>) -> Served<UpdateAffiliateResponse> {
        let (company_id, request) = accept(request)?;
        let update: AffiliateUpdate = request.update.unwrap_or_default();
        let affiliate_id = update.id.unwrap_or_default();
        match self.update_one.write(Input::updated(company_id, update)).await? {
            Applied::Saved(revision) => {
                let etag = revision.unwrap_or_default().to_string();
                Ok(Response::new(UpdateAffiliateResponse { affiliate_id, etag }))
            }
            Applied::Unknown => Err(Error::affiliate_not_found(affiliate_id).into()),
            Applied::Changed(revision) => {
                let etag = revision.unwrap_or_default().to_string();
                Err(Error::etag_mismatch("affiliate_id", affiliate_id, &etag).into())
            }
            // The rules have already rejected invalid fields.
            Applied::Taken | Applied::Failed => {
                let taken = "The affiliate name has already been taken.";
                Err(Error::invalid(Violations::one("affiliate_name", taken)).into())
            }
        }
    }

    async fn batch_update_affiliates(
        &self,
        request: Request<BatchUpdateAffiliatesRequest>,
    ) -> Served<BatchUpdateAffiliatesResponse> {
        let (company_id, request) = accept(request)?;
        let BatchUpdateAffiliatesRequest { affiliates, anchor_id: anchor, validate_only } = request;
        match update::update(&self.backend, company_id, anchor, affiliates, validate_only).await? {
            Some(results) => Ok(Response::new(BatchUpdateAffiliatesResponse { results })),
            None => Err(Error::affiliate_not_found(anchor.filter(|id| *id <= MAX_ID).unwrap_or_default()).into()),
        }
    }
}

/// Returns the statements that write affiliates, with their parameter types.
pub(crate) fn write_statements() -> impl Iterator<Item = (&'static str, &'static str)> {
    create::statements().into_iter().chain([update_one::statement()]).chain(update::statements())
}

/// Returns the statements that compare all affiliates, with their parameter types.
pub(crate) fn scan_statements() -> impl Iterator<Item = (&'static str, &'static str)> {
    STATEMENTS.compared().chain([search_statement()])
}

/// Returns the statements that read or compare affiliates, with their parameter types.
pub(crate) fn read_statements() -> impl Iterator<Item = (&'static str, &'static str)> {
    let syncs = [(*sync::COMPARE, "bigint, affiliate_input[]"), (sync::PAGE, "bigint, bigint, bigint")];
    read::statements().chain(syncs)
}
