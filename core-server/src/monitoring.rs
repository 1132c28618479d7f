//! Operations for internal services: crawlers, case tools and migrations write the data that partners read.
//!
//! Each operation runs one statement for a whole request or stream chunk. It first validates the items and resolves their names, so an
//! invalid item does not fail the others.

mod case_digests;
mod case_updates;
mod context;
mod export;
mod field_updates;
mod incidents;
mod infractions;
mod items;
mod names;
mod observations;
mod opened_cases;
mod reviews;
mod vocabularies;

use std::sync::Arc;

use compliance_api::{
    rules::Check,
    v1::{
        AddVocabularyEntriesRequest, AddVocabularyEntriesResponse, AttachIncidentsRequest, AttachIncidentsResponse,
        BatchOpenCasesRequest, BatchOpenCasesResponse, CaseInput, CloseCaseRequest, CloseCaseResponse,
        DetachIncidentsRequest, DetachIncidentsResponse, ExportCasesRequest, ExportCasesResponse, ExportUrlsRequest,
        ExportUrlsResponse, GetVocabulariesRequest, GetVocabulariesResponse, ListVocabulariesRequest,
        ListVocabulariesResponse, ObserveUrlsRequest, ObserveUrlsResponse, OpenCaseRequest, OpenCaseResponse,
        RecordInfractionsRequest, RecordInfractionsResponse, ReopenCaseRequest, ReopenCaseResponse, ResolveCaseRequest,
        ResolveCaseResponse, ReviewUrlRequest, ReviewUrlResponse, StreamUrlObservationsRequest,
        StreamUrlObservationsResponse, UpdateCaseRequest, UpdateCaseResponse, UrlObservation, UrlReview,
        WithdrawInfractionsRequest, WithdrawInfractionsResponse, monitoring_service_server::MonitoringService,
        vocabulary_service_server::VocabularyService,
    },
};
use storage::table::Expected;
use tonic::{Request, Response, Status, Streaming, codegen::BoxStream};

use self::{
    context::{CompanyWriter, Context},
    infractions::Action,
    observations::{Observations, observe},
    opened_cases::{open, open_one},
};
use crate::{
    access::{Served, accept, caller},
    backend::Backend,
    lists::RecordPage as _,
    message_streams::serve_chunks,
    whole_lists,
};

#[derive(Clone)]
pub(crate) struct Monitoring(Arc<Context>);

impl Monitoring {
    pub(crate) fn new(backend: &Arc<Backend>) -> Self {
        Self(Arc::new(Context::new(Arc::clone(backend))))
    }

    /// Returns the caller's company and the request message. Fails if the message is invalid.
    fn accept<M: Check>(&self, request: Request<M>) -> Result<(CompanyWriter<'_>, M), Status> {
        let (id, message) = accept(request)?;
        Ok((CompanyWriter { id, context: &self.0 }, message))
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
        Ok(Response::new(ObserveUrlsResponse { results }))
    }

    async fn stream_url_observations(
        &self,
        request: Request<Streaming<StreamUrlObservationsRequest>>,
    ) -> Served<Self::StreamUrlObservationsStream> {
        serve_chunks(&self.0.backend, request, |company_id| Observations { context: Arc::clone(&self.0), company_id })
    }

    async fn export_urls(&self, request: Request<ExportUrlsRequest>) -> Served<Self::ExportUrlsStream> {
        whole_lists::all(&self.0.backend, request, |request| (request.after_url_id, request.changed_after, ())).await
    }

    async fn record_infractions(
        &self,
        request: Request<RecordInfractionsRequest>,
    ) -> Served<RecordInfractionsResponse> {
        let (company, request) = self.accept(request)?;
        let results = infractions::apply(company, Action::Record, request.infractions).await?;
        Ok(Response::new(RecordInfractionsResponse { results }))
    }

    async fn withdraw_infractions(
        &self,
        request: Request<WithdrawInfractionsRequest>,
    ) -> Served<WithdrawInfractionsResponse> {
        let (company, request) = self.accept(request)?;
        let results = infractions::apply(company, Action::Withdraw, request.infractions).await?;
        Ok(Response::new(WithdrawInfractionsResponse { results }))
    }

    async fn review_url(&self, request: Request<ReviewUrlRequest>) -> Served<ReviewUrlResponse> {
        let company = CompanyWriter { id: caller(&request)?.company_id, context: &self.0 };
        Ok(Response::new(reviews::review(company, request.into_inner()).await?))
    }

    async fn open_case(&self, request: Request<OpenCaseRequest>) -> Served<OpenCaseResponse> {
        let company = CompanyWriter { id: caller(&request)?.company_id, context: &self.0 };
        Ok(Response::new(open_one(company, request.into_inner()).await?))
    }

    async fn batch_open_cases(&self, request: Request<BatchOpenCasesRequest>) -> Served<BatchOpenCasesResponse> {
        let (company, request) = self.accept(request)?;
        let results = open(company, request.cases).await?;
        Ok(Response::new(BatchOpenCasesResponse { results }))
    }

    async fn export_cases(&self, request: Request<ExportCasesRequest>) -> Served<Self::ExportCasesStream> {
        whole_lists::all(&self.0.backend, request, |request| (request.after_case_id, request.changed_after, ())).await
    }

