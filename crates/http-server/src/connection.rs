//! Serves one connection.

use std::{convert::Infallible, error::Error, fmt::Display, net::SocketAddr, pin::pin, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, Version, header::CONNECTION};
use http_body::Body;
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto::Builder,
};
use tls::{Failure, ServerTls};
use tokio::{
    net::TcpStream,
    time::{Instant, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;
use tower::{Service, ServiceExt as _};

use crate::{
    activity::{Activity, InFlight, State, Tracked},
    connection_limits::{ConnectionLimits, HEALTH_CONNECTION_TIME},
    permits::ConnectionPermit,
    stream::{MaybeTls, Outgoing, Refuse, Watched},
    traffic::Traffic,
};

/// The application of a port.
#[derive(Clone)]
pub struct App<S, B> {
    /// The port's name, for log and metrics.
    pub name: &'static str,
    /// Whether clients may use HTTP/1.1, besides HTTP/2.
    pub http1: bool,
    /// Responds to requests.
    pub service: S,
    /// Whether a path is for health checks.
    ///
    /// A full server still serves health checks.
    pub is_health_check: fn(&str) -> bool,
    /// The response to other requests of a full server.
    pub full: fn() -> Response<B>,
    /// The response to an HTTP/1 request that hyper refuses. `None`: a response without a body.
    pub refuse: Option<Refuse>,
    /// Longest duration of a request, until its response is sent. `None`: no limit.
    pub request_time: Option<Duration>,
}

/// The deadline of a response, as an extension. The connection of a client that has not read it closes.
///
/// On HTTP/2, the client's other requests finish first.
#[derive(Clone, Copy, Debug)]
pub struct FinishBy(pub Instant);

tokio::task_local! {
    /// The peer of a request, and the shutdown of its port.
    static ORIGIN: (SocketAddr, Arc<CancellationToken>);
}

/// Returns the peer of the current request's TCP connection. Behind a proxy, this is the proxy.
pub fn peer() -> Option<SocketAddr> {
    ORIGIN.try_with(|(peer, _)| *peer).ok()
}

/// Returns a token that is cancelled when the port's shutdown begins.
///
/// Responses without an end stop when it is cancelled.
pub fn shutdown() -> Arc<CancellationToken> {
    ORIGIN.try_with(|(_, shutdown)| Arc::clone(shutdown)).unwrap_or_default()
}

/// Runs work for a peer.
pub(crate) fn serving<F: Future>(
    peer: SocketAddr,
    shutdown: Arc<CancellationToken>,
    work: F,
) -> impl Future<Output = F::Output> {
    ORIGIN.scope((peer, shutdown), work)
}

/// The state that all connections share.
pub(crate) struct Server<S, B> {
    pub(crate) http: Builder<TokioExecutor>,
    pub(crate) app: App<S, B>,
    pub(crate) limits: ConnectionLimits,
    pub(crate) tls: Option<ServerTls>,
    pub(crate) traffic: Traffic,
    /// Cancelled when the shutdown begins. Responses then announce that their connection closes.
    pub(crate) draining: Arc<CancellationToken>,
    /// Cancelled when connections without a request close.
    pub(crate) closing: CancellationToken,
    /// Cancelled when all connections close.
    pub(crate) aborting: CancellationToken,
}

impl<S, B> Server<S, B>
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible, Future: Send>
        + Clone
        + Send
        + Sync
        + 'static,
    B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Unpin + Send + 'static,
{
    /// Serves a connection until it ends, exceeds a limit, or its peer does not read.
    pub(crate) async fn run(self: Arc<Self>, stream: TcpStream, peer: SocketAddr, granted: ConnectionPermit) {
        // Responses are written whole, so Nagle's algorithm would delay them.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "a connection closed before it was served");
            return;
        }
        let _open = self.traffic.open();
        let activity = Activity::new(&self.limits, self.app.request_time);
        let granted = Arc::new(granted);
        let service = service_fn(|request: Request<Incoming>| {
            // The request counts before its own task runs.
            let in_flight = activity.start(request.version() == Version::HTTP_2);
            // HTTP/2 requests have their own tasks.
            serving(
                peer,
                Arc::clone(&self.draining),
                Arc::clone(&self).respond(Arc::clone(&granted), in_flight, request),
            )
        });
        let on_tls = self.tls.is_none().then(|| {
            let server = Arc::clone(&self);
            let report = move || server.report_insecure(Failure::PeerSpeaksTls, peer, &"the port has no certificate");
            Box::new(report) as Box<dyn FnOnce() + Send>
        });
        let stream = Watched { stream, activity: Arc::clone(&activity), traffic: self.traffic.clone(), on_tls };
        let Some(stream) = self.secure(stream, peer).await else { return };
        let stream = if self.app.http1 {
            Outgoing::with_rejections(stream, self.app.refuse)
        } else {
            Outgoing::coalesced(stream, Arc::clone(&activity))
        };
        let mut connection = pin!(self.http.serve_connection(TokioIo::new(stream), service));
        let first_check = self.limits.header_timeout.min(self.limits.write_timeout);
        let mut check = pin!(sleep_until(Instant::now() + first_check));
        let mut reserved_end = pin!(sleep_until(Instant::now() + HEALTH_CONNECTION_TIME));
        let mut end = pin!(async {
            match self.limits.age() {
                // The peer's next requests come over another connection.
                Some(age) => {
                    let _ = timeout(age, self.closing.cancelled()).await;
                }
                None => self.closing.cancelled().await,
            }
        });
        let mut closing = false;
        loop {
            tokio::select! {
                biased;
                ended = connection.as_mut() => {
                    if let Err(error) = ended {
                        tracing::debug!(error, "a connection ended with an error");
                    }
                    return;
                }
                () = end.as_mut(), if !closing => {
                    connection.as_mut().graceful_shutdown();
                    closing = true;
                    continue;
                }
                () = self.aborting.cancelled() => return,
                () = reserved_end.as_mut(), if granted.is_reserved() => {
                    // The connection may have become ordinary.
                    if granted.is_reserved() {
                        return;
                    }
                    continue;
                }
                () = activity.changed.notified() => {}
                () = check.as_mut() => {}
            }
            let next_check = match activity.check() {
                State::Active(next_check) => next_check,
                State::Closable(next_check) if !closing => {
                    connection.as_mut().graceful_shutdown();
                    closing = true;
                    next_check
                }
                State::Closable(_) | State::Stalled => {
                    tracing::debug!("a connection was aborted");
                    return;
                }
            };
            check.as_mut().reset(next_check);
        }
    }

    /// Makes a connection secure if the port has a certificate. `None` if that fails, takes too long, or the server ends.
    async fn secure(&self, stream: Watched, peer: SocketAddr) -> Option<MaybeTls> {
        let Some(tls) = &self.tls else { return Some(MaybeTls::Left(stream)) };
        let accepted = timeout(self.limits.header_timeout, tls.accept(stream));
        match self.closing.run_until_cancelled(accepted).await? {
            Ok(Ok(stream)) => Some(MaybeTls::Right(Box::new(stream))),
            Ok(Err(error)) => {
                self.report_insecure(Failure::of_handshake(&error), peer, &error);
                None
            }
            Err(_) => {
                self.traffic.count_insecure(Failure::Timeout);
                None
            }
        }
    }

    fn report_insecure(&self, failure: Failure, peer: SocketAddr, error: &dyn Display) {
        let (port, reason) = (self.app.name, failure.label());
        self.traffic.count_insecure(failure);
        // A public port gets all kinds of traffic. The core's port is only for configured programs.
        if failure.is_ordinary() || self.app.http1 {
            tracing::debug!(port, %peer, reason, %error, "a TLS handshake failed");
        } else {
            tracing::warn!(port, %peer, reason, %error, "a TLS handshake failed");
        }
    }

    async fn respond(
        self: Arc<Self>,
        granted: Arc<ConnectionPermit>,
        in_flight: InFlight,
        request: Request<Incoming>,
    ) -> Result<Response<Tracked<B>>, Infallible> {
        let is_http2 = request.version() == Version::HTTP_2;
        let app = &self.app;
        let is_refused =
            granted.is_reserved() && !(app.is_health_check)(request.uri().path()) && !granted.become_ordinary().await;
        let mut response = if is_refused { (app.full)() } else { app.service.clone().oneshot(request).await? };
        // HTTP/2 sends a GOAWAY frame.
        if !is_http2 && (self.draining.is_cancelled() || granted.is_reserved()) {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        if let Some(FinishBy(deadline)) = response.extensions().get() {
            in_flight.finish_by(*deadline);
        }
        Ok(response.map(|body| Tracked::new(body, in_flight)))
    }
}
