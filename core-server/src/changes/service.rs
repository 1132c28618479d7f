//! `ChangeService` and `AuditService`: who asks.

use std::sync::Arc;

use compliance_api::v1::{
    ListChangesRequest, ListChangesResponse, SearchChangesRequest, SearchChangesResponse, WatchChangesRequest,
    WatchChangesResponse, audit_service_server::AuditService, change_service_server::ChangeService,
};
use tonic::{Request, codegen::BoxStream};

use super::{
    feed,
    hub::Hub,
    search,
    watch::watch,
    writers::{hide_writer, sees_writers},
};
use crate::{
    backend::Backend,
    requests::{Served, accept, holding},
};

pub(crate) struct ChangesService {
    backend: Arc<Backend>,
    hub: Arc<Hub>,
}

impl ChangesService {
    pub(crate) fn new(backend: &Arc<Backend>) -> Self {
        Self { backend: Arc::clone(backend), hub: Hub::new(backend) }
    }
}

#[tonic::async_trait]
impl ChangeService for ChangesService {
    type WatchChangesStream = BoxStream<WatchChangesResponse>;

    async fn list_changes(&self, request: Request<ListChangesRequest>) -> Served<ListChangesResponse> {
        let sees_writers = sees_writers(&request)?;
        let (company_id, request) = accept(request)?;
        let (mut response, memory) = feed::list(self.backend.source(company_id), &request).await?;
        if !sees_writers {
            response.changes.iter_mut().for_each(hide_writer);
        }
        Ok(holding(response, memory))
    }

    async fn watch_changes(&self, request: Request<WatchChangesRequest>) -> Served<Self::WatchChangesStream> {
        watch(&self.hub, request).await
    }
}

#[tonic::async_trait]
impl AuditService for ChangesService {
    async fn search_changes(&self, request: Request<SearchChangesRequest>) -> Served<SearchChangesResponse> {
        let (company_id, request) = accept(request)?;
        let (changes, memory) = search::search(self.backend.source(company_id), &request).await?;
        Ok(holding(changes, memory))
    }
}
