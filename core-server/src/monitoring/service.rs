//! `MonitoringService`: who asks, and how much of what.

use std::{sync::Arc, time::Duration};

use crate::database::Connections;
use compliance_api::{
    error::{Error, Reason},
    rules::Violations,
    v1::{
        AddVocabularyEntriesRequest, AddVocabularyEntriesResponse, AttachIncidentsRequest, AttachIncidentsResponse,
        BatchOpenCasesRequest, BatchOpenCasesResponse, CloseCaseRequest, DetachIncidentsRequest,
        DetachIncidentsResponse, ExportCasesRequest, ExportCasesResponse, ExportUrlsRequest, ExportUrlsResponse,
        ListVocabulariesRequest, ListVocabulariesResponse, ObserveUrlsRequest, ObserveUrlsResponse, OpenCaseRequest,
        OpenCaseResponse, RecordInfractionsRequest, RecordInfractionsResponse, ReopenCaseRequest, ResolveCaseRequest,
        ResultCode, UpdateCaseRequest, UpdateCaseResponse, WithdrawInfractionsRequest, WithdrawInfractionsResponse,
        monitoring_service_server::MonitoringService,
    },
};
use tonic::{Request, Response, Status, Streaming};

use super::{
    cases::{self, Opening, Verb},
    catalogue, export,
    faults::at_most,
    incidents,
    infractions::{self, Deed},
    names::Names,
    observations::{self, Chunk, Store, Streams},
};
use crate::{
    access::Caller,
    requests::{timeout_of, valid},
};

/// The service.
pub(crate) struct Monitoring {
    pool: Connections,
    names: Arc<Names>,
    store: Arc<Store>,
    streams: Streams,
    list_timeout: Duration,
}

impl Monitoring {
    pub(crate) fn new(pool: &Connections, list_timeout: Duration) -> Self {
        let (names, store) = (Arc::new(Names::new(pool)), Arc::new(Store::new(pool)));
        let streams = Streams::new(Arc::clone(&names), Arc::clone(&store));
        Self { pool: pool.clone(), names, store, streams, list_timeout }
    }

    fn limit<T>(&self, request: &Request<T>) -> Duration {
        timeout_of(request).map_or(self.list_timeout, |asked| asked.min(self.list_timeout))
    }

    async fn verb(&self, company_id: i64, verb: Verb) -> Result<Response<UpdateCaseResponse>, Status> {
        Ok(Response::new(cases::with_verb(&self.pool, &self.names, company_id, verb).await?))
    }
}

#[tonic::async_trait]
impl MonitoringService for Monitoring {
    type StreamUrlObservationsStream = observations::Answers;
    type ExportUrlsStream = export::Pages<ExportUrlsResponse>;
    type ExportCasesStream = export::Pages<ExportCasesResponse>;

    async fn observe_urls(
        &self,
        request: Request<ObserveUrlsRequest>,
    ) -> Result<Response<ObserveUrlsResponse>, Status> {
        let company_id = Caller::of(&request)?.company_id;
        let observations = request.into_inner().observations;
        at_most(observations::MOST, "observations", observations.len())?;
        let chunk = Chunk::prepare(&self.names, company_id, observations).await?;
        Ok(Response::new(ObserveUrlsResponse { results: chunk.save(&self.store, company_id).await? }))
    }

    async fn stream_url_observations(
        &self,
        request: Request<Streaming<ObserveUrlsRequest>>,
    ) -> Result<Response<Self::StreamUrlObservationsStream>, Status> {
        let caller = Caller::of(&request)?.clone();
        Ok(Response::new(self.streams.serve(caller, request.into_inner())?))
    }

    async fn export_urls(
        &self,
        request: Request<ExportUrlsRequest>,
    ) -> Result<Response<Self::ExportUrlsStream>, Status> {
        let (company_id, limit) = (Caller::of(&request)?.company_id, self.limit(&request));
        let request = request.into_inner();
        valid(&request)?;
        let after = request.after_url_id.unwrap_or_default();
        Ok(Response::new(export::all(self.pool.clone(), company_id, after, limit)))
    }

    async fn record_infractions(
        &self,
        request: Request<RecordInfractionsRequest>,
    ) -> Result<Response<RecordInfractionsResponse>, Status> {
        let company_id = Caller::of(&request)?.company_id;
        let items = request.into_inner().infractions;
        at_most(infractions::MOST, "infractions", items.len())?;
        let results = infractions::apply(&self.pool, &self.names, company_id, Deed::Record, items).await?;
        Ok(Response::new(RecordInfractionsResponse { results }))
    }

    async fn withdraw_infractions(
        &self,
        request: Request<WithdrawInfractionsRequest>,
    ) -> Result<Response<WithdrawInfractionsResponse>, Status> {
        let company_id = Caller::of(&request)?.company_id;
        let items = request.into_inner().infractions;
        at_most(infractions::MOST, "infractions", items.len())?;
        let results = infractions::apply(&self.pool, &self.names, company_id, Deed::Withdraw, items).await?;
        Ok(Response::new(WithdrawInfractionsResponse { results }))
    }

