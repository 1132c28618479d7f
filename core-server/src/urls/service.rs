//! `ComplianceUrlService`: who asks, and whether the request holds what it must.

use crate::database::Connections;
use compliance_api::v1::{
    AddComplianceUrlsRequest, AddComplianceUrlsResponse, BatchGetComplianceUrlsRequest, BatchGetComplianceUrlsResponse,
    ComplianceUrl, GetComplianceUrlRequest, ListComplianceUrlsRequest, ListComplianceUrlsResponse,
    compliance_url_service_server::ComplianceUrlService,
};
use tonic::{Request, Response, Status};

use super::{add::Adder, list};
use crate::{
    lists::{Most, PART, PageQuery},
    reads::Reads,
    requests::accept,
    writes::Queues,
};

/// The service.
pub(crate) struct ComplianceUrls {
    pool: Connections,
    single: Reads<ComplianceUrl>,
    adder: Adder,
    /// Bytes of records in one response.
    most: usize,
}

impl ComplianceUrls {
    /// The service over a database. A message has at most `message_limit` bytes.
    pub(crate) fn new(pool: &Connections, single: Reads<ComplianceUrl>, queues: &Queues, message_limit: usize) -> Self {
        Self { pool: pool.clone(), single, adder: Adder::new(pool, queues), most: message_limit / 2 }
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
        let page = list::page(&self.pool, company_id, &request, query, most).await?;
        let (urls, ids, meta) = (page.records, page.ids, Some(query.meta(page.total)));
        Ok(Response::new(ListComplianceUrlsResponse { urls, meta, ids }))
    }

    async fn get_compliance_url(
        &self,
        request: Request<GetComplianceUrlRequest>,
    ) -> Result<Response<ComplianceUrl>, Status> {
        let (company_id, request) = accept(request)?;
        Ok(Response::new(self.single.get(company_id, request.id).await?))
    }

    async fn batch_get_compliance_urls(
        &self,
        request: Request<BatchGetComplianceUrlsRequest>,
    ) -> Result<Response<BatchGetComplianceUrlsResponse>, Status> {
        let (company_id, request) = accept(request)?;
        let (urls, rest) = if request.in_parts {
            list::part(&self.pool, company_id, &request.ids).await?
        } else {
            (list::by_ids(&self.pool, company_id, &request.ids, self.most).await?, Vec::new())
        };
        Ok(Response::new(BatchGetComplianceUrlsResponse { urls, rest }))
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
