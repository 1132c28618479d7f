//! `grpc.health.v1`: a core is serving while its database responds.

use std::{collections::BTreeSet, convert::Infallible, sync::Arc};

use compliance_api::{error::Error, wire::Operation};
use http::{Request, Response};
use http_body::Body as HttpBody;
use storage::database::Connections;
use telemetry::background::Task;
use tonic::{Status, body::Body};
use tonic_health::{
    ServingStatus,
    pb::health_server::HealthServer,
    server::{HealthReporter, HealthService},
};
use tower::{BoxError, Service, ServiceExt as _, service_fn};

use super::call::HEALTH_CHECK;

/// Reports the health of every service, and of the process (the empty name), until the task is dropped.
pub(super) async fn watch(connections: Connections, reporter: HealthReporter, task: Arc<Task>) {
    let mut database = connections.responds();
    loop {
        let responds = *database.borrow_and_update();
        let status = if responds { ServingStatus::Serving } else { ServingStatus::NotServing };
        for service in services() {
            reporter.set_service_status(service, status).await;
        }
        task.succeeded();
        if database.changed().await.is_err() {
            return;
        }
    }
}

/// Returns the names under which health is reported. All services depend on the same database.
pub(super) fn services() -> BTreeSet<&'static str> {
    let name = |operation: &'static Operation| operation.path.trim_start_matches('/').split('/').next();
    Operation::ALL.iter().filter_map(name).chain([""]).collect()
}

/// Returns a service for a core that cannot serve yet. Health checks report `NOT_SERVING`, and other calls return `UNAVAILABLE`.
pub async fn unready<B>()
-> impl Service<Request<B>, Response = Response<Body>, Error = Infallible, Future: Send> + Clone + Send + 'static
where
    B: HttpBody<Data: Send, Error: Into<BoxError> + Send> + Send + 'static,
{
    let (reporter, _) = tonic_health::server::health_reporter();
    for service in services() {
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
