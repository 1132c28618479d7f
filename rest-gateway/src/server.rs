//! Serves the REST port.

use std::io;

use axum::Router;
use http_server::{App, Listener};
use hyper::body::Incoming;
use tokio_util::sync::CancellationToken;
use tower::util::MapRequest;

use crate::{head::canonical, settings::Settings};

/// Serves `router` until `shutdown`. Accepted requests then have the grace period to finish.
pub async fn serve(
    listener: impl Into<Listener>,
    router: Router,
    settings: &Settings,
    shutdown: CancellationToken,
) -> io::Result<()> {
    // A router's layers run after routing, which needs the decoded path.
    let service = MapRequest::new(router, canonical::<Incoming>);
    let app = App { name: "REST", http1: true, service };
    http_server::serve(listener, app, (&settings.connections).into(), shutdown).await
}
