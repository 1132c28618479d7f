//! Serves a port, from its first connection to its graceful shutdown.

use std::{convert::Infallible, error::Error, io, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use tls::ServerTls;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinSet,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;
use tower::Service;

use crate::{
    connection::{App, Server, Stopping},
    limits::ConnectionLimits,
    traffic::Traffic,
};

/// Pause after a failed accept, for example when file descriptors run out.
const ACCEPT_PAUSE: Duration = Duration::from_secs(1);

/// An open port and its certificate.
#[derive(Debug)]
pub struct Listener {
    /// Accepts connections.
    pub tcp: TcpListener,
    /// Certificate, if the port uses TLS.
    pub tls: Option<ServerTls>,
}

impl From<TcpListener> for Listener {
    fn from(tcp: TcpListener) -> Self {
        Self { tcp, tls: None }
    }
}

/// Serves `app` until `shutdown` is cancelled.
///
/// After that, the port stays open for the shutdown delay, and responses announce that their connection will close. Accepted requests then have the
/// grace period to finish. Dropping the future closes all connections.
pub async fn serve<S, B>(
    listener: impl Into<Listener>,
    app: App<S>,
    limits: ConnectionLimits,
    shutdown: CancellationToken,
) -> io::Result<()>
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible, Future: Send>
        + Clone
        + Send
        + Sync
        + 'static,
    B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    let Listener { tcp: listener, tls } = listener.into();
    let (name, delay, grace) = (app.name, limits.shutdown_delay, limits.shutdown_grace);
    let permits = Arc::new(Semaphore::new(limits.max_connections.clamp(1, Semaphore::MAX_PERMITS)));
    let traffic = Traffic::of(name);
    traffic.describe_insecure(tls.is_some());
    let stopping = Stopping { draining: shutdown.clone(), closing: CancellationToken::new() };
    let closing = stopping.closing.clone();
    let http = limits.builder(app.http1);
    let server = Arc::new(Server { http, app, limits, tls, traffic, stopping: Arc::new(stopping) });
    let mut connections = JoinSet::new();
    let mut spawn = |stream: TcpStream, permit: OwnedSemaphorePermit| {
        // Removes ended connections, which would otherwise stay in the set.
        while connections.try_join_next().is_some() {}
        connections.spawn(Arc::clone(&server).run(stream, permit));
    };

    let mut drained = Box::pin(async {
        shutdown.cancelled().await;
        tracing::info!(port = name, "shutting down; the port closes in {delay:?}");
        sleep(delay).await;
    });
    loop {
        let accept = async {
            let permit = Arc::clone(&permits).acquire_owned().await.map_err(io::Error::other)?;
            Ok::<_, io::Error>((listener.accept().await?.0, permit))
        };
        tokio::select! {
            biased;
            () = drained.as_mut() => break,
            accepted = accept => match accepted {
                Ok((stream, permit)) => spawn(stream, permit),
                Err(error) if is_of_connection(&error) => {}
                Err(error) => {
                    tracing::warn!(port = name, %error, "cannot accept connections");
                    sleep(ACCEPT_PAUSE).await;
                }
            },
        }
    }

    // Accepts the remaining backlog, because closing the port would reset those connections.
    let backlog = listener.into_std()?;
    while let (Ok(permit), Ok((stream, _))) = (Arc::clone(&permits).try_acquire_owned(), backlog.accept()) {
        stream.set_nonblocking(true)?;
        spawn(TcpStream::from_std(stream)?, permit);
    }
    drop(backlog);
    tracing::info!(port = name, connections = connections.len(), "closed the port; finishing accepted requests");
    closing.cancel();
    let ended = timeout(grace, async { while connections.join_next().await.is_some() {} }).await;
    if ended.is_err() {
        let connections = connections.len();
        tracing::warn!(port = name, connections, "the grace period has expired; closing the remaining connections");
    }
    connections.shutdown().await;
    Ok(())
}

/// Returns whether an error affects one connection rather than the listener.
fn is_of_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}
