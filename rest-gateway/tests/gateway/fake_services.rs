//! The fake core's services. Operations that no test calls are unimplemented.

use std::sync::atomic::Ordering;

use compliance_api::{
    client::{
        AccessServiceStubs, AffiliateServiceStubs, AffiliateSyncServiceStubs, AuditServiceStubs, BoxStream,
        ChangeServiceStubs, ComplianceCaseServiceStubs, ComplianceUrlServiceStubs, ErasureServiceStubs,
        MonitoringServiceStubs, OverviewServiceStubs, VocabularyServiceStubs, WebhookServiceStubs,
    },
    error::Error,
    v1::{self, batch_read_response::Result as Outcome, read::Operation, read_service_server::ReadService},
};
use futures::{
    StreamExt as _,
    stream::{self, FuturesUnordered},
};
use tonic::{Request, Response, Status, async_trait};

use crate::fake::{Fake, Step, affiliate, failure, success};

#[async_trait]
impl AccessServiceStubs for Fake {
    async fn check_access(
        &self,
        request: Request<v1::CheckAccessRequest>,
    ) -> Result<Response<v1::CheckAccessResponse>, Status> {
        self.enter("check_access", request);
        Ok(success(v1::CheckAccessResponse { company_id: 7 }))
    }
}

#[async_trait]
impl AffiliateServiceStubs for Fake {
    async fn list_affiliates(
        &self,
        request: Request<v1::ListAffiliatesRequest>,
    ) -> Result<Response<BoxStream<v1::ListAffiliatesResponse>>, Status> {
        self.enter("list_affiliates", request);
        let steps = self.0.list.lock().unwrap().clone();
        let fake = self.clone();
        let messages = stream::iter(steps).scan(0, |next, step| {
            let first = *next;
            if let Step::Records(records) = step {
                *next += records;
            }
            std::future::ready(Some((first, step)))
        });
        let messages = messages.then(move |(first, step)| {
            *fake.0.messages_read.lock().unwrap() += 1;
            let fake = fake.clone();
            async move {
                match step {
                    Step::Records(records) => {
                        let affiliates = (first..first + records).map(|index| affiliate(index + 1)).collect();
                        Ok(v1::ListAffiliatesResponse { affiliates })
                    }
                    Step::Fail => {
                        fake.wait().await;
                        Err(failure(Error::database_unavailable()))
                    }
                    Step::Hang => std::future::pending().await,
                }
            }
        });
        Ok(success(Box::pin(messages)))
    }

    async fn get_affiliate(
        &self,
        request: Request<v1::GetAffiliateRequest>,
    ) -> Result<Response<v1::Affiliate>, Status> {
        let request = self.enter("get_affiliate", request);
        self.affiliate(request.id).await.map(success)
    }

    async fn create_affiliate(
        &self,
        request: Request<v1::CreateAffiliateRequest>,
    ) -> Result<Response<v1::CreateAffiliateResponse>, Status> {
        let input = self.write("create_affiliate", request).await?.affiliate.unwrap_or_default();
        let client_affiliate_id = input.client_affiliate_id.unwrap_or_default();
        Ok(success(v1::CreateAffiliateResponse { affiliate_id: 1, client_affiliate_id }))
    }

    async fn batch_create_affiliates(
        &self,
        request: Request<v1::BatchCreateAffiliatesRequest>,
    ) -> Result<Response<v1::BatchCreateAffiliatesResponse>, Status> {
        self.write("batch_create_affiliates", request).await?;
        Ok(success(v1::BatchCreateAffiliatesResponse::default()))
    }

    async fn update_affiliate(
        &self,
        request: Request<v1::UpdateAffiliateRequest>,
    ) -> Result<Response<v1::UpdateAffiliateResponse>, Status> {
        let update = self.write("update_affiliate", request).await?.update.unwrap_or_default();
        let affiliate = self.affiliate(update.id()).await?;
        Ok(success(v1::UpdateAffiliateResponse { affiliate_id: affiliate.id, etag: String::new() }))
    }

    async fn batch_update_affiliates(
        &self,
        request: Request<v1::BatchUpdateAffiliatesRequest>,
    ) -> Result<Response<v1::BatchUpdateAffiliatesResponse>, Status> {
        self.write("batch_update_affiliates", request).await?;
        Ok(success(v1::BatchUpdateAffiliatesResponse::default()))
    }
}

