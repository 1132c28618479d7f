//! `OverviewService`: who asks.

use std::{sync::Arc, time::SystemTime};

use compliance_api::v1::{GetOverviewRequest, Overview, overview_service_server::OverviewService};
use tonic::{Request, Response};

use super::figures::Figures;
use crate::{
    backend::Backend,
    requests::{Served, accept},
};

pub(crate) struct Overviews(pub(crate) Arc<Backend>);

#[tonic::async_trait]
impl OverviewService for Overviews {
    async fn get_overview(&self, request: Request<GetOverviewRequest>) -> Served<Overview> {
        let (company_id, _) = accept(request)?;
        let figures = Figures::read(&self.0.reads, company_id, SystemTime::now().into()).await?;
        Ok(Response::new(figures.into_overview()))
    }
}
