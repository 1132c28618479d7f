//! `ComplianceUrlService`: who asks, and whether the request holds what it must.

use admission::Memory;
use compliance_api::v1::{
    AddComplianceUrlsRequest, AddComplianceUrlsResponse, BatchGetComplianceUrlsRequest, BatchGetComplianceUrlsResponse,
    ComplianceUrl, GetComplianceUrlRequest, ListComplianceUrlsRequest, ListComplianceUrlsResponse,
    compliance_url_service_server::ComplianceUrlService,
};
use tonic::{Request, Response, Status};

use super::{add::Adder, list};
use crate::{
    database::Connections,
    lists::{Most, PART, PageQuery, Source},
    reads::Reads,
    requests::{accept, holding},
    writes::Queues,
};

/// The service.
pub(crate) struct ComplianceUrls {
    pool: Connections,
    single: Reads<ComplianceUrl>,
    adder: Adder,
    memory: Memory,
    /// Bytes of records in one response.
    most: usize,
}

impl ComplianceUrls {
    /// The service over a database. A message has at most `message_limit` bytes.
    pub(crate) fn new(
        pool: &Connections,
        single: Reads<ComplianceUrl>,
        queues: &Queues,
        memory: &Memory,
        message_limit: usize,
    ) -> Self {
        let (adder, memory) = (Adder::new(pool, queues), memory.clone());
        Self { pool: pool.clone(), single, adder, memory, most: message_limit / 2 }
    }
}

#[tonic::async_trait]
impl ComplianceUrlService for ComplianceUrls {
    async fn list_compliance_urls(
        &self,
        request: Request<ListComplianceUrlsRequest>,
    ) -> Result<Response<ListComplianceUrlsResponse>, Status> {
        let (company_id, request) = accept(request)?;
        let query = PageQuery::new(request.per_page, request.page, request.sort_dir());
        let most = if request.large_as_ids { Most::OrIds(PART) } else { Most::Whole(self.most) };
        let memory = &self.memory.reservation(Some(company_id));
        let page = list::page(Source { pool: &self.pool, company_id, memory }, &request, query, most).await?;
        let (urls, ids, meta) = (page.records, page.ids, Some(query.meta(page.total)));
        Ok(holding(ListComplianceUrlsResponse { urls, meta, ids }, page.memory))
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
        let memory = &self.memory.reservation(Some(company_id));
        let source = Source { pool: &self.pool, company_id, memory };
        let (urls, rest) = if request.in_parts {
            list::part(source, &request.ids).await?
        } else {
            (list::by_ids(source, &request.ids, self.most).await?, Vec::new())
        };
        Ok(holding(BatchGetComplianceUrlsResponse { urls: urls.records, rest }, urls.memory))
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
