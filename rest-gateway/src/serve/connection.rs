//! One connection.

use std::{convert::Infallible, pin::pin, sync::Arc};

use axum::{Router, body::Body};
use bytes::Bytes;
use http::{HeaderValue, Request, Response, Version, header::CONNECTION};
use http_body_util::BodyExt as _;
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto::Builder,
};
use tokio::{
    net::TcpStream,
    sync::OwnedSemaphorePermit,
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use super::activity::{Activity, State};
use crate::Settings;

/// What every connection shares.
pub(super) struct Server {
    pub(super) http: Builder<TokioExecutor>,
    pub(super) router: Router,
    pub(super) settings: Settings,
    /// The shutdown has begun: responses announce that their connection closes.
    pub(super) draining: CancellationToken,
    /// Connections without a request close.
    pub(super) closing: CancellationToken,
    /// All connections close.
    pub(super) aborting: CancellationToken,
}

/// Serves a connection until it ends, is idle for too long, or gets stuck.
pub(super) async fn run(server: Arc<Server>, stream: TcpStream, _permit: OwnedSemaphorePermit) {
    // Responses are written whole, so Nagle's algorithm would only delay them.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection closed before it was served");
        return;
    }
    let activity = Activity::new(&server.settings);
    let service = service_fn(|request| respond(Arc::clone(&server), Arc::clone(&activity), request));
    let mut connection = pin!(server.http.serve_connection(TokioIo::new(stream), service));
    let mut check = pin!(sleep_until(Instant::now() + server.settings.header_timeout));
    let mut closing = false;
    loop {
        tokio::select! {
            biased;
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(error = %error, "a connection ended with an error");
                }
                return;
            }
            () = server.closing.cancelled(), if !closing => {
                connection.as_mut().graceful_shutdown();
                closing = true;
            }
            () = server.aborting.cancelled() => return,
            () = check.as_mut() => match activity.check() {
                State::Active(next_check) => check.as_mut().reset(next_check),
                State::Idle(next_check) if !closing => {
                    connection.as_mut().graceful_shutdown();
                    closing = true;
                    check.as_mut().reset(next_check);
                }
                // Still open after a graceful close, or at one request for longer than any may take: the client does not
                // read its responses.
                State::Idle(_) | State::Stuck => {
                    tracing::debug!("a connection was aborted");
                    return;
                }
            },
        }
    }
}

async fn respond(
    server: Arc<Server>,
    activity: Arc<Activity>,
    request: Request<Incoming>,
) -> Result<Response<impl http_body::Body<Data = Bytes, Error = axum::Error>>, Infallible> {
    let in_flight = activity.start();
    let closes = request.version() < Version::HTTP_2;
    let mut response = server.router.clone().oneshot(request.map(Body::new)).await?;
    // HTTP/2 sends a GOAWAY frame instead.
    if closes && server.draining.is_cancelled() {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    let keep_in_flight = move |error| {
        let _ = &in_flight;
        error
    };
    // The body owns the guard with the function, so the request is in flight until its body is sent.
    Ok(response.map(|body| body.map_err(keep_in_flight)))
}
