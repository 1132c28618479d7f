//! The port of REST.

use std::io;

use axum::{
    Router,
    body::Body,
    response::{IntoResponse as _, Response},
};
use compliance_api::error::Error;
use http_server::{App, Listener, Protocols};
use tokio_util::sync::CancellationToken;

use crate::{Settings, error::Refusal};

/// Serves `router` until `shutdown` is cancelled, then until every accepted request has its response or the grace period
/// is over.
pub async fn serve(
    listener: impl Into<Listener>,
    router: Router,
    settings: &Settings,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let app = App {
        name: "REST",
        protocols: Protocols::Http1AndHttp2,
        service: router,
        is_health_check: |path| matches!(path, "/livez" | "/readyz"),
        full,
        // The body arrives, the core is called twice at most, and the client reads a list.
        request_time: Some(settings.body_timeout + settings.request_timeout * 3 + settings.list_timeout),
    };
    http_server::serve(listener, app, settings.connections.clone(), shutdown).await
}

/// The response when all connections are in use.
fn full() -> Response<Body> {
    Refusal::from(Error::overloaded()).into_response()
}
