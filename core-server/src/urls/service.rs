//! `ComplianceUrlService`: who asks, and whether the request holds what it must.

use std::{future::ready, time::Duration};

use compliance_api::v1::{
    AddComplianceUrlsRequest, AddComplianceUrlsResponse, BatchGetComplianceUrlsRequest, BatchGetComplianceUrlsResponse,
    ComplianceUrl, GetComplianceUrlRequest, ListComplianceUrlsRequest, ListComplianceUrlsResponse,
    StreamComplianceUrlsRequest, StreamComplianceUrlsResponse, compliance_url_service_server::ComplianceUrlService,
};
use futures::stream;
use tokio::time::Instant;
use tonic::{Request, Response, Status, codegen::BoxStream};

use super::{add::Adder, list};
use crate::{
    CoreSettings,
    database::Connections,
    lists::{PART, Part, Source, too_large},
    reads::Reads,
    requests::{accept, holding, timeout_of},
    shares::Shares,
    writes::Queues,
};

/// The service.
pub(crate) struct ComplianceUrls {
    pool: Connections,
    single: Reads<ComplianceUrl>,
    adder: Adder,
    shares: Shares,
    list_timeout: Duration,
    /// Bytes of records in one response, unless it is a stream.
    most: usize,
}

impl ComplianceUrls {
    /// The service over a database.
    pub(crate) fn new(
        pool: &Connections,
        single: Reads<ComplianceUrl>,
        shares: &Shares,
        queues: &Queues,
        settings: &CoreSettings,
    ) -> Self {
        let (adder, shares) = (Adder::new(pool, queues), shares.clone());
        let (list_timeout, most) = (settings.list_timeout, settings.message_limit / 2);
        Self { pool: pool.clone(), single, adder, shares, list_timeout, most }
    }
}

#[tonic::async_trait]
impl ComplianceUrlService for ComplianceUrls {
    type StreamComplianceUrlsStream = BoxStream<StreamComplianceUrlsResponse>;

    async fn list_compliance_urls(
        &self,
        request: Request<ListComplianceUrlsRequest>,
    ) -> Result<Response<ListComplianceUrlsResponse>, Status> {
        let (company_id, request) = accept(request)?;
        let query = list::page_query(&request);
        let memory = &self.shares.memory.reservation(Some(company_id));
        let source = Source { pool: &self.pool, company_id, memory };
        let page = list::page(source, &request, self.most).await?.ok_or_else(|| too_large(self.most))?;
        let (urls, meta) = (page.records, Some(query.meta(page.total)));
        Ok(holding(ListComplianceUrlsResponse { urls, meta }, page.memory))
    }

    async fn stream_compliance_urls(
        &self,
        request: Request<StreamComplianceUrlsRequest>,
    ) -> Result<Response<Self::StreamComplianceUrlsStream>, Status> {
        let limit = timeout_of(&request).map_or(self.list_timeout, |asked| asked.min(self.list_timeout));
        let deadline = Instant::now() + limit;
        let (company_id, request) = accept(request)?;
        let request = request.list.unwrap_or_default();
        let query = list::page_query(&request);
        let memory = &self.shares.memory.reservation(Some(company_id));
        let source = Source { pool: &self.pool, company_id, memory };
        if let Some(page) = list::page(source, &request, PART).await? {
            let message = StreamComplianceUrlsResponse { urls: page.records, meta: Some(query.meta(page.total)) };
            return Ok(holding(Box::pin(stream::once(ready(Ok(message)))), page.memory));
        }
        let page = list::large_page(&self.pool, &self.shares, company_id, request, deadline);
        Ok(page.stream(move |Part { record, total }| StreamComplianceUrlsResponse {
            urls: record.into_iter().collect(),
            meta: total.map(|total| query.meta(total)),
        })?)
    }

    async fn get_compliance_url(
        &self,
        request: Request<GetComplianceUrlRequest>,
    ) -> Result<Response<ComplianceUrl>, Status> {
        let (company_id, request) = accept(request)?;
        Ok(self.single.get(company_id, request.id).await?)
    }

    async fn batch_get_compliance_urls(
        &self,
        request: Request<BatchGetComplianceUrlsRequest>,
    ) -> Result<Response<BatchGetComplianceUrlsResponse>, Status> {
        let (company_id, request) = accept(request)?;
        let memory = &self.shares.memory.reservation(Some(company_id));
        let source = Source { pool: &self.pool, company_id, memory };
        let urls = list::by_ids(source, &request.ids, self.most).await?;
        Ok(holding(BatchGetComplianceUrlsResponse { urls: urls.records }, urls.memory))
    }

    async fn add_compliance_urls(
        &self,
        request: Request<AddComplianceUrlsRequest>,
    ) -> Result<Response<AddComplianceUrlsResponse>, Status> {
        let (company_id, request) = accept(request)?;
        let results = self.adder.add(company_id, request.urls).await?;
        Ok(Response::new(AddComplianceUrlsResponse { results }))
    }
}
