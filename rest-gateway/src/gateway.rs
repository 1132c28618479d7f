//! What every handler shares: the clients of the core, the verifier of tokens, the limits.

use std::{
    sync::Arc,
    task::{Context, Poll},
};

use compliance_api::{
    in_process,
    token::Verifier,
    v1::{
        access_service_client::AccessServiceClient, affiliate_service_client::AffiliateServiceClient,
        compliance_case_service_client::ComplianceCaseServiceClient,
        compliance_url_service_client::ComplianceUrlServiceClient,
    },
};
use futures::{
    TryFutureExt as _,
    future::{BoxFuture, MapErr},
};
use tokio::sync::Semaphore;
use tonic::{Request, Status, body::Body};
use tonic_health::pb::health_client::HealthClient;
use tower::{BoxError, Service};

use crate::{
    Core, Settings,
    reads::{Reads, reads},
};

/// Large requests that are worked on at once: their messages take far more memory than most.
const LARGE_REQUESTS: usize = 8;

/// The unit in which the memory of bodies is counted.
pub(crate) const KIB: usize = 1 << 10;

/// What every handler shares. The clients are cloned for each call, which is cheap.
pub(crate) struct Gateway {
    pub(crate) access: AccessServiceClient<Calls>,
    pub(crate) affiliates: AffiliateServiceClient<Calls>,
    pub(crate) urls: ComplianceUrlServiceClient<Calls>,
    pub(crate) cases: ComplianceCaseServiceClient<Calls>,
    pub(crate) health: HealthClient<Calls>,
    /// Single affiliates.
    pub(crate) affiliate: Reads<AffiliateServiceClient<Calls>>,
    /// Single URLs.
    pub(crate) url: Reads<ComplianceUrlServiceClient<Calls>>,
    /// Single cases.
    pub(crate) case: Reads<ComplianceCaseServiceClient<Calls>>,
    pub(crate) verifier: Arc<Verifier>,
    pub(crate) settings: Settings,
    /// Memory for bodies, in KiB.
    pub(crate) body_memory: Arc<Semaphore>,
    pub(crate) large_requests: Arc<Semaphore>,
    /// Whether the core takes messages as they are.
    core_in_process: bool,
}

impl Gateway {
    pub(crate) fn new(core: Core, verifier: Arc<Verifier>, settings: Settings) -> Self {
        let core_in_process = core.is_in_process();
        let (core, limit) = (Calls(core), settings.message_limit());
        let affiliates =
            AffiliateServiceClient::new(core.clone()).max_decoding_message_size(limit).max_encoding_message_size(limit);
        let urls = ComplianceUrlServiceClient::new(core.clone())
            .max_decoding_message_size(limit)
            .max_encoding_message_size(limit);
        let cases = ComplianceCaseServiceClient::new(core.clone()).max_decoding_message_size(limit);
        Self {
            access: AccessServiceClient::new(core.clone()),
            affiliate: reads(affiliates.clone(), settings.request_timeout),
            url: reads(urls.clone(), settings.request_timeout),
            case: reads(cases.clone(), settings.request_timeout),
            affiliates,
            urls,
            cases,
            health: HealthClient::new(core),
            verifier,
            body_memory: Arc::new(Semaphore::new((settings.body_memory / KIB).min(Semaphore::MAX_PERMITS))),
            large_requests: Arc::new(Semaphore::new(LARGE_REQUESTS)),
            settings,
            core_in_process,
        }
    }

    /// A request with a large message, which is not written out and read back when that can be spared.
    pub(crate) fn large<M: Default + Send + 'static>(&self, request: Request<M>) -> Request<M> {
        if self.core_in_process { in_process::hand_over(request) } else { request }
    }
}

/// The core, with its errors as statuses: what a client makes of a boxed error in the end, but the compiler cannot see
/// that the future of a call is `Send` through the box.
#[derive(Clone)]
pub(crate) struct Calls(Core);

impl Service<http::Request<Body>> for Calls {
    type Response = http::Response<Body>;
    type Error = Status;
    type Future = MapErr<BoxFuture<'static, Result<Self::Response, BoxError>>, fn(BoxError) -> Status>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Status>> {
        self.0.poll_ready(cx).map_err(Status::from_error)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        self.0.call(request).map_err(Status::from_error)
    }
}
