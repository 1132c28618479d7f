//! `MonitoringService`: the caller, the limits of the request, and the operation.

use std::{sync::Arc, time::Duration};

use compliance_api::v1::{
    AddVocabularyEntriesRequest, AddVocabularyEntriesResponse, AttachIncidentsRequest, AttachIncidentsResponse,
    BatchOpenCasesRequest, BatchOpenCasesResponse, CloseCaseRequest, CloseCaseResponse, DetachIncidentsRequest,
    DetachIncidentsResponse, ExportCasesRequest, ExportCasesResponse, ExportUrlsRequest, ExportUrlsResponse,
    ListVocabulariesRequest, ListVocabulariesResponse, ObserveUrlsRequest, ObserveUrlsResponse, OpenCaseRequest,
    OpenCaseResponse, RecordInfractionsRequest, RecordInfractionsResponse, ReopenCaseRequest, ReopenCaseResponse,
    ResolveCaseRequest, ResolveCaseResponse, StreamUrlObservationsRequest, UpdateCaseRequest, UpdateCaseResponse,
    WithdrawInfractionsRequest, WithdrawInfractionsResponse, monitoring_service_server::MonitoringService,
};
use tonic::{Request, Response, Status, Streaming};

use super::{
    cases,
    context::Context,
    incidents,
    infractions::{self, Action},
    items::messages,
    observations::{self, Chunk, Streams},
    vocabularies,
};
use crate::{
    CoreSettings,
    access::Caller,
    database::Connections,
    record_pages::{self, RecordPages},
    requests::{accept, timeout_of},
    shares::Shares,
    writes::Queues,
};

/// The service.
pub(crate) struct Monitoring {
    context: Arc<Context>,
    streams: Streams,
    shares: Shares,
    list_timeout: Duration,
    stream_timeout: Duration,
}

impl Monitoring {
    /// The service over a database.
    pub(crate) fn new(pool: &Connections, shares: &Shares, queues: &Queues, settings: &CoreSettings) -> Self {
        let context = Arc::new(Context::new(pool, queues));
        let streams = Streams::new(Arc::clone(&context), shares, settings.call_timeout);
        let CoreSettings { list_timeout, stream_timeout, .. } = *settings;
        Self { context, streams, shares: shares.clone(), list_timeout, stream_timeout }
    }

    fn export_timeout<T>(&self, request: &Request<T>) -> Duration {
        timeout_of(request).map_or(self.list_timeout, |asked| asked.min(self.list_timeout))
    }
}

#[tonic::async_trait]
impl MonitoringService for Monitoring {
    type StreamUrlObservationsStream = observations::Acknowledgements;
    type ExportUrlsStream = RecordPages<ExportUrlsResponse>;
    type ExportCasesStream = RecordPages<ExportCasesResponse>;

    async fn observe_urls(
        &self,
        request: Request<ObserveUrlsRequest>,
    ) -> Result<Response<ObserveUrlsResponse>, Status> {
        let (company_id, request) = accept(request)?;
        let chunk = Chunk::prepare(&self.context, company_id, request.observations).await?;
        Ok(Response::new(ObserveUrlsResponse { results: messages(chunk.save(&self.context, company_id).await?) }))
    }

    async fn stream_url_observations(
        &self,
        request: Request<Streaming<StreamUrlObservationsRequest>>,
    ) -> Result<Response<Self::StreamUrlObservationsStream>, Status> {
        let caller = Caller::of(&request)?.clone();
        let timeout = timeout_of(&request).map_or(self.stream_timeout, |asked| asked.min(self.stream_timeout));
        Ok(self.streams.serve(caller, request.into_inner(), timeout)?)
    }

    async fn export_urls(
        &self,
        request: Request<ExportUrlsRequest>,
    ) -> Result<Response<Self::ExportUrlsStream>, Status> {
        let timeout = self.export_timeout(&request);
        let (company_id, request) = accept(request)?;
        let after = request.after_url_id.unwrap_or_default();
        Ok(record_pages::all(&self.context.pool, &self.shares, company_id, after, timeout)?)
    }

    async fn record_infractions(
        &self,
        request: Request<RecordInfractionsRequest>,
    ) -> Result<Response<RecordInfractionsResponse>, Status> {
        let (company_id, request) = accept(request)?;
        let results = infractions::apply(&self.context, company_id, Action::Record, request.infractions).await?;
        Ok(Response::new(RecordInfractionsResponse { results: messages(results) }))
    }

