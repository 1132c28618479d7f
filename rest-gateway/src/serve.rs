//! The HTTP server: limits on the number and duration of connections, and a shutdown that fails no accepted request.
//!
//! `axum::serve` installs no timer, so its connections have no time limits.

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
use connection::Server;

/// How long connections in the listener's backlog are still accepted after the shutdown has begun.
const BACKLOG_TIME: Duration = Duration::from_millis(250);
/// The backlog counts as empty when no connection arrives for this long.
const BACKLOG_PAUSE: Duration = Duration::from_millis(10);
/// How long a connection without a request stays open after the shutdown has begun: the client may have sent one already.
const LINGER: Duration = Duration::from_millis(500);
/// The pause after a failed accept, for example when the process has no file descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves `router` until `shutdown` is cancelled, then until every accepted request has its response or the grace period
/// is over.
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
    let permits = Arc::new(Semaphore::new(settings.max_connections));
    let connections = TaskTracker::new();
    let spawn = |stream: TcpStream, permit: OwnedSemaphorePermit| {
        connections.spawn(connection::run(Arc::clone(&server), stream, permit));
    };

    while let Some(permit) = shutdown.run_until_cancelled(Arc::clone(&permits).acquire_owned()).await {
        let Ok(permit) = permit else { break };
        match shutdown.run_until_cancelled(listener.accept()).await {
            Some(Ok((stream, _))) => spawn(stream, permit),
            Some(Err(error)) if concerns_one_connection(&error) => {}
            Some(Err(error)) => {
                tracing::warn!(%error, "a connection could not be accepted");
                sleep(ACCEPT_PAUSE).await;
            }
            None => break,
        }
    }

    tracing::info!(connections = connections.len(), "accepting no new connections; finishing accepted requests");
    let backlog_end = Instant::now() + BACKLOG_TIME;
    while let Ok(Ok((stream, _))) = timeout_at(backlog_end.min(Instant::now() + BACKLOG_PAUSE), listener.accept()).await
    {
        if let Ok(permit) = Arc::clone(&permits).try_acquire_owned() {
            spawn(stream, permit);
        }
    }
    drop(listener);
    connections.close();
    if timeout(LINGER, connections.wait()).await.is_err() {
        server.closing.cancel();
        if timeout(settings.shutdown_grace, connections.wait()).await.is_err() {
            tracing::warn!(
                connections = connections.len(),
                "the grace period is over; closing the remaining connections"
            );
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

/// Whether an error concerns one connection rather than the listener.
fn concerns_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}
