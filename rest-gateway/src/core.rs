//! The core, as the gateway calls it.

use std::task::{Context, Poll};

use tonic::body::Body;
use tower::{BoxError, Service, util::BoxCloneSyncService};

type Calls = BoxCloneSyncService<http::Request<Body>, http::Response<Body>, BoxError>;

/// The core's gRPC service: in this process, or across a network. A clone is cheap.
#[derive(Clone, Debug)]
pub struct Core {
    calls: Calls,
    in_process: bool,
}

impl Core {
    /// A service that is reached by messages as they are written for a network.
    pub fn new(calls: Calls) -> Self {
        Self { calls, in_process: false }
    }

    /// A service in this process, which takes large messages as they are: see [`compliance_api::in_process`].
    pub fn in_process(calls: Calls) -> Self {
        Self { calls, in_process: true }
    }

    pub(crate) fn is_in_process(&self) -> bool {
        self.in_process
    }
}

impl Service<http::Request<Body>> for Core {
    type Response = http::Response<Body>;
    type Error = BoxError;
    type Future = <Calls as Service<http::Request<Body>>>::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.calls.poll_ready(context)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        self.calls.call(request)
    }
}
