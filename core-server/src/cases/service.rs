//! `ComplianceCaseService`: who asks, and whether the request holds what it must.

use admission::Memory;
use compliance_api::v1::{
    BatchGetComplianceCasesRequest, BatchGetComplianceCasesResponse, ComplianceCase, GetComplianceCaseRequest,
    ListComplianceCasesRequest, ListComplianceCasesResponse, compliance_case_service_server::ComplianceCaseService,
};
use tonic::{Request, Response, Status};

use super::list;
use crate::{
    database::Connections,
    lists::{PageQuery, Source},
    reads::Reads,
    requests::{accept, holding},
};

/// The service.
pub(crate) struct ComplianceCases {
    pool: Connections,
    single: Reads<ComplianceCase>,
    memory: Memory,
    /// Bytes of records in one response.
    most: usize,
}

impl ComplianceCases {
    /// The service over a database. A message has at most `message_limit` bytes.
    pub(crate) fn new(
        pool: &Connections,
        single: Reads<ComplianceCase>,
        memory: &Memory,
        message_limit: usize,
    ) -> Self {
        Self { pool: pool.clone(), single, memory: memory.clone(), most: message_limit / 2 }
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
        let memory = &self.memory.reservation(Some(company_id));
        let source = Source { pool: &self.pool, company_id, memory };
        let page = list::page(source, &request, query, self.most).await?;
        let (records, meta) = (page.records, Some(query.meta(page.total)));
        Ok(holding(ListComplianceCasesResponse { cases: records, meta }, page.memory))
    }

    async fn get_compliance_case(
        &self,
        request: Request<GetComplianceCaseRequest>,
    ) -> Result<Response<ComplianceCase>, Status> {
        let (company_id, request) = accept(request)?;
        Ok(self.single.get(company_id, request.id).await?)
    }

    async fn batch_get_compliance_cases(
        &self,
        request: Request<BatchGetComplianceCasesRequest>,
    ) -> Result<Response<BatchGetComplianceCasesResponse>, Status> {
        let (company_id, request) = accept(request)?;
        let memory = &self.memory.reservation(Some(company_id));
        let source = Source { pool: &self.pool, company_id, memory };
        let cases = list::by_ids(source, &request.ids, self.most).await?;
        Ok(holding(BatchGetComplianceCasesResponse { cases: cases.records }, cases.memory))
    }
}
