//! Serves one connection.

use std::{
    convert::Infallible,
    error::Error,
    fmt::Display,
    net::SocketAddr,
    pin::pin,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, Version, header::CONNECTION};
use http_body::Body;
use http_body_util::BodyExt as _;
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto::Builder,
};
use tls::{Failure, ServerTls, begins_with_tls};
use tokio::{
    net::TcpStream,
    sync::OwnedSemaphorePermit,
    time::{Instant, sleep, sleep_until, timeout},
};
use tokio_io_timeout::TimeoutWriter;
use tokio_util::{
    either::Either,
    io::{InspectReader, InspectWriter},
    sync::CancellationToken,
    task::{AbortOnDropHandle, task_tracker::TaskTrackerToken},
};
use tower::{Service, ServiceExt as _};

use crate::{combined_writes::Coalesced, limits::ConnectionLimits, requests::Requests, traffic::Traffic};

/// How long a closing connection accepts requests that are already on their way.
const LINGER: Duration = Duration::from_millis(500);

/// Application served on a port.
#[derive(Clone, Debug)]
pub struct App<S> {
    /// Port name in logs and metrics.
    pub name: &'static str,
    /// Whether clients may also use HTTP/1.1. HTTP/2 is always enabled.
    pub http1: bool,
    /// Responds to requests.
    pub service: S,
}

/// Deadline for a response, set as an extension. If the client has not read the response by then, the connection closes.
///
/// On HTTP/2, the connection's other requests have the shutdown grace period to finish.
#[derive(Clone, Copy, Debug)]
pub struct FinishBy(pub Instant);

/// A port's shutdown state.
#[derive(Debug, Default)]
pub(crate) struct Stopping {
    /// Cancelled when the shutdown begins.
    pub(crate) draining: CancellationToken,
    /// Cancelled when the port has closed.
    pub(crate) closing: CancellationToken,
}

tokio::task_local! {
    /// A request's peer address, and its port's shutdown state.
    static ORIGIN: (SocketAddr, Arc<Stopping>);
}

/// Returns the address of the current request's TCP peer. Behind a proxy, it is the proxy's address.
pub fn peer() -> Option<SocketAddr> {
    ORIGIN.try_with(|(peer, _)| *peer).ok()
}

/// Returns whether the current request's port is about to close and the service is no longer ready.
pub fn is_draining() -> bool {
    ORIGIN.try_with(|(_, stopping)| stopping.draining.is_cancelled()).unwrap_or_default()
}

/// Returns a token that is cancelled when the current request's port closes. Endless responses end at that point.
pub fn closing() -> CancellationToken {
    ORIGIN.try_with(|(_, stopping)| stopping.closing.clone()).unwrap_or_default()
}

/// State shared by all connections.
pub(crate) struct Server<S> {
    pub(crate) http: Builder<TokioExecutor>,
    pub(crate) app: App<S>,
    pub(crate) limits: ConnectionLimits,
    pub(crate) tls: Option<ServerTls>,
    pub(crate) traffic: Traffic,
    pub(crate) stopping: Arc<Stopping>,
}