#[async_trait]
impl ComplianceUrlServiceStubs for Fake {
    async fn stream_compliance_urls(
        &self,
        request: Request<v1::StreamComplianceUrlsRequest>,
    ) -> Result<Response<BoxStream<v1::StreamComplianceUrlsResponse>>, Status> {
        let request = self.enter_checked("stream_compliance_urls", request)?.list.unwrap_or_default();
        let (per_page, current_page) = (request.per_page.unwrap_or(100) as i32, request.page.unwrap_or(1));
        let meta = v1::PageMeta { total: 1, per_page, current_page, last_page: 1 };
        let url = v1::ComplianceUrl { id: 1, url: "http://a/".to_owned(), ..v1::ComplianceUrl::default() };
        let page = v1::StreamComplianceUrlsResponse { urls: vec![url], meta: Some(meta) };
        Ok(success(Box::pin(stream::iter([Ok(page)]))))
    }

    async fn get_compliance_url(
        &self,
        request: Request<v1::GetComplianceUrlRequest>,
    ) -> Result<Response<v1::ComplianceUrl>, Status> {
        let id = self.enter("get_compliance_url", request).id;
        Err(failure(Error::url_not_found(id)))
    }

    async fn add_compliance_urls(
        &self,
        request: Request<v1::AddComplianceUrlsRequest>,
    ) -> Result<Response<v1::AddComplianceUrlsResponse>, Status> {
        self.write("add_compliance_urls", request).await?;
        Ok(success(v1::AddComplianceUrlsResponse::default()))
    }
}

#[async_trait]
impl ComplianceCaseServiceStubs for Fake {
    async fn get_compliance_case(
        &self,
        request: Request<v1::GetComplianceCaseRequest>,
    ) -> Result<Response<v1::ComplianceCase>, Status> {
        let id = self.enter("get_compliance_case", request).id;
        Err(failure(Error::case_not_found(id)))
    }
}

#[async_trait]
impl OverviewServiceStubs for Fake {}

impl VocabularyServiceStubs for Fake {}

impl AffiliateSyncServiceStubs for Fake {}

impl ErasureServiceStubs for Fake {}

#[async_trait]
impl ChangeServiceStubs for Fake {
    /// Sends one message, and never ends.
    async fn watch_changes(
        &self,
        request: Request<v1::WatchChangesRequest>,
    ) -> Result<Response<BoxStream<v1::WatchChangesResponse>>, Status> {
        self.enter("watch_changes", request);
        let page = v1::ListChangesResponse { position: 7, ..v1::ListChangesResponse::default() };
        let first = Ok(v1::WatchChangesResponse { page: Some(page) });
        Ok(success(Box::pin(stream::iter([first]).chain(stream::pending()))))
    }
}
impl AuditServiceStubs for Fake {}

impl MonitoringServiceStubs for Fake {}

#[async_trait]
impl WebhookServiceStubs for Fake {}

#[async_trait]
impl ReadService for Fake {
    type BatchReadStream = BoxStream<v1::BatchReadResponse>;

    /// Performs each read separately, so slow reads do not delay others.
    async fn batch_read(
        &self,
        request: Request<v1::BatchReadRequest>,
    ) -> Result<Response<Self::BatchReadStream>, Status> {
        self.0.batches.fetch_add(1, Ordering::Relaxed);
        let v1::BatchReadRequest { authorizations, reads } = request.into_inner();
        let reads = (0..).zip(reads).map(|(index, read)| {
            let (fake, authorization) = (self.clone(), authorizations[read.authorization as usize].clone());
            async move {
                let result = fake.read(authorization, read).await;
                let result = result.unwrap_or_else(|status| Outcome::Status(status.into()));
                let rate_limit = v1::RateLimitHeaders { limit: 1000, remaining: 999, reset: 1 };
                Ok(v1::BatchReadResponse { read: index, rate_limit: Some(rate_limit), result: Some(result) })
            }
        });
        Ok(Response::new(reads.collect::<FuturesUnordered<_>>().boxed()))
    }
}

impl Fake {
    async fn read(&self, authorization: String, read: v1::Read) -> Result<Outcome, Status> {
        let mut empty = Request::new(());
        empty.metadata_mut().insert("authorization", authorization.parse().unwrap());
        if let Some(id) = read.request_id {
            empty.metadata_mut().insert("x-request-id", id.parse().unwrap());
        }
        Ok(match read.operation.unwrap() {
            Operation::Affiliate(get) => {
                Outcome::Affiliate(self.get_affiliate(empty.map(|()| get)).await?.into_inner().into())
            }
            Operation::Url(get) => {
                Outcome::Url(self.get_compliance_url(empty.map(|()| get)).await?.into_inner().into())
            }
            Operation::Case(get) => {
                Outcome::Case(self.get_compliance_case(empty.map(|()| get)).await?.into_inner().into())
            }
        })
    }
}
