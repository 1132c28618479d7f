//! A port from its first connection to an orderly shutdown.

use std::{convert::Infallible, error::Error, io, net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use tokio::{
    net::TcpStream,
    time::{Instant, sleep, timeout, timeout_at},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::Service;

use crate::{
    App, Limits, Listener,
    backlog::refuse_new_connections,
    connection::{self, Server},
    permits::{Permit, Permits},
    traffic::Traffic,
    warnings::Warning,
};

/// How long connections in the listener's backlog are still accepted after the shutdown has begun.
const BACKLOG_TIME: Duration = Duration::from_millis(250);
/// The backlog counts as empty when no connection arrives for this long.
const BACKLOG_PAUSE: Duration = Duration::from_millis(50);
/// How long a connection without a request stays open after the shutdown has begun: the client may have sent one already.
const LINGER: Duration = Duration::from_millis(500);
/// The pause after a failed accept, for example when the process has no file descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves `app` until `shutdown` is cancelled, then until every accepted request has its response or the grace period
/// is over.
pub async fn serve<S, B>(
    listener: impl Into<Listener>,
    app: App<S, B>,
    limits: Limits,
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
    let Listener { tcp: listener, tls } = listener.into();
    let name = app.name;
    let (permits, traffic) = (Permits::new(&limits), Traffic::of(name));
    let server = Arc::new(Server {
        http: limits.builder(app.protocols),
        app,
        limits,
        tls,
        traffic: traffic.clone(),
        draining: shutdown.clone(),
        closing: CancellationToken::new(),
        aborting: CancellationToken::new(),
    });
    let connections = TaskTracker::new();
    let (mut accept_failed, mut peer_is_full) = (Warning::default(), Warning::default());
    let mut spawn = |stream: TcpStream, peer: SocketAddr, permit: Permit| {
        if let Some(slot) = permits.open(permit, peer.ip()) {
            connections.spawn(connection::run(Arc::clone(&server), stream, slot));
        } else {
            traffic.refused.increment(1);
            peer_is_full.peer_is_full(name, peer.ip());
        }
    };

    while let Some(permit) = shutdown.run_until_cancelled(permits.acquire()).await {
        match shutdown.run_until_cancelled(listener.accept()).await {
            Some(Ok((stream, peer))) => spawn(stream, peer, permit),
            Some(Err(error)) if concerns_one_connection(&error) => {}
            Some(Err(error)) => {
                accept_failed.accept_failed(name, &error);
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

/// Whether an error concerns one connection rather than the listener.
fn concerns_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}
