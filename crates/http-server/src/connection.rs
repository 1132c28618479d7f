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

/// How long a closing connection may still begin a request. A request may be on its way.
const LINGER: Duration = Duration::from_millis(500);

/// The application of a port.
#[derive(Clone, Debug)]
pub struct App<S> {
    /// The port's name, for log and metrics.
    pub name: &'static str,
    /// Whether clients may use HTTP/1.1, besides HTTP/2.
    pub http1: bool,
    /// Responds to requests.
    pub service: S,
}

/// The deadline of a response, as an extension. The connection of a client that has not read it closes.
///
/// On HTTP/2, the client's other requests have the grace period of a shutdown.
#[derive(Clone, Copy, Debug)]
pub struct FinishBy(pub Instant);

/// The shutdown of a port.
#[derive(Debug, Default)]
pub(crate) struct Stopping {
    /// Cancelled when the shutdown begins.
    pub(crate) draining: CancellationToken,
    /// Cancelled when the port has closed.
    pub(crate) closing: CancellationToken,
}

tokio::task_local! {
    /// The peer of a request, and the shutdown of its port.
    static ORIGIN: (SocketAddr, Arc<Stopping>);
}

/// Returns the peer of the current request's TCP connection. Behind a proxy, this is the proxy.
pub fn peer() -> Option<SocketAddr> {
    ORIGIN.try_with(|(peer, _)| *peer).ok()
}

/// Whether the port of the current request is about to close. Then the service is not ready.
pub fn is_draining() -> bool {
    ORIGIN.try_with(|(_, stopping)| stopping.draining.is_cancelled()).unwrap_or_default()
}

/// Returns a token that is cancelled when the port of the current request closes. Responses without an end then end.
pub fn closing() -> CancellationToken {
    ORIGIN.try_with(|(_, stopping)| stopping.closing.clone()).unwrap_or_default()
}

/// The state that all connections share.
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
    /// Serves a connection until it ends, exceeds a limit, or its peer does not read.
    pub(crate) async fn run(self: Arc<Self>, stream: TcpStream, _permit: OwnedSemaphorePermit) {
        // Responses are written whole, so Nagle's algorithm would delay them.
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
            // The request counts before its own task runs: HTTP/2 requests have their own tasks.
            requests.begun.fetch_add(1, Relaxed);
            let in_flight = requests.in_flight.token();
            let origin = (peer, Arc::clone(&self.stopping));
            ORIGIN.scope(origin, Arc::clone(&self).respond(Arc::clone(&requests), in_flight, request))
        });
        // Many small gRPC messages arrive together. HTTP/1 has one response at a time.
        let stream = if self.app.http1 {
            Either::Left(stream)
        } else {
            Either::Right(Coalesced::new(stream, Arc::clone(&requests)))
        };
        let mut connection = pin!(self.http.serve_connection(TokioIo::new(stream), service));
        let ConnectionLimits { header_timeout, idle_timeout, shutdown_grace, .. } = self.limits;
        let remaining = tokio::select! {
            // A request that has arrived is read before its connection counts as idle.
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
        requests: Arc<Requests>,
        in_flight: TaskTrackerToken,
        request: Request<Incoming>,
    ) -> Result<Response<impl Body<Data = Bytes, Error = B::Error>>, Infallible> {
        let is_http2 = request.version() == Version::HTTP_2;
        let mut response = self.app.service.clone().oneshot(request).await?;
        // HTTP/2 sends a GOAWAY frame.
        if !is_http2 && self.stopping.draining.is_cancelled() {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        let deadline = response.extensions().get().map(|FinishBy(deadline)| *deadline);
        #[allow(clippy::disallowed_methods, reason = "it ends with the response")]
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
