//! Implements a core that only checks requests and records their violations.

use std::sync::{Arc, Mutex};

use compliance_api::{
    client::{
        AccessServiceStubs, AffiliateServiceStubs, AffiliateSyncServiceStubs, AuditServiceStubs, BoxStream,
        ChangeServiceStubs, Clients, ComplianceCaseServiceStubs, ComplianceUrlServiceStubs, ErasureServiceStubs,
        MonitoringServiceStubs, OverviewServiceStubs, VocabularyServiceStubs, WebhookServiceStubs,
    },
    error::Error,
    rules::{self, Check},
    v1,
};
use tonic::{Request, Response, Status, async_trait};
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};

/// The path and message of each violation.
pub(crate) type Violations = Vec<(String, String)>;

/// The outcome of the last request.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Seen {
    /// The gateway called no operation with rules.
    #[default]
    Nothing,
    /// The gateway called an operation with a message that has these violations.
    Called(Violations),
}

#[derive(Clone, Default)]
pub(crate) struct Core(pub(crate) Arc<Mutex<Seen>>);

pub(crate) fn violations_of(message: &impl Check) -> Violations {
    rules::check(message).iter().map(|each| (each.path.to_string(), each.message.to_string())).collect()
}

impl Core {
    pub(crate) fn take(&self) -> Seen {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    fn checked<M: Check, R: Default>(&self, request: Request<M>) -> Result<Response<R>, Status> {
        let message = request.into_inner();
        *self.0.lock().unwrap() = Seen::Called(violations_of(&message));
        let violations = rules::check(&message);
        if violations.is_empty() { Ok(Response::new(R::default())) } else { Err(Error::invalid(violations).into()) }
    }

    fn unchecked<M, R: Default>(&self, _: Request<M>) -> Result<Response<R>, Status> {
        Ok(Response::new(R::default()))
    }

    /// Returns a gateway's clients for this core.
    pub(crate) fn clients(&self) -> Clients {
        let core = Arc::new(self.clone());
        Clients {
            access: core.clone(),
            affiliates: core.clone(),
            urls: core.clone(),
            cases: core.clone(),
            monitoring: core.clone(),
            overview: core.clone(),
            syncs: core.clone(),
            erasures: core.clone(),
            vocabularies: core.clone(),
            changes: core.clone(),
            webhooks: core.clone(),
            audit: core.clone(),
            health: core,
        }
    }
}

/// Implements operations that return an empty response. `checked` operations check their message first.
macro_rules! operations {
    ($($service:ident { $($method:ident($request:ident) -> $response:ident $check:ident;)* $(+ $item:item)* })*) => {
        $(#[async_trait]
        impl $service for Core {
            $(async fn $method(&self, request: Request<v1::$request>) -> Result<Response<v1::$response>, Status> {
                self.$check(request)
            })*
            $($item)*
        })*
    };
}

operations! {
    AccessServiceStubs { check_access(CheckAccessRequest) -> CheckAccessResponse unchecked; }
    AffiliateServiceStubs {
        list_affiliate_page(ListAffiliatePageRequest) -> ListAffiliatePageResponse checked;
        get_affiliate(GetAffiliateRequest) -> Affiliate unchecked;
        batch_get_affiliates(BatchGetAffiliatesRequest) -> BatchGetAffiliatesResponse unchecked;
        search_affiliates(SearchAffiliatesRequest) -> SearchAffiliatesResponse checked;
        create_affiliate(CreateAffiliateRequest) -> CreateAffiliateResponse checked;
        batch_create_affiliates(BatchCreateAffiliatesRequest) -> BatchCreateAffiliatesResponse checked;
        update_affiliate(UpdateAffiliateRequest) -> UpdateAffiliateResponse checked;
        batch_update_affiliates(BatchUpdateAffiliatesRequest) -> BatchUpdateAffiliatesResponse checked;
        + async fn list_affiliates(
            &self,
            _: Request<v1::ListAffiliatesRequest>,
        ) -> Result<Response<BoxStream<v1::ListAffiliatesResponse>>, Status> {
            Ok(Response::new(Box::pin(futures::stream::empty())))
        }
    }
    ComplianceUrlServiceStubs {
        list_compliance_urls(ListComplianceUrlsRequest) -> ListComplianceUrlsResponse checked;
        get_compliance_url(GetComplianceUrlRequest) -> ComplianceUrl unchecked;
        batch_get_compliance_urls(BatchGetComplianceUrlsRequest) -> BatchGetComplianceUrlsResponse unchecked;
        search_compliance_urls(SearchComplianceUrlsRequest) -> SearchComplianceUrlsResponse checked;
        add_compliance_urls(AddComplianceUrlsRequest) -> AddComplianceUrlsResponse checked;
        + async fn stream_compliance_urls(
            &self,
            request: Request<v1::StreamComplianceUrlsRequest>,
        ) -> Result<Response<BoxStream<v1::StreamComplianceUrlsResponse>>, Status> {
            let page = self.checked::<_, v1::StreamComplianceUrlsResponse>(request)?;
            Ok(page.map(|page| Box::pin(futures::stream::iter([Ok(page)])) as BoxStream<_>))
        }
    }
    ComplianceCaseServiceStubs {
        list_compliance_cases(ListComplianceCasesRequest) -> ListComplianceCasesResponse checked;
        get_compliance_case(GetComplianceCaseRequest) -> ComplianceCase unchecked;
        batch_get_compliance_cases(BatchGetComplianceCasesRequest) -> BatchGetComplianceCasesResponse unchecked;
    }
    AffiliateSyncServiceStubs {
        batch_sync_affiliates(BatchSyncAffiliatesRequest) -> BatchSyncAffiliatesResponse checked;
    }
    OverviewServiceStubs { get_overview(GetOverviewRequest) -> Overview unchecked; }
    VocabularyServiceStubs { get_vocabularies(GetVocabulariesRequest) -> GetVocabulariesResponse unchecked; }
    ChangeServiceStubs { list_changes(ListChangesRequest) -> ListChangesResponse checked; }
    ErasureServiceStubs { erase_affiliate(EraseAffiliateRequest) -> EraseAffiliateResponse unchecked; }
    WebhookServiceStubs {
        create_webhook(CreateWebhookRequest) -> CreateWebhookResponse checked;
        update_webhook(UpdateWebhookRequest) -> UpdateWebhookResponse checked;
        list_webhook_deliveries(ListWebhookDeliveriesRequest) -> ListWebhookDeliveriesResponse checked;
    }
    MonitoringServiceStubs {
        open_case(OpenCaseRequest) -> OpenCaseResponse checked;
        update_case(UpdateCaseRequest) -> UpdateCaseResponse checked;
        resolve_case(ResolveCaseRequest) -> ResolveCaseResponse checked;
        close_case(CloseCaseRequest) -> CloseCaseResponse checked;
        reopen_case(ReopenCaseRequest) -> ReopenCaseResponse checked;
        attach_incidents(AttachIncidentsRequest) -> AttachIncidentsResponse checked;
        detach_incidents(DetachIncidentsRequest) -> DetachIncidentsResponse checked;
        review_url(ReviewUrlRequest) -> ReviewUrlResponse checked;
    }
    AuditServiceStubs { search_changes(SearchChangesRequest) -> SearchChangesResponse checked; }
}

#[async_trait]
impl compliance_api::client::CheckHealth for Core {
    async fn check_health(&self, _: Request<HealthCheckRequest>) -> Result<Response<HealthCheckResponse>, Status> {
        Ok(Response::new(HealthCheckResponse::default()))
    }
}
