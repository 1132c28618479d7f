//! The HTTP server: connections within limits of number and time, and an end that fails no accepted request.
//!
//! `axum::serve` would do without timers, and so without limits of time.

mod activity;
mod connection;

use std::{io, sync::Arc, time::Duration};

use axum::Router;
use hyper_util::{
    rt::{TokioExecutor, TokioTimer},
    server::conn::auto::Builder,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, sleep, timeout, timeout_at},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::Settings;

/// How long the connections that the system has already accepted for us are taken up after the end was announced.
const BACKLOG_TIME: Duration = Duration::from_millis(250);
/// Between two of those.
const BACKLOG_PAUSE: Duration = Duration::from_millis(10);
/// How long a connection without a request is kept after the end was announced: a request may be on its way.
const LINGER: Duration = Duration::from_millis(500);
/// When no more connections can be accepted for want of file descriptors, say.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// What every connection shares.
struct Server {
    http: Builder<TokioExecutor>,
    router: Router,
    settings: Settings,
    /// The end is announced: answers say that their connection closes.
    draining: CancellationToken,
    /// Connections without a request close.
    closing: CancellationToken,
    /// All connections close.
    aborting: CancellationToken,
}

/// Serves `router` until `shutdown`, and then until every accepted request is answered or the grace is over.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    settings: &Settings,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let server = Arc::new(Server {
        http: http(settings),
        router,
        settings: settings.clone(),
        draining: shutdown.clone(),
        closing: CancellationToken::new(),
        aborting: CancellationToken::new(),
    });
    let slots = Arc::new(Semaphore::new(settings.max_connections));
    let connections = TaskTracker::new();
    let spawn = |stream: TcpStream, slot: OwnedSemaphorePermit| {
        connections.spawn(connection::run(Arc::clone(&server), stream, slot));
    };

    while let Some(slot) = shutdown.run_until_cancelled(Arc::clone(&slots).acquire_owned()).await {
        let Ok(slot) = slot else { break };
        match shutdown.run_until_cancelled(listener.accept()).await {
            Some(Ok((stream, _))) => spawn(stream, slot),
            Some(Err(error)) if is_of_one_connection(&error) => {}
            Some(Err(error)) => {
                tracing::warn!(%error, "no connection could be accepted");
                sleep(ACCEPT_PAUSE).await;
            }
            None => break,
        }
    }

    tracing::info!(connections = connections.len(), "no new connections; finishing what was accepted");
    let last = Instant::now() + BACKLOG_TIME;
    while let Ok(Ok((stream, _))) = timeout_at(last.min(Instant::now() + BACKLOG_PAUSE), listener.accept()).await {
        if let Ok(slot) = Arc::clone(&slots).try_acquire_owned() {
            spawn(stream, slot);
        }
    }
    drop(listener);
    connections.close();
    if timeout(LINGER, connections.wait()).await.is_err() {
        server.closing.cancel();
        if timeout(settings.shutdown_grace, connections.wait()).await.is_err() {
            tracing::warn!(connections = connections.len(), "the grace is over; closing what is left");
            server.aborting.cancel();
            connections.wait().await;
        }
    }
    Ok(())
}

fn http(settings: &Settings) -> Builder<TokioExecutor> {
    let mut http = Builder::new(TokioExecutor::new());
    http.http1().timer(TokioTimer::new()).header_read_timeout(settings.header_timeout).max_buf_size(256 << 10);
    http.http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(settings.max_streams)
        .max_pending_accept_reset_streams(32)
        .max_local_error_reset_streams(256)
        .max_header_list_size(32 << 10)
        .max_send_buf_size(256 << 10)
        .initial_stream_window_size(1 << 20)
        .initial_connection_window_size(4 << 20)
        .keep_alive_interval(Duration::from_secs(20))
        .keep_alive_timeout(Duration::from_secs(20));
    http
}

/// Whether an error is that of the connection rather than of the listener.
fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}
