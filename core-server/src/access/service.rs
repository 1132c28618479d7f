//! `AccessService`: what a token may do, asked without doing it.

use compliance_api::v1::{CheckAccessRequest, CheckAccessResponse, access_service_server::AccessService};
use tonic::{Request, Response, Status};

use super::Caller;

/// Answers once the layer has let a call through.
#[derive(Debug)]
pub(crate) struct Access;

#[tonic::async_trait]
impl AccessService for Access {
    async fn check_access(
        &self,
        request: Request<CheckAccessRequest>,
    ) -> Result<Response<CheckAccessResponse>, Status> {
        Ok(Response::new(CheckAccessResponse { company_id: Caller::of(&request)?.company_id }))
    }
}
