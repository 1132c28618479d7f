//! `ChangeService`: who asks.

use std::sync::Arc;

use compliance_api::v1::{ListChangesRequest, ListChangesResponse, change_service_server::ChangeService};
use tonic::Request;

use super::feed;
use crate::{
    backend::Backend,
    requests::{Served, accept, holding},
};

pub(crate) struct Changes(pub(crate) Arc<Backend>);

#[tonic::async_trait]
impl ChangeService for Changes {
    async fn list_changes(&self, request: Request<ListChangesRequest>) -> Served<ListChangesResponse> {
        let (company_id, request) = accept(request)?;
        let (changes, memory) = feed::list(self.0.source(company_id), &request).await?;
        Ok(holding(changes, memory))
    }
}
