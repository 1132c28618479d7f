//! Who may call, and how often: checks the token, the rate limit and the scope before the request message.

use compliance_api::v1::{CheckAccessRequest, CheckAccessResponse, access_service_server::AccessService};
use tonic::{Request, Response, Status};

mod policy;
mod rate_limit;

pub use policy::Identity;
pub(crate) use policy::{AccessPolicy, Verified, Verify, is_expired, time_left};
pub(crate) use rate_limit::Limiters;
pub use rate_limit::RateLimit;

/// `AccessService`: reports whether a token is accepted. The pipeline has already checked the token of a call that arrives here.
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
