//! A port, from its first connection to its graceful shutdown; and the port of a program that is not ready.

use std::{convert::Infallible, error::Error, io, net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use hyper::{body::Incoming, service::service_fn};
use hyper_util::rt::TokioIo;
use tls::ServerTls;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::OwnedSemaphorePermit,
    task::JoinSet,
    time::{Instant, sleep, timeout, timeout_at},
};
use tokio_util::{either::Either, sync::CancellationToken, task::TaskTracker};
use tower::{Service, ServiceExt as _};

use crate::{
    backlog::refuse_new_connections,
    connection::{App, Server, serving},
    connection_limits::ConnectionLimits,
    permits::Permits,
    traffic::Traffic,
};

/// How long the listener's backlog is accepted after the shutdown has begun.
const BACKLOG_TIME: Duration = Duration::from_millis(250);
/// The backlog is empty when no connection arrives for this long.
const BACKLOG_PAUSE: Duration = Duration::from_millis(50);
/// How long a connection without a request stays open after the shutdown has begun. A request may be on its way.
const LINGER: Duration = Duration::from_millis(500);
/// The pause after a failed accept, for example without free file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How often the same warning is logged.
const WARNING_INTERVAL: Duration = Duration::from_secs(10);

/// Maximum number of open connections while the program is not ready.
const UNREADY_CONNECTIONS: usize = 256;
/// How long such a connection stays open.
const UNREADY_TIME: Duration = Duration::from_secs(5);

/// An open port, with its certificate.
#[derive(Debug)]
pub struct Listener {
    /// Accepts its connections.
    pub tcp: TcpListener,
    /// The certificate of a secure port.
    pub tls: Option<ServerTls>,
}

impl From<TcpListener> for Listener {
    fn from(tcp: TcpListener) -> Self {
        Self { tcp, tls: None }
    }
}

/// Serves `app` until `shutdown` is cancelled. Then accepted requests have the grace period to get their responses.
pub async fn serve<S, B>(
    listener: impl Into<Listener>,
    app: App<S, B>,
    limits: ConnectionLimits,
    shutdown: CancellationToken,
) -> io::Result<()>
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible, Future: Send>
        + Clone
        + Send
        + Sync
        + 'static,
    B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Unpin + Send + 'static,
{
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    let Listener { tcp: listener, tls } = listener.into();
    let name = app.name;
    let (permits, traffic) = (Permits::new(&limits), Traffic::of(name));
    traffic.describe_insecure(tls.is_some());
    let server = Arc::new(Server {
        http: limits.builder(app.http1),
        app,
        limits,
        tls,
        traffic: traffic.clone(),
        draining: Arc::new(shutdown.clone()),
        closing: CancellationToken::new(),
        aborting: CancellationToken::new(),
    });
    let connections = TaskTracker::new();
    let (mut accept_failed, mut peer_is_full) = (Warning::default(), Warning::default());
    let mut spawn = |stream: TcpStream, peer: SocketAddr, permit: OwnedSemaphorePermit| {
        if let Some(granted) = permits.open(permit, peer.ip()) {
            connections.spawn(serving(
                peer,
                Arc::clone(&server.draining),
                Arc::clone(&server).run(stream, peer, granted),
            ));
        } else {
            traffic.refused.increment(1);
            if let Some(times) = peer_is_full.due() {
                let peer = peer.ip();
                tracing::warn!(port = name, %peer, times, "closed connections of a peer with too many connections");
            }
        }
    };

    while let Some(permit) = shutdown.run_until_cancelled(permits.acquire()).await {
        match shutdown.run_until_cancelled(listener.accept()).await {
            Some(Ok((stream, peer))) => spawn(stream, peer, permit),
            // The error is about one connection, not the listener.
            Some(Err(error)) if matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) => {}
            Some(Err(error)) => {
                if let Some(times) = accept_failed.due() {
                    tracing::warn!(port = name, %error, times, "cannot accept connections");
                }
                sleep(ACCEPT_PAUSE).await;
            }
            None => break,
        }
    }

    tracing::info!(
        port = name,
        connections = connections.len(),
        "accepting no new connections; finishing accepted requests"
    );
    if let Err(error) = refuse_new_connections(&listener) {
        tracing::debug!(%error, "connections that begin now may be reset");
    }
    let backlog_end = Instant::now() + BACKLOG_TIME;
    while let Ok(Ok((stream, peer))) =
        timeout_at(backlog_end.min(Instant::now() + BACKLOG_PAUSE), listener.accept()).await
    {
        if let Some(permit) = permits.try_acquire() {
            spawn(stream, peer, permit);
        }
    }
    drop(listener);
    connections.close();
    if timeout(LINGER, connections.wait()).await.is_err() {
        server.closing.cancel();
        if timeout(server.limits.shutdown_grace, connections.wait()).await.is_err() {
            tracing::warn!(
                port = name,
                connections = connections.len(),
                "the grace period is over; closing the remaining connections"
            );
            server.aborting.cancel();
            connections.wait().await;
        }
    }
    Ok(())
}

/// Responds to all requests with `service` until the future is dropped.
///
/// That closes the connections. The port stays open if another listener has it.
pub async fn serve_unready<S, B>(listener: Listener, service: S) -> Infallible
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible, Future: Send> + Clone + Send + 'static,
    B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    let limits = ConnectionLimits { header_timeout: UNREADY_TIME, ..ConnectionLimits::default() };
    let builder = limits.builder(true);
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Some(_) = connections.join_next() => {}
            accepted = listener.tcp.accept(), if connections.len() < UNREADY_CONNECTIONS => {
                let Ok((stream, _)) = accepted else {
                    sleep(ACCEPT_PAUSE).await;
                    continue;
                };
                let (builder, tls, service) = (builder.clone(), listener.tls.clone(), service.clone());
                connections.spawn(timeout(UNREADY_TIME, async move {
                    let stream = match tls {
                        Some(tls) => Either::Left(tls.accept(stream).await?),
                        None => Either::Right(stream),
                    };
                    let respond = service_fn(move |request| service.clone().oneshot(request));
                    builder.serve_connection(TokioIo::new(stream), respond).await
                }));
            }
        }
    }
}

/// A warning that is logged once per interval.
#[derive(Default)]
struct Warning {
    logged: Option<Instant>,
    times: u64,
}

impl Warning {
    /// Returns how often the warning was due since it was last logged, if it is logged now.
    fn due(&mut self) -> Option<u64> {
        self.times += 1;
        if self.logged.is_some_and(|logged| logged.elapsed() < WARNING_INTERVAL) {
            return None;
        }
        self.logged = Some(Instant::now());
        Some(std::mem::take(&mut self.times))
    }
}
