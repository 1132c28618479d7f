//! `/livez` and `/readyz`, for operators.

use std::sync::Arc;

use axum::{body::Body, extract::State, response::Response};
use http::StatusCode;
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus};

use crate::{
    envelope::{RateLimit, respond_with},
    gateway::Gateway,
    limits::READINESS_TIMEOUT,
};

/// The body of a healthy service.
const OK: &str = r#"{"status":"ok"}"#;
/// The body of an unhealthy service.
const UNAVAILABLE: &str = r#"{"status":"unavailable"}"#;

/// Whether the process runs
///
/// Answers whether the process runs. For process supervisors.
///
/// - Operation: `getLiveness`
/// - 200: `Healthy`. The process runs.
pub(crate) async fn live() -> Response {
    respond_with(StatusCode::OK, RateLimit::default(), Body::from(OK))
}

/// Whether the service can serve
///
/// Answers whether the service can serve: the database responds, and is neither a standby nor read-only. For load balancers.
///
/// - Operation: `getReadiness`
/// - 200: `Healthy`. The service can serve.
/// - 503: `Unhealthy`. The service cannot serve now, or has too many connections.
pub(crate) async fn ready(State(gateway): State<Arc<Gateway>>) -> Response {
    if core_serves(&gateway).await {
        return live().await;
    }
    unavailable().await
}

/// The response of `/readyz` while the service cannot serve.
pub(crate) async fn unavailable() -> Response {
    respond_with(StatusCode::SERVICE_UNAVAILABLE, RateLimit::default(), Body::from(UNAVAILABLE))
}

async fn core_serves(gateway: &Gateway) -> bool {
    let mut request = tonic::Request::new(HealthCheckRequest { service: String::new() });
    request.set_timeout(READINESS_TIMEOUT);
    match tokio::time::timeout(READINESS_TIMEOUT, gateway.clients.health.check_health(request)).await {
        Ok(Ok(response)) => response.into_inner().status == i32::from(ServingStatus::Serving),
        Ok(Err(status)) => {
            tracing::debug!(code = ?status.code(), error = status.message(), "cannot read the core's health");
            false
        }
        Err(_) => false,
    }
}
