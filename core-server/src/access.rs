//! Who may call, and how often: token, rate limit and scope, checked before the request itself is looked at.

use compliance_api::v1::{CheckAccessRequest, CheckAccessResponse, access_service_server::AccessService};
use tonic::{Request, Response, Status};

mod policy;
mod rate_limit;

pub use policy::Identity;
pub(crate) use policy::{AccessPolicy, Verified, is_expired, time_left};
pub(crate) use rate_limit::Limiters;
pub use rate_limit::RateLimit;

/// `AccessService`: what a token may do, asked without doing it. Responds once the pipeline has let a call through.
#[derive(Debug)]
pub(crate) struct Access;

#[tonic::async_trait]
impl AccessService for Access {
    async fn check_access(
        &self,
        request: Request<CheckAccessRequest>,
    ) -> Result<Response<CheckAccessResponse>, Status> {
        Ok(Response::new(CheckAccessResponse { company_id: Identity::of(&request)?.company_id }))
    }
}
