//! One connection, from its first byte to its last.

use std::{convert::Infallible, pin::pin, sync::Arc};

use axum::body::Body;
use http::{HeaderValue, Request, Response, Version, header::CONNECTION};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpStream, sync::OwnedSemaphorePermit, time::sleep_until};
use tower::ServiceExt as _;

use super::{
    Server,
    activity::{Activity, Tracked, Verdict},
};

/// Serves a connection until it ends, is idle for too long, or gets stuck.
pub(super) async fn run(server: Arc<Server>, stream: TcpStream, _slot: OwnedSemaphorePermit) {
    // Answers are written whole; waiting for more to send with them only delays them.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection was gone before it was served");
        return;
    }
    let activity = Activity::new(&server.settings);
    let service = service_fn(|request| answer(&server, &activity, request));
    let mut connection = pin!(server.http.serve_connection(TokioIo::new(stream), service));
    let mut check = pin!(sleep_until(activity.next_check()));
    let mut told_to_close = false;
    loop {
        tokio::select! {
            biased;
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(error = %error, "a connection ended with an error");
                }
                return;
            }
            () = server.closing.cancelled(), if !told_to_close => {
                connection.as_mut().graceful_shutdown();
                told_to_close = true;
            }
            () = server.aborting.cancelled() => return,
            () = check.as_mut() => match activity.judge() {
                Verdict::Good(next_check) => check.as_mut().reset(next_check),
                Verdict::Idle(next_check) if !told_to_close => {
                    connection.as_mut().graceful_shutdown();
                    told_to_close = true;
                    check.as_mut().reset(next_check);
                }
                // Told to close and still here, or at the same request for longer than any may take: the client does
                // not read what it is sent.
                Verdict::Idle(_) | Verdict::Stuck => {
                    tracing::debug!("a connection was cut off");
                    return;
                }
            },
        }
    }
}

fn answer(
    server: &Arc<Server>,
    activity: &Arc<Activity>,
    request: Request<Incoming>,
) -> impl Future<Output = Result<Response<Tracked>, Infallible>> + Send + 'static {
    let running = activity.start();
    let server = Arc::clone(server);
    let closes = request.version() < Version::HTTP_2;
    let answering = server.router.clone().oneshot(request.map(Body::new));
    async move {
        let mut response = answering.await?;
        // HTTP/2 has a frame for it.
        if closes && server.draining.is_cancelled() {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        Ok(response.map(|body| Tracked::new(body, running)))
    }
}
