//! The limits of a server.

use std::{
    hash::{BuildHasher as _, RandomState},
    time::Duration,
};

use hyper_util::{
    rt::{TokioExecutor, TokioTimer},
    server::conn::auto::Builder,
};

/// Maximum head of an HTTP/1 request, and response buffer of its connection, in bytes.
const HTTP1_BUFFER: usize = 16 << 10;
/// Maximum header list of an HTTP/2 request, in bytes.
const HEADER_LIST: u32 = 32 << 10;
/// Response buffer of one stream, in bytes.
const SEND_BUFFER: usize = 32 << 10;
/// Unread request bodies of one connection, in bytes.
const CONNECTION_WINDOW: u32 = 8 << 20;
/// Streams that the peer opened and reset before they were accepted.
const PENDING_RESETS: usize = 64;
/// Streams that were reset for protocol errors of the peer.
const ERROR_RESETS: usize = 1024;

/// The limits of a server. Other limits are constants of this module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Maximum number of open connections. Further connections wait.
    pub max_connections: usize,
    /// Maximum number of concurrent requests of one HTTP/2 connection.
    pub max_streams: u32,
    /// Longest time until a connection's first request, and of a TLS handshake.
    pub header_timeout: Duration,
    /// Longest time between two requests. Over HTTP/2, a connection without requests may stay open for twice as long.
    pub idle_timeout: Duration,
    /// Longest time that a peer may read nothing of a response.
    pub write_timeout: Duration,
    /// How long a connection takes new requests, plus or minus a tenth. `None`: no limit.
    ///
    /// Requests in flight finish. Clients connect again, so connection balancers choose again.
    pub max_age: Option<Duration>,
    /// How long the port takes new connections after the shutdown has begun. Load balancers notice the shutdown during this time.
    pub shutdown_delay: Duration,
    /// Longest time of accepted requests after the port has closed.
    pub shutdown_grace: Duration,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            max_connections: 10_000,
            max_streams: 256,
            header_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(75),
            write_timeout: Duration::from_secs(30),
            max_age: None,
            shutdown_delay: Duration::ZERO,
            shutdown_grace: Duration::from_secs(30),
        }
    }
}

impl ConnectionLimits {
    /// Returns how long the next connection takes new requests. Connections that begin together end at different times.
    pub(crate) fn age(&self) -> Duration {
        // Nothing depends on the quality of this random number.
        let permille = 900 + RandomState::new().hash_one(()) % 201;
        self.max_age.map_or(Duration::MAX, |age| age.mul_f64(permille as f64 / 1000.0))
    }

    pub(crate) fn builder(&self, http1: bool) -> Builder<TokioExecutor> {
        let mut http = Builder::new(TokioExecutor::new());
        // The time of a head begins when its connection is free for it.
        let head_time = self.idle_timeout;
        http.http1().timer(TokioTimer::new()).header_read_timeout(head_time).max_buf_size(HTTP1_BUFFER);
        http.http2()
            .timer(TokioTimer::new())
            // Without these limits, a peer may open and reset any number of streams.
            .max_concurrent_streams(self.max_streams)
            .max_pending_accept_reset_streams(PENDING_RESETS)
            .max_local_error_reset_streams(ERROR_RESETS)
            .max_header_list_size(HEADER_LIST)
            .max_send_buf_size(SEND_BUFFER)
            .initial_stream_window_size(1 << 20)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_frame_size(64 << 10)
            .keep_alive_interval(Duration::from_secs(20))
            .keep_alive_timeout(Duration::from_secs(10));
        if http1 { http } else { http.http2_only() }
    }
}
