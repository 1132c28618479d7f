//! The port of REST.

use std::io;

use axum::{Router, response::IntoResponse as _};
use compliance_api::error::{Error, Reason, meaning};
use http::StatusCode;
use http_server::{App, Listener};
use hyper::body::Incoming;
use tokio_util::sync::CancellationToken;
use tower::util::MapRequest;

use crate::{
    envelope::{Detail, Envelope, Rejection},
    head::canonical,
    observe::{is_health_check, new_id},
    settings::Settings,
};

/// Serves `router` until `shutdown`. Then accepted requests have the grace period to get their responses.
pub async fn serve(
    listener: impl Into<Listener>,
    router: Router,
    settings: &Settings,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let app = App {
        name: "REST",
        http1: true,
        // Layers of a router run after its routing.
        service: MapRequest::new(router, canonical::<Incoming>),
        is_health_check,
        full: || Rejection::from(Error::overloaded()).into_response(),
        refuse: Some(refuse),
        // Time for the body, the calls of the core, and a list.
        request_time: Some(settings.body_timeout + settings.request_timeout * 3 + settings.list_timeout),
    };
    http_server::serve(listener, app, (&settings.connections).into(), shutdown).await
}

/// Returns the response to a request that hyper refuses before any handler.
fn refuse(status: StatusCode) -> Vec<u8> {
    let error = match status {
        StatusCode::URI_TOO_LONG => {
            Error::new(Reason::UriTooLong, "The path and the query of the request are too long.")
        }
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => {
            Error::new(Reason::HeadersTooLarge, "The headers of the request are too large.")
        }
        _ => Error::new(Reason::RequestMalformed, "The request is not valid HTTP."),
    };
    let (id, meaning) = (new_id(), meaning(error.reason));
    let (status, peer) = (meaning.http.as_u16(), http_server::peer().map(tracing::field::display));
    tracing::info!(target: "access", operation = "(malformed request)", status, peer, request_id = %id, "request");
    let body =
        serde_json::to_string(&Envelope::result(meaning.result, Detail { msg: &error.message, ..Detail::default() }));
    let body = body.unwrap_or_default();
    format!(
        "HTTP/1.1 {}\r\ncontent-type: application/json\r\nx-request-id: {id}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        meaning.http,
        body.len()
    )
    .into_bytes()
}
