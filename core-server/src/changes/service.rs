//! `ChangeService`: who asks.

use std::sync::Arc;

use compliance_api::v1::{
    ListChangesRequest, ListChangesResponse, WatchChangesRequest, WatchChangesResponse,
    change_service_server::ChangeService,
};
use tonic::{Request, codegen::BoxStream};

use super::{feed, hub::Hub, watch::watch};
use crate::{
    backend::Backend,
    requests::{Served, accept, holding},
};

pub(crate) struct Changes {
    backend: Arc<Backend>,
    hub: Arc<Hub>,
}

impl Changes {
    pub(crate) fn new(backend: &Arc<Backend>) -> Self {
        Self { backend: Arc::clone(backend), hub: Hub::new(backend) }
    }
}

#[tonic::async_trait]
impl ChangeService for Changes {
    type WatchChangesStream = BoxStream<WatchChangesResponse>;

    async fn list_changes(&self, request: Request<ListChangesRequest>) -> Served<ListChangesResponse> {
        let (company_id, request) = accept(request)?;
        let (changes, memory) = feed::list(self.backend.source(company_id), &request).await?;
        Ok(holding(changes, memory))
    }

    async fn watch_changes(&self, request: Request<WatchChangesRequest>) -> Served<Self::WatchChangesStream> {
        watch(&self.hub, request).await
    }
}