impl<S, B> Server<S>
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible, Future: Send>
        + Clone
        + Send
        + Sync
        + 'static,
    B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    /// Serves a connection until it ends, exceeds a limit, or its peer stops reading.
    pub(crate) async fn run(self: Arc<Self>, stream: TcpStream, _permit: OwnedSemaphorePermit) {
        // Each response is written whole, so Nagle's algorithm would only delay it.
        let (Ok(()), Ok(peer)) = (stream.set_nodelay(true), stream.peer_addr()) else { return };
        let _open = self.traffic.open();
        let (received, sent) = (self.traffic.received.clone(), self.traffic.sent.clone());
        let (server, mut is_plain_start) = (Arc::clone(&self), self.tls.is_none());
        let stream = InspectReader::new(stream, move |bytes: &[u8]| {
            received.increment(bytes.len() as u64);
            if std::mem::take(&mut is_plain_start) && begins_with_tls(bytes) {
                server.report_insecure(Failure::PeerSpeaksTls, peer, &"the port has no certificate");
            }
        });
        let stream = InspectWriter::new(stream, move |bytes: &[u8]| sent.increment(bytes.len() as u64));
        let mut stream = TimeoutWriter::new(stream);
        stream.set_timeout(Some(self.limits.write_timeout));
        let stream = Box::pin(stream);
        let stream = match &self.tls {
            None => Either::Left(stream),
            Some(tls) => {
                let accepted = timeout(self.limits.header_timeout, tls.accept(stream));
                match self.stopping.closing.run_until_cancelled(accepted).await {
                    Some(Ok(Ok(stream))) => Either::Right(Box::new(stream)),
                    Some(Ok(Err(error))) => return self.report_insecure(Failure::of_handshake(&error), peer, &error),
                    Some(Err(_)) => return self.traffic.count_insecure(Failure::Timeout),
                    None => return,
                }
            }
        };
        let requests = Arc::new(Requests::default());
        let service = service_fn(|request| {
            // Counts the request now, because an HTTP/2 request runs in its own task later.
            requests.begun.fetch_add(1, Relaxed);
            let in_flight = requests.in_flight.token();
            let origin = (peer, Arc::clone(&self.stopping));
            ORIGIN.scope(origin, Arc::clone(&self).respond(Arc::clone(&requests), in_flight, request))
        });
        // gRPC responses are small and numerous, so combining them pays off. HTTP/1 sends one response at a time.
        let stream = if self.app.http1 {
            Either::Left(stream)
        } else {
            Either::Right(Coalesced::new(stream, Arc::clone(&requests)))
        };
        let mut connection = pin!(self.http.serve_connection(TokioIo::new(stream), service));
        let ConnectionLimits { header_timeout, idle_timeout, shutdown_grace, .. } = self.limits;
        let remaining = tokio::select! {
            // Reads requests that have arrived before treating the connection as idle.
            biased;
            _ = connection.as_mut() => return,
            () = requests.end(header_timeout, idle_timeout) => LINGER,
            () = requests.overdue.cancelled() => shutdown_grace,
            () = sleep(self.limits.age()) => Duration::MAX,
            () = async {
                self.stopping.closing.cancelled().await;
                sleep(LINGER).await;
            } => Duration::MAX,
        };
        connection.as_mut().graceful_shutdown();
        tokio::select! {
            _ = connection => {}
            () = sleep(remaining) => {}
            () = async {
                requests.overdue.cancelled().await;
                sleep(shutdown_grace).await;
            } => {}
        }
    }

    fn report_insecure(&self, failure: Failure, peer: SocketAddr, error: &dyn Display) {
        let (port, reason, error) = (self.app.name, failure.label(), tls::plain(&error.to_string()));
        self.traffic.count_insecure(failure);
        // On a public port, failed handshakes are noise. On the core's port, they mean that a client is misconfigured.
        if failure.is_ordinary() || self.app.http1 {
            tracing::debug!(port, %peer, reason, error, "a TLS handshake failed");
        } else {
            tracing::warn!(port, %peer, reason, error, "a TLS handshake failed");
        }
    }

    async fn respond(
        self: Arc<Self>,
        requests: Arc<Requests>,
        in_flight: TaskTrackerToken,
        request: Request<Incoming>,
    ) -> Result<Response<impl Body<Data = Bytes, Error = B::Error>>, Infallible> {
        let is_http2 = request.version() == Version::HTTP_2;
        let mut response = self.app.service.clone().oneshot(request).await?;
        // HTTP/2 sends a GOAWAY frame instead.
        if !is_http2 && self.stopping.draining.is_cancelled() {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        let deadline = response.extensions().get().map(|FinishBy(deadline)| *deadline);
        #[allow(clippy::disallowed_methods, reason = "the task ends with the response")]
        let clock = deadline.map(|deadline| {
            AbortOnDropHandle::new(tokio::spawn(async move {
                sleep_until(deadline).await;
                requests.overdue.cancel();
            }))
        });
        // The body holds the clock and the token until it is sent.
        let held = (clock, in_flight);
        Ok(response.map(|body| {
            body.map_frame(move |frame| {
                let _ = &held;
                frame
            })
        }))
    }
}
