//! What a core responds until it can serve.

use std::convert::Infallible;

use compliance_api::error::Error;
use http::{Request, Response};
use http_body::Body as HttpBody;
use tonic::{Status, body::Body};
use tonic_health::{ServingStatus, pb::health_server::HealthServer, server::HealthService};
use tower::{BoxError, Service, ServiceExt as _, service_fn};

use super::arrival::HEALTH_CHECK;
use crate::health;

/// Reports that no service serves, and responds to all calls but health checks with `UNAVAILABLE`.
pub async fn unready<B>()
-> impl Service<Request<B>, Response = Response<Body>, Error = Infallible, Future: Send> + Clone + Send + 'static
where
    B: HttpBody<Data: Send, Error: Into<BoxError> + Send> + Send + 'static,
{
    let (reporter, _) = tonic_health::server::health_reporter();
    for service in health::services() {
        reporter.set_service_status(service, ServingStatus::NotServing).await;
    }
    let health = HealthServer::new(HealthService::from_health_reporter(reporter));
    service_fn(move |request: Request<B>| {
        let health = health.clone();
        async move {
            if request.uri().path() == HEALTH_CHECK {
                return health.oneshot(request).await;
            }
            Ok(Status::from(Error::database_unavailable()).into_http())
        }
    })
}
