//! One connection.

use std::{convert::Infallible, pin::pin, sync::Arc};

use axum::{Router, body::Body};
use http::{HeaderValue, Request, Response, Version, header::CONNECTION};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto::Builder,
};
use tokio::{net::TcpStream, sync::OwnedSemaphorePermit, time::sleep_until};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use super::activity::{Activity, State, Tracked};
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
    let service = service_fn(|request| respond(&server, &activity, request));
    let mut connection = pin!(server.http.serve_connection(TokioIo::new(stream), service));
    let mut check = pin!(sleep_until(activity.first_check()));
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

fn respond(
    server: &Arc<Server>,
    activity: &Arc<Activity>,
    request: Request<Incoming>,
) -> impl Future<Output = Result<Response<Tracked>, Infallible>> + Send + 'static {
    let in_flight = activity.start();
    let server = Arc::clone(server);
    let closes = request.version() < Version::HTTP_2;
    let response = server.router.clone().oneshot(request.map(Body::new));
    async move {
        let mut response = response.await?;
        // HTTP/2 sends a GOAWAY frame instead.
        if closes && server.draining.is_cancelled() {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        Ok(response.map(|body| Tracked::new(body, in_flight)))
    }
}
