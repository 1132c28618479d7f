//! Compliance cases: the read operations.

pub(crate) mod list;

use std::sync::Arc;

use compliance_api::v1::{
    BatchGetComplianceCasesRequest, BatchGetComplianceCasesResponse, ComplianceCase, GetComplianceCaseRequest,
    ListAllComplianceCasesRequest, ListAllComplianceCasesResponse, ListComplianceCasesRequest,
    ListComplianceCasesResponse, compliance_case_service_server::ComplianceCaseService,
};
use tonic::{Request, codegen::BoxStream};

pub(crate) use self::list::{LIST, STATEMENTS, affiliate_etag, incidents, query, single};
use self::list::{filters, read};
use crate::{
    access::{Served, accept},
    backend::Backend,
    changes::past,
    lists::{read_by_ids, too_large},
    quotas::with_memory,
    whole_lists,
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
        let (page, meta) = STATEMENTS.page(source, &request, read).await?.ok_or_else(|| too_large(most))?;
        Ok(with_memory(ListComplianceCasesResponse { cases: page.records, meta: Some(meta) }, page.memory))
    }

    async fn list_all_compliance_cases(
        &self,
        request: Request<ListAllComplianceCasesRequest>,
    ) -> Served<Self::ListAllComplianceCasesStream> {
        whole_lists::all(&self.0, request, |it| (it.after_id, it.changed_after, filters(it))).await
    }

    async fn get_compliance_case(&self, request: Request<GetComplianceCaseRequest>) -> Served<ComplianceCase> {
        let (company_id, request) = accept(request)?;
        if let Some(as_of) = request.as_of.filter(|as_of| !as_of.is_empty()) {
            return past(&self.0, &self.0.cases, company_id, request.id, &as_of).await;
        }
        let (record, memory) = self.0.cases.get(company_id, request.id).await?;
        Ok(with_memory(record, memory))
    }

    async fn batch_get_compliance_cases(
        &self,
        request: Request<BatchGetComplianceCasesRequest>,
    ) -> Served<BatchGetComplianceCasesResponse> {
        let (company_id, request) = accept(request)?;
        let cases = read_by_ids(self.0.source(company_id), STATEMENTS.by_ids, &request.ids, read).await?;
        Ok(with_memory(BatchGetComplianceCasesResponse { cases: cases.records }, cases.memory))
    }
}
