//! `ComplianceCaseService`.

use std::sync::Arc;

use compliance_api::v1::{
    BatchGetComplianceCasesRequest, BatchGetComplianceCasesResponse, ComplianceCase, GetComplianceCaseRequest,
    ListAllComplianceCasesRequest, ListAllComplianceCasesResponse, ListComplianceCasesRequest,
    ListComplianceCasesResponse, compliance_case_service_server::ComplianceCaseService,
};
use tonic::{Request, codegen::BoxStream};

use super::{
    list::{STATEMENTS, filters},
    record,
};
use crate::{
    backend::Backend,
    changes::get_as_of,
    lists::{read_by_ids, too_large},
    record_pages,
    requests::{Served, accept, timeout_of, with_memory},
};

pub(crate) struct ComplianceCases(pub(crate) Arc<Backend>);

#[tonic::async_trait]
impl ComplianceCaseService for ComplianceCases {
    type ListAllComplianceCasesStream = BoxStream<ListAllComplianceCasesResponse>;

    async fn list_compliance_cases(
        &self,
        request: Request<ListComplianceCasesRequest>,
    ) -> Served<ListComplianceCasesResponse> {
        let (company_id, request) = accept(request)?;
        let source = self.0.source(company_id);
        let most = source.most;
        let page = STATEMENTS.page(source, &request, record::read).await?.ok_or_else(|| too_large(most))?;
        let meta = Some(page.meta);
        Ok(with_memory(ListComplianceCasesResponse { cases: page.records, meta }, page.memory))
    }

    async fn list_all_compliance_cases(
        &self,
        request: Request<ListAllComplianceCasesRequest>,
    ) -> Served<Self::ListAllComplianceCasesStream> {
        let limit = timeout_of(&request, self.0.settings.list_timeout);
        let (company_id, request) = accept(request)?;
        let after = request.after_id.unwrap_or_default();
        let changed_after = request.changed_after;
        Ok(record_pages::all(&self.0, company_id, after, filters(request), changed_after, limit).await?)
    }

    async fn get_compliance_case(&self, request: Request<GetComplianceCaseRequest>) -> Served<ComplianceCase> {
        let (company_id, request) = accept(request)?;
        let read = get_as_of(&self.0, &self.0.cases, company_id, request.id, request.as_of);
        Ok(read.await?)
    }

    async fn batch_get_compliance_cases(
        &self,
        request: Request<BatchGetComplianceCasesRequest>,
    ) -> Served<BatchGetComplianceCasesResponse> {
        let (company_id, request) = accept(request)?;
        let cases = read_by_ids(self.0.source(company_id), STATEMENTS.by_ids, &request.ids, record::read).await?;
        Ok(with_memory(BatchGetComplianceCasesResponse { cases: cases.records }, cases.memory))
    }
}
