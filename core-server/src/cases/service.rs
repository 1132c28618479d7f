//! `ComplianceCaseService`: who asks, and whether the request holds what it must.

use crate::database::Connections;
use compliance_api::v1::{
    BatchGetComplianceCasesRequest, BatchGetComplianceCasesResponse, ComplianceCase, GetComplianceCaseRequest,
    ListComplianceCasesRequest, ListComplianceCasesResponse, compliance_case_service_server::ComplianceCaseService,
};
use tonic::{Request, Response, Status};

use super::list;
use crate::{lists::PageQuery, reads::Reads, requests::accept};

/// The service.
pub(crate) struct ComplianceCases {
    pool: Connections,
    single: Reads<ComplianceCase>,
}

impl ComplianceCases {
    pub(crate) fn new(pool: &Connections, single: Reads<ComplianceCase>) -> Self {
        Self { pool: pool.clone(), single }
    }
}

#[tonic::async_trait]
impl ComplianceCaseService for ComplianceCases {
    async fn list_compliance_cases(
        &self,
        request: Request<ListComplianceCasesRequest>,
    ) -> Result<Response<ListComplianceCasesResponse>, Status> {
        let (company_id, request) = accept(request)?;
        let query = PageQuery::new(request.per_page, request.page, request.sort_dir());
        let page = list::page(&self.pool, company_id, &request, query).await?;
        let (records, meta) = (page.records, Some(query.meta(page.total)));
        Ok(Response::new(ListComplianceCasesResponse { cases: records, meta }))
    }

    async fn get_compliance_case(
        &self,
        request: Request<GetComplianceCaseRequest>,
    ) -> Result<Response<ComplianceCase>, Status> {
        let (company_id, request) = accept(request)?;
        Ok(Response::new(self.single.get(company_id, request.case_id).await?))
    }

    async fn batch_get_compliance_cases(
        &self,
        request: Request<BatchGetComplianceCasesRequest>,
    ) -> Result<Response<BatchGetComplianceCasesResponse>, Status> {
        let (company_id, request) = accept(request)?;
        let cases = list::by_ids(&self.pool, company_id, &request.ids).await?;
        Ok(Response::new(BatchGetComplianceCasesResponse { cases }))
    }
}
