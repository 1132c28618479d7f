//! `MonitoringService` and `VocabularyService`.

use std::sync::Arc;

use compliance_api::{
    rules::Check,
    v1::{
        AddVocabularyEntriesRequest, AddVocabularyEntriesResponse, AttachIncidentsRequest, AttachIncidentsResponse,
        BatchOpenCasesRequest, BatchOpenCasesResponse, CloseCaseRequest, CloseCaseResponse, DetachIncidentsRequest,
        DetachIncidentsResponse, ExportCasesRequest, ExportCasesResponse, ExportUrlsRequest, ExportUrlsResponse,
        GetVocabulariesRequest, GetVocabulariesResponse, ListVocabulariesRequest, ListVocabulariesResponse,
        ObserveUrlsRequest, ObserveUrlsResponse, OpenCaseRequest, OpenCaseResponse, RecordInfractionsRequest,
        RecordInfractionsResponse, ReopenCaseRequest, ReopenCaseResponse, ResolveCaseRequest, ResolveCaseResponse,
        ReviewUrlRequest, ReviewUrlResponse, StreamUrlObservationsRequest, StreamUrlObservationsResponse,
        UpdateCaseRequest, UpdateCaseResponse, VocabularyNames, WithdrawInfractionsRequest,
        WithdrawInfractionsResponse, monitoring_service_server::MonitoringService,
        vocabulary_service_server::VocabularyService,
    },
};
use tonic::{Request, Response, Status, Streaming, codegen::BoxStream};

use super::{
    cases,
    context::{CompanyWriter, Context},
    incidents,
    infractions::{self, Action},
    items::messages,
    observations::{Observations, observe},
    reviews, vocabularies,
};
use crate::{
    access::Identity,
    backend::Backend,
    chunks, record_pages,
    requests::{Served, accept, timeout_of},
};

pub(crate) struct Monitoring(Arc<Context>);

impl Monitoring {
    pub(crate) fn new(backend: &Arc<Backend>) -> Self {
        Self(Arc::new(Context::new(Arc::clone(backend))))
    }

    /// The caller's company and the message of a request. Refuses a message that breaks a rule.
    fn accept<M: Check>(&self, request: Request<M>) -> Result<(CompanyWriter<'_>, M), Status> {
        let (id, message) = accept(request)?;
        Ok((CompanyWriter { id, context: &self.0 }, message))
    }

    /// Every vocabulary of the caller's company.
    async fn vocabularies<M>(&self, request: &Request<M>) -> Result<Vec<VocabularyNames>, Status> {
        let company = CompanyWriter { id: Identity::of(request)?.company_id, context: &self.0 };
        Ok(vocabularies::list(&*company.read_names().await?))
    }
}

#[tonic::async_trait]
impl MonitoringService for Monitoring {
    type StreamUrlObservationsStream = BoxStream<StreamUrlObservationsResponse>;
    type ExportUrlsStream = BoxStream<ExportUrlsResponse>;
    type ExportCasesStream = BoxStream<ExportCasesResponse>;

    async fn observe_urls(&self, request: Request<ObserveUrlsRequest>) -> Served<ObserveUrlsResponse> {
        let (company, request) = self.accept(request)?;
        let results = observe(company, request.observations).await?;
        Ok(Response::new(ObserveUrlsResponse { results: messages(results) }))
    }

    async fn stream_url_observations(
        &self,
        request: Request<Streaming<StreamUrlObservationsRequest>>,
    ) -> Served<Self::StreamUrlObservationsStream> {
        let caller = Identity::of(&request)?.clone();
        let timeout = timeout_of(&request, self.0.backend.settings.stream_timeout);
        let observations = Observations { context: Arc::clone(&self.0), company_id: caller.company_id };
        Ok(chunks::serve(&self.0.backend, observations, caller, request.into_inner(), timeout)?)
    }

    async fn export_urls(&self, request: Request<ExportUrlsRequest>) -> Served<Self::ExportUrlsStream> {
        let timeout = timeout_of(&request, self.0.backend.settings.list_timeout);
        let (company_id, request) = accept(request)?;
        let after = request.after_url_id.unwrap_or_default();
        Ok(record_pages::all(&self.0.backend, company_id, after, (), request.changed_after, timeout).await?)
    }