    async fn withdraw_infractions(
        &self,
        request: Request<WithdrawInfractionsRequest>,
    ) -> Result<Response<WithdrawInfractionsResponse>, Status> {
        let (company_id, request) = accept(request)?;
        let results = infractions::apply(&self.context, company_id, Action::Withdraw, request.infractions).await?;
        Ok(Response::new(WithdrawInfractionsResponse { results: messages(results) }))
    }

    async fn open_case(&self, request: Request<OpenCaseRequest>) -> Result<Response<OpenCaseResponse>, Status> {
        let company_id = Caller::of(&request)?.company_id;
        let request = request.into_inner();
        Ok(Response::new(cases::open_one(&self.context, company_id, request).await?))
    }

    async fn batch_open_cases(
        &self,
        request: Request<BatchOpenCasesRequest>,
    ) -> Result<Response<BatchOpenCasesResponse>, Status> {
        let (company_id, request) = accept(request)?;
        let results = cases::open(&self.context, company_id, request.cases).await?;
        Ok(Response::new(BatchOpenCasesResponse { results: messages(results) }))
    }

    async fn export_cases(
        &self,
        request: Request<ExportCasesRequest>,
    ) -> Result<Response<Self::ExportCasesStream>, Status> {
        let timeout = self.export_timeout(&request);
        let (company_id, request) = accept(request)?;
        let after = request.after_case_id.unwrap_or_default();
        Ok(record_pages::all(&self.context.pool, &self.shares, company_id, after, timeout)?)
    }

    async fn update_case(&self, request: Request<UpdateCaseRequest>) -> Result<Response<UpdateCaseResponse>, Status> {
        let (company_id, request) = accept(request)?;
        Ok(Response::new(cases::update(&self.context, company_id, request).await?))
    }

    async fn resolve_case(
        &self,
        request: Request<ResolveCaseRequest>,
    ) -> Result<Response<ResolveCaseResponse>, Status> {
        let (company_id, request) = accept(request)?;
        Ok(Response::new(cases::resolve(&self.context, company_id, request).await?))
    }

    async fn close_case(&self, request: Request<CloseCaseRequest>) -> Result<Response<CloseCaseResponse>, Status> {
        let (company_id, request) = accept(request)?;
        Ok(Response::new(cases::close(&self.context, company_id, request).await?))
    }

    async fn reopen_case(&self, request: Request<ReopenCaseRequest>) -> Result<Response<ReopenCaseResponse>, Status> {
        let (company_id, request) = accept(request)?;
        Ok(Response::new(cases::reopen(&self.context, company_id, request).await?))
    }

    async fn attach_incidents(
        &self,
        request: Request<AttachIncidentsRequest>,
    ) -> Result<Response<AttachIncidentsResponse>, Status> {
        let (company_id, request) = accept(request)?;
        let results = incidents::attach(&self.context, company_id, request).await?;
        Ok(Response::new(AttachIncidentsResponse { results: messages(results) }))
    }

    async fn detach_incidents(
        &self,
        request: Request<DetachIncidentsRequest>,
    ) -> Result<Response<DetachIncidentsResponse>, Status> {
        let (company_id, request) = accept(request)?;
        let results = incidents::detach(&self.context, company_id, request).await?;
        Ok(Response::new(DetachIncidentsResponse { results: messages(results) }))
    }

    async fn list_vocabularies(
        &self,
        request: Request<ListVocabulariesRequest>,
    ) -> Result<Response<ListVocabulariesResponse>, Status> {
        let company_id = Caller::of(&request)?.company_id;
        let names = self.context.names.read(company_id).await?;
        Ok(Response::new(ListVocabulariesResponse { vocabularies: vocabularies::list(&names) }))
    }

    async fn add_vocabulary_entries(
        &self,
        request: Request<AddVocabularyEntriesRequest>,
    ) -> Result<Response<AddVocabularyEntriesResponse>, Status> {
        let (company_id, request) = accept(request)?;
        let results = vocabularies::add(&self.context, company_id, request.entries).await?;
        Ok(Response::new(AddVocabularyEntriesResponse { results: messages(results) }))
    }
}
