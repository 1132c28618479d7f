//! `/livez` and `/readyz`, for whoever runs the service.

use std::{sync::Arc, time::Duration};

use axum::{body::Body, extract::State, response::Response};
use http::StatusCode;
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus};

use crate::{envelope::respond_with, gateway::Gateway, rate_limit::RateLimit};

/// How long the core may take to say how it is.
const PATIENCE: Duration = Duration::from_secs(2);

/// The process runs.
pub(crate) async fn live() -> Response {
    respond_with(StatusCode::OK, RateLimit::default(), Body::from(r#"{"status":"ok"}"#))
}

/// The core answers that it serves.
pub(crate) async fn ready(State(gateway): State<Arc<Gateway>>) -> Response {
    let mut request = tonic::Request::new(HealthCheckRequest { service: String::new() });
    request.set_timeout(PATIENCE);
    let serves = match tokio::time::timeout(PATIENCE, gateway.clients.health.check(request)).await {
        Ok(Ok(response)) => response.into_inner().status == i32::from(ServingStatus::Serving),
        Ok(Err(status)) => {
            tracing::debug!(code = ?status.code(), message = status.message(), "the core did not tell how it is");
            false
        }
        Err(_) => false,
    };
    if serves {
        respond_with(StatusCode::OK, RateLimit::default(), Body::from(r#"{"status":"ok"}"#))
    } else {
        respond_with(StatusCode::SERVICE_UNAVAILABLE, RateLimit::default(), Body::from(r#"{"status":"unavailable"}"#))
    }
}