    async fn record_infractions(
        &self,
        request: Request<RecordInfractionsRequest>,
    ) -> Served<RecordInfractionsResponse> {
        let (company, request) = self.accept(request)?;
        let results = infractions::apply(company, Action::Record, request.infractions).await?;
        Ok(Response::new(RecordInfractionsResponse { results: messages(results) }))
    }

    async fn withdraw_infractions(
        &self,
        request: Request<WithdrawInfractionsRequest>,
    ) -> Served<WithdrawInfractionsResponse> {
        let (company, request) = self.accept(request)?;
        let results = infractions::apply(company, Action::Withdraw, request.infractions).await?;
        Ok(Response::new(WithdrawInfractionsResponse { results: messages(results) }))
    }

    async fn review_url(&self, request: Request<ReviewUrlRequest>) -> Served<ReviewUrlResponse> {
        let (company, request) = self.accept(request)?;
        Ok(Response::new(reviews::review(company, request).await?))
    }

    async fn open_case(&self, request: Request<OpenCaseRequest>) -> Served<OpenCaseResponse> {
        let company = CompanyWriter { id: Identity::of(&request)?.company_id, context: &self.0 };
        Ok(Response::new(cases::open_one(company, request.into_inner()).await?))
    }

    async fn batch_open_cases(&self, request: Request<BatchOpenCasesRequest>) -> Served<BatchOpenCasesResponse> {
        let (company, request) = self.accept(request)?;
        let results = cases::open(company, request.cases).await?;
        Ok(Response::new(BatchOpenCasesResponse { results: messages(results) }))
    }

    async fn export_cases(&self, request: Request<ExportCasesRequest>) -> Served<Self::ExportCasesStream> {
        let timeout = timeout_of(&request, self.0.backend.settings.list_timeout);
        let (company_id, request) = accept(request)?;
        let after = request.after_case_id.unwrap_or_default();
        Ok(record_pages::all(&self.0.backend, company_id, after, (), request.changed_after, timeout).await?)
    }

    async fn update_case(&self, request: Request<UpdateCaseRequest>) -> Served<UpdateCaseResponse> {
        let (company, request) = self.accept(request)?;
        Ok(Response::new(cases::update(company, request).await?))
    }

    async fn resolve_case(&self, request: Request<ResolveCaseRequest>) -> Served<ResolveCaseResponse> {
        let (company, request) = self.accept(request)?;
        Ok(Response::new(cases::resolve(company, request).await?))
    }

    async fn close_case(&self, request: Request<CloseCaseRequest>) -> Served<CloseCaseResponse> {
        let (company, request) = self.accept(request)?;
        Ok(Response::new(cases::close(company, request).await?))
    }

    async fn reopen_case(&self, request: Request<ReopenCaseRequest>) -> Served<ReopenCaseResponse> {
        let (company, request) = self.accept(request)?;
        Ok(Response::new(cases::reopen(company, request).await?))
    }

    async fn attach_incidents(&self, request: Request<AttachIncidentsRequest>) -> Served<AttachIncidentsResponse> {
        let (company, request) = self.accept(request)?;
        let results = incidents::attach(company, request).await?;
        Ok(Response::new(AttachIncidentsResponse { results: messages(results) }))
    }

    async fn detach_incidents(&self, request: Request<DetachIncidentsRequest>) -> Served<DetachIncidentsResponse> {
        let (company, request) = self.accept(request)?;
        let results = incidents::detach(company, request).await?;
        Ok(Response::new(DetachIncidentsResponse { results: messages(results) }))
    }

    async fn list_vocabularies(&self, request: Request<ListVocabulariesRequest>) -> Served<ListVocabulariesResponse> {
        Ok(Response::new(ListVocabulariesResponse { vocabularies: self.vocabularies(&request).await? }))
    }

    async fn add_vocabulary_entries(
        &self,
        request: Request<AddVocabularyEntriesRequest>,
    ) -> Served<AddVocabularyEntriesResponse> {
        let (company, request) = self.accept(request)?;
        let results = vocabularies::add(company, request.entries).await?;
        Ok(Response::new(AddVocabularyEntriesResponse { results: messages(results) }))
    }
}

#[tonic::async_trait]
impl VocabularyService for Monitoring {
    async fn get_vocabularies(&self, request: Request<GetVocabulariesRequest>) -> Served<GetVocabulariesResponse> {
        Ok(Response::new(GetVocabulariesResponse { vocabularies: self.vocabularies(&request).await? }))
    }
}