    async fn update_case(&self, request: Request<UpdateCaseRequest>) -> Served<UpdateCaseResponse> {
        let company = CompanyWriter { id: caller(&request)?.company_id, context: &self.0 };
        Ok(Response::new(case_updates::update(company, request.into_inner()).await?))
    }

    async fn resolve_case(&self, request: Request<ResolveCaseRequest>) -> Served<ResolveCaseResponse> {
        let (company, request) = self.accept(request)?;
        Ok(Response::new(case_updates::resolve(company, request).await?))
    }

    async fn close_case(&self, request: Request<CloseCaseRequest>) -> Served<CloseCaseResponse> {
        let (company, request) = self.accept(request)?;
        Ok(Response::new(case_updates::close(company, request).await?))
    }

    async fn reopen_case(&self, request: Request<ReopenCaseRequest>) -> Served<ReopenCaseResponse> {
        let (company, request) = self.accept(request)?;
        Ok(Response::new(case_updates::reopen(company, request).await?))
    }

    async fn attach_incidents(&self, request: Request<AttachIncidentsRequest>) -> Served<AttachIncidentsResponse> {
        let (company, request) = self.accept(request)?;
        let results = incidents::attach(company, request).await?;
        Ok(Response::new(AttachIncidentsResponse { results }))
    }

    async fn detach_incidents(&self, request: Request<DetachIncidentsRequest>) -> Served<DetachIncidentsResponse> {
        let (company, request) = self.accept(request)?;
        let results = incidents::detach(company, request).await?;
        Ok(Response::new(DetachIncidentsResponse { results }))
    }

    async fn list_vocabularies(&self, request: Request<ListVocabulariesRequest>) -> Served<ListVocabulariesResponse> {
        let (company, _) = self.accept(request)?;
        Ok(Response::new(ListVocabulariesResponse { vocabularies: vocabularies::list(company).await? }))
    }

    async fn add_vocabulary_entries(
        &self,
        request: Request<AddVocabularyEntriesRequest>,
    ) -> Served<AddVocabularyEntriesResponse> {
        let (company, request) = self.accept(request)?;
        let results = vocabularies::add(company, request.entries).await?;
        Ok(Response::new(AddVocabularyEntriesResponse { results }))
    }
}

#[tonic::async_trait]
impl VocabularyService for Monitoring {
    async fn get_vocabularies(&self, request: Request<GetVocabulariesRequest>) -> Served<GetVocabulariesResponse> {
        let (company, _) = self.accept(request)?;
        Ok(Response::new(GetVocabulariesResponse { vocabularies: vocabularies::list(company).await? }))
    }
}

/// The statements that write batches, with their parameter types.
pub(crate) const WRITE_STATEMENTS: [(&str, &str); 7] = [
    (include_str!("monitoring/observations/save.sql"), "bigint, url_observation_input[], text"),
    (include_str!("monitoring/cases/open.sql"), "bigint, case_input[], text, bigint[]"),
    (include_str!("monitoring/infractions/record.sql"), "bigint, infraction_input[], text"),
    (include_str!("monitoring/infractions/withdraw.sql"), "bigint, infraction_input[], text"),
    (include_str!("monitoring/incidents/attach.sql"), "bigint, bigint, incident_input[], bigint, text"),
    (include_str!("monitoring/incidents/detach.sql"), "bigint, bigint, incident_key_input[], text"),
    (
        include_str!("monitoring/vocabularies/add.sql"),
        "bigint, vocabulary_entry_input[], smallint, smallint, bigint, text",
    ),
];

/// The statements that change one record or look up a write's references, with their parameter types.
pub(crate) const SMALL_STATEMENTS: [(&str, &str); 4] = [
    (include_str!("monitoring/cases/update.sql"), "bigint, bigint, case_input[], integer[], integer[], bigint[], text"),
    (include_str!("monitoring/reviews/review.sql"), "bigint, bigint, url_review_input[], boolean, text, bigint[]"),
    (include_str!("monitoring/names.sql"), "bigint"),
    (include_str!("monitoring/observations/affiliates.sql"), "bigint, bigint[], text[]"),
];

/// Returns the statements that read export pages, with their parameter types.
pub(crate) fn export_statements() -> impl Iterator<Item = (&'static str, &'static str)> {
    let all = [ExportUrlsResponse::statement, ExportCasesResponse::statement];
    all.into_iter().flat_map(|statement| {
        [(statement(&(), false), "bigint, bigint, bigint"), (statement(&(), true), "bigint, bigint, bigint, bigint[]")]
    })
}

/// Adds the tables and types that the statements expect.
pub(crate) fn expect(expected: Expected) -> Expected {
    expected
        .record::<UrlObservation>()
        .record::<UrlReview>()
        .record::<CaseInput>()
        .composite(&observations::INPUT)
        .composite(&reviews::INPUT)
        .composite(&infractions::INPUT)
        .composite(&case_updates::INPUT)
        .composite(&incidents::INPUT)
        .composite(&incidents::KEY_INPUT)
        .composite(&vocabularies::INPUT)
}
