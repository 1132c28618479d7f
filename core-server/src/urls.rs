//! Compliance URLs: the web addresses monitored for a company.

mod add;
mod identity;
mod large_page;
pub(crate) mod list;

use std::{future::ready, sync::Arc};

use compliance_api::v1::{
    AddComplianceUrlsRequest, AddComplianceUrlsResponse, BatchGetComplianceUrlsRequest, BatchGetComplianceUrlsResponse,
    ComplianceUrl, GetComplianceUrlRequest, ListAllComplianceUrlsRequest, ListAllComplianceUrlsResponse,
    ListComplianceUrlsRequest, ListComplianceUrlsResponse, SearchComplianceUrlsRequest, SearchComplianceUrlsResponse,
    StreamComplianceUrlsRequest, StreamComplianceUrlsResponse, compliance_url_service_server::ComplianceUrlService,
};
use futures::stream;
use storage::writes::Writes;
use tokio::time::Instant;
use tonic::{Request, Response, codegen::BoxStream};

pub use self::add::FEW_URLS;
pub(crate) use self::{
    add::{ADD, KNOWN},
    identity::identity,
    list::{LIST, STATEMENTS, infractions, query, search_statement, single},
};
use self::{
    add::{AddFew, add, validate},
    large_page::LargePage,
    list::{filters, read, search},
};
use crate::{
    access::{Served, accept},
    backend::Backend,
    changes::past,
    lists::{PART, Source, read_by_ids, too_large},
    message_streams::timeout_of,
    quotas::with_memory,
    whole_lists,
};

pub(crate) struct ComplianceUrls {
    backend: Arc<Backend>,
    /// Adds URLs from small requests.
    add_few: Writes<AddFew>,
}

impl ComplianceUrls {
    pub(crate) fn new(backend: &Arc<Backend>) -> Self {
        let add_few = Writes::new(AddFew, &backend.pool, &backend.queues.urls);
        Self { backend: Arc::clone(backend), add_few }
    }
}

#[tonic::async_trait]
impl ComplianceUrlService for ComplianceUrls {
    type ListAllComplianceUrlsStream = BoxStream<ListAllComplianceUrlsResponse>;
    type StreamComplianceUrlsStream = BoxStream<StreamComplianceUrlsResponse>;

    async fn list_compliance_urls(
        &self,
        request: Request<ListComplianceUrlsRequest>,
    ) -> Served<ListComplianceUrlsResponse> {
        let (company_id, request) = accept(request)?;
        let source = self.backend.source(company_id);
        let most = source.most;
        let (page, meta) = STATEMENTS.page(source, &request, read).await?.ok_or_else(|| too_large(most))?;
        Ok(with_memory(ListComplianceUrlsResponse { urls: page.records, meta: Some(meta) }, page.memory))
    }

    async fn stream_compliance_urls(
        &self,
        request: Request<StreamComplianceUrlsRequest>,
    ) -> Served<Self::StreamComplianceUrlsStream> {
        let limit = timeout_of(&request, self.backend.settings.list_timeout);
        let deadline = Instant::now() + limit;
        let (company_id, request) = accept(request)?;
        let request = request.list.unwrap_or_default();
        let source = Source { most: PART, ..self.backend.source(company_id) };
        if let Some((page, meta)) = STATEMENTS.page(source, &request, read).await? {
            let message = StreamComplianceUrlsResponse { urls: page.records, meta: Some(meta) };
            return Ok(with_memory(Box::pin(stream::once(ready(Ok(message)))), page.memory));
        }
        Ok(LargePage { backend: Arc::clone(&self.backend), company_id, request }.stream(deadline)?)
    }

    async fn list_all_compliance_urls(
        &self,
        request: Request<ListAllComplianceUrlsRequest>,
    ) -> Served<Self::ListAllComplianceUrlsStream> {
        whole_lists::all(&self.backend, request, |it| (it.after_id, it.changed_after, filters(it))).await
    }

    async fn get_compliance_url(&self, request: Request<GetComplianceUrlRequest>) -> Served<ComplianceUrl> {
        let (company_id, request) = accept(request)?;
        if let Some(as_of) = request.as_of.filter(|as_of| !as_of.is_empty()) {
            return past(&self.backend, &self.backend.urls, company_id, request.id, &as_of).await;
        }
        let (record, memory) = self.backend.urls.get(company_id, request.id).await?;
        Ok(with_memory(record, memory))
    }

    async fn batch_get_compliance_urls(
        &self,
        request: Request<BatchGetComplianceUrlsRequest>,
    ) -> Served<BatchGetComplianceUrlsResponse> {
        let (company_id, request) = accept(request)?;
        let urls = read_by_ids(self.backend.source(company_id), STATEMENTS.by_ids, &request.ids, read).await?;
        Ok(with_memory(BatchGetComplianceUrlsResponse { urls: urls.records }, urls.memory))
    }

    async fn search_compliance_urls(
        &self,
        request: Request<SearchComplianceUrlsRequest>,
    ) -> Served<SearchComplianceUrlsResponse> {
        let (company_id, request) = accept(request)?;
        let found = search(self.backend.source(company_id), &request).await?;
        Ok(with_memory(SearchComplianceUrlsResponse { urls: found.records }, found.memory))
    }

    async fn add_compliance_urls(
        &self,
        request: Request<AddComplianceUrlsRequest>,
    ) -> Served<AddComplianceUrlsResponse> {
        let (company_id, request) = accept(request)?;
        let results = if request.validate_only {
            validate(&self.backend.pool, company_id, request.urls).await?
        } else {
            add(&self.backend, &self.add_few, company_id, request.urls).await?
        };
        Ok(Response::new(AddComplianceUrlsResponse { results }))
    }
}
