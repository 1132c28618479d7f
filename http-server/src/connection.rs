//! One connection.

use std::{convert::Infallible, error::Error, pin::pin, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, Version, header::CONNECTION};
use http_body::Body;
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto::Builder,
};
use tls::ServerTls;
use tokio::{
    net::TcpStream,
    time::{Instant, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;
use tower::{Service, ServiceExt as _};

use crate::{
    Limits, Protocols,
    activity::{Activity, InFlight, State},
    body::Tracked,
    coalesce::Coalesced,
    limits::RESERVED_TIME,
    permits::Slot,
    refusal::{Refusals, Refuse},
    stream::{MaybeTls, Watched},
    traffic::Traffic,
};

/// What a server serves.
#[derive(Clone)]
pub struct App<S, B> {
    /// Names the port in the log.
    pub name: &'static str,
    /// What clients may speak.
    pub protocols: Protocols,
    /// Responds to requests.
    pub service: S,
    /// Whether the path is of a health check, which a full server still answers.
    pub is_health_check: fn(&str) -> bool,
    /// The response to other requests when the server is full.
    pub full: fn() -> Response<B>,
    /// The response to a request of HTTP/1 that HTTP itself refuses. `None`: one without a body.
    pub refuse: Option<Refuse>,
    /// How long a request may take, until its response is sent. `None`: as long as the service lets it.
    pub request_time: Option<Duration>,
}

/// A response with this extension must have been sent then. A client that has not read it by then is cut off: at once on
/// HTTP/1, after its other requests on HTTP/2.
#[derive(Clone, Copy, Debug)]
pub struct FinishBy(pub Instant);

/// What every connection shares.
pub(crate) struct Server<S, B> {
    pub(crate) http: Builder<TokioExecutor>,
    pub(crate) app: App<S, B>,
    pub(crate) limits: Limits,
    pub(crate) tls: Option<ServerTls>,
    pub(crate) traffic: Traffic,
    /// The shutdown has begun: responses announce that their connection closes.
    pub(crate) draining: CancellationToken,
    /// Connections without a request close.
    pub(crate) closing: CancellationToken,
    /// All connections close.
    pub(crate) aborting: CancellationToken,
}

/// Serves a connection until it ends, is idle for too long, or its peer does not read.
pub(crate) async fn run<S, B>(server: Arc<Server<S, B>>, stream: TcpStream, slot: Slot)
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible, Future: Send>
        + Clone
        + Send
        + Sync
        + 'static,
    B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Unpin + Send + 'static,
{
    // Responses are written whole, so Nagle's algorithm would only delay them.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection closed before it was served");
        return;
    }
    let _open = server.traffic.open();
    let activity = Activity::new(&server.limits, server.app.request_time);
    let slot = Arc::new(slot);
    let service = service_fn(|request: Request<Incoming>| {
        // At once, rather than when the request's own task runs.
        let in_flight = activity.start(request.version() == Version::HTTP_2);
        respond(Arc::clone(&server), Arc::clone(&slot), in_flight, request)
    });
    let stream = Watched::new(stream, Arc::clone(&activity), server.traffic.clone());
    let Some(stream) = secure(&server, stream).await else { return };
    let stream = Refusals::new(stream, server.app.refuse);
    let io = TokioIo::new(Coalesced::new(stream, server.app.protocols == Protocols::Http2));
    let mut exchange = pin!(server.http.serve_connection(io, service));
    let first_check = server.limits.header_timeout.min(server.limits.write_timeout);
    let mut check = pin!(sleep_until(Instant::now() + first_check));
    let mut reserved_end = pin!(sleep_until(Instant::now() + RESERVED_TIME));
    let mut may_be_reserved = slot.is_reserved();
    let mut closing = false;
    loop {
        tokio::select! {
            biased;
            ended = exchange.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(error, "a connection ended with an error");
                }
                return;
            }
            () = server.closing.cancelled(), if !closing => {
                exchange.as_mut().graceful_shutdown();
                closing = true;
                continue;
            }
            () = server.aborting.cancelled() => return,
            () = reserved_end.as_mut(), if may_be_reserved => {
                if slot.is_reserved() {
                    return;
                }
                may_be_reserved = false;
                continue;
            }
            () = activity.changed() => {}
            () = check.as_mut() => {}
        }
        let next_check = match activity.check() {
            State::Active(next_check) => next_check,
            State::Closable(next_check) if !closing => {
                exchange.as_mut().graceful_shutdown();
                closing = true;
                next_check
            }
            // On HTTP/2 the other requests of the peer are finished first.
            State::Overdue(next_check) if !closing && activity.is_http2() => {
                exchange.as_mut().graceful_shutdown();
                closing = true;
                next_check
            }
            State::Closable(_) | State::Overdue(_) | State::Stalled => {
                tracing::debug!("a connection was aborted");
                return;
            }
        };
        check.as_mut().reset(next_check);
    }
}

/// Makes a connection a secure one if the port has a certificate. `None` if that fails, takes too long, or the server ends.
async fn secure<S, B>(server: &Server<S, B>, stream: Watched) -> Option<MaybeTls> {
    let Some(tls) = &server.tls else { return Some(MaybeTls::Plain(stream)) };
    let accepted = timeout(server.limits.header_timeout, tls.accept(stream));
    match server.closing.run_until_cancelled(accepted).await? {
        Ok(Ok(stream)) => Some(MaybeTls::Tls(Box::new(stream))),
        Ok(Err(error)) => {
            tracing::debug!(%error, "a connection could not be made secure");
            None
        }
        Err(_) => None,
    }
}

async fn respond<S, B>(
    server: Arc<Server<S, B>>,
    slot: Arc<Slot>,
    in_flight: InFlight,
    request: Request<Incoming>,
) -> Result<Response<Tracked<B>>, Infallible>
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible> + Clone,
    B: Body,
{
    let is_http2 = request.version() == Version::HTTP_2;
    let app = &server.app;
    let is_refused =
        slot.is_reserved() && !(app.is_health_check)(request.uri().path()) && !slot.become_ordinary().await;
    let mut response = if is_refused { (app.full)() } else { app.service.clone().oneshot(request).await? };
    // HTTP/2 sends a GOAWAY frame instead.
    if !is_http2 && (server.draining.is_cancelled() || slot.is_reserved()) {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    if let Some(FinishBy(deadline)) = response.extensions().get() {
        in_flight.finish_by(*deadline);
    }
    Ok(response.map(|body| Tracked::new(body, in_flight)))
}