    async fn open_case(&self, request: Request<OpenCaseRequest>) -> Result<Response<OpenCaseResponse>, Status> {
        let company_id = Caller::of(&request)?.company_id;
        let request = request.into_inner();
        let known = Opening::names(&self.names, company_id, std::slice::from_ref(&request)).await?;
        let opening = vec![Opening::new(&known, request)];
        let result = cases::open(&self.pool, company_id, opening).await?.pop().unwrap_or_default();
        match (result.code(), result.case_id) {
            (ResultCode::Saved, Some(case_id)) => {
                Ok(Response::new(OpenCaseResponse { case_id, created: result.created }))
            }
            (ResultCode::NotFound, _) => {
                let field = result.violations.into_iter().next().map(|fault| fault.field).unwrap_or_default();
                Err(Error::new(Reason::ReferenceNotFound, result.msg).with("field", field).into())
            }
            _ => {
                let mut faults = Violations::new();
                for fault in result.violations {
                    faults.push(fault.field, fault.description, 0, 0);
                }
                Err(Error::invalid(faults).into())
            }
        }
    }

    async fn batch_open_cases(
        &self,
        request: Request<BatchOpenCasesRequest>,
    ) -> Result<Response<BatchOpenCasesResponse>, Status> {
        let company_id = Caller::of(&request)?.company_id;
        let requests = request.into_inner().cases;
        at_most(cases::MOST, "cases", requests.len())?;
        let known = Opening::names(&self.names, company_id, &requests).await?;
        let openings = requests.into_iter().map(|request| Opening::new(&known, request)).collect();
        Ok(Response::new(BatchOpenCasesResponse { results: cases::open(&self.pool, company_id, openings).await? }))
    }

    async fn export_cases(
        &self,
        request: Request<ExportCasesRequest>,
    ) -> Result<Response<Self::ExportCasesStream>, Status> {
        let (company_id, limit) = (Caller::of(&request)?.company_id, self.limit(&request));
        let request = request.into_inner();
        valid(&request)?;
        let after = request.after_case_id.unwrap_or_default();
        Ok(Response::new(export::all(self.pool.clone(), company_id, after, limit)))
    }

    async fn update_case(&self, request: Request<UpdateCaseRequest>) -> Result<Response<UpdateCaseResponse>, Status> {
        let company_id = Caller::of(&request)?.company_id;
        let request = request.into_inner();
        valid(&request)?;
        Ok(Response::new(cases::update(&self.pool, &self.names, company_id, request).await?))
    }

    async fn resolve_case(&self, request: Request<ResolveCaseRequest>) -> Result<Response<UpdateCaseResponse>, Status> {
        let company_id = Caller::of(&request)?.company_id;
        let request = request.into_inner();
        valid(&request)?;
        self.verb(company_id, Verb::Resolve(request)).await
    }

    async fn close_case(&self, request: Request<CloseCaseRequest>) -> Result<Response<UpdateCaseResponse>, Status> {
        let company_id = Caller::of(&request)?.company_id;
        let request = request.into_inner();
        valid(&request)?;
        self.verb(company_id, Verb::Close(request)).await
    }

    async fn reopen_case(&self, request: Request<ReopenCaseRequest>) -> Result<Response<UpdateCaseResponse>, Status> {
        let company_id = Caller::of(&request)?.company_id;
        let request = request.into_inner();
        valid(&request)?;
        self.verb(company_id, Verb::Reopen(request)).await
    }

    async fn attach_incidents(
        &self,
        request: Request<AttachIncidentsRequest>,
    ) -> Result<Response<AttachIncidentsResponse>, Status> {
        let company_id = Caller::of(&request)?.company_id;
        let request = request.into_inner();
        at_most(cases::MOST_INCIDENTS, "incidents", request.incidents.len())?;
        let case_id = request.case_id;
        let results = incidents::attach(&self.pool, &self.names, company_id, request).await?;
        let results = results.ok_or_else(|| Error::case_not_found(case_id))?;
        Ok(Response::new(AttachIncidentsResponse { results }))
    }

    async fn detach_incidents(
        &self,
        request: Request<DetachIncidentsRequest>,
    ) -> Result<Response<DetachIncidentsResponse>, Status> {
        let company_id = Caller::of(&request)?.company_id;
        let request = request.into_inner();
        at_most(cases::MOST_INCIDENTS, "incidents", request.incidents.len())?;
        let case_id = request.case_id;
        let results = incidents::detach(&self.pool, company_id, request).await?;
        let results = results.ok_or_else(|| Error::case_not_found(case_id))?;
        Ok(Response::new(DetachIncidentsResponse { results }))
    }

    async fn list_vocabularies(
        &self,
        request: Request<ListVocabulariesRequest>,
    ) -> Result<Response<ListVocabulariesResponse>, Status> {
        let company_id = Caller::of(&request)?.company_id;
        let known = self.names.fresh(company_id).await?;
        Ok(Response::new(ListVocabulariesResponse { vocabularies: catalogue::list(&known) }))
    }

    async fn add_vocabulary_entries(
        &self,
        request: Request<AddVocabularyEntriesRequest>,
    ) -> Result<Response<AddVocabularyEntriesResponse>, Status> {
        let company_id = Caller::of(&request)?.company_id;
        let entries = request.into_inner().entries;
        at_most(catalogue::MOST, "entries", entries.len())?;
        let results = catalogue::add(&self.pool, company_id, entries).await?;
        Ok(Response::new(AddVocabularyEntriesResponse { results }))
    }
}
