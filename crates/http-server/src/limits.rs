//! Server limits.

use std::{
    hash::{BuildHasher as _, RandomState},
    time::Duration,
};

use hyper_util::{
    rt::{TokioExecutor, TokioTimer},
    server::conn::auto::Builder,
};

/// Maximum size of an HTTP/1 request head and of the response buffer, in bytes.
const HTTP1_BUFFER: usize = 16 << 10;
/// Maximum size of an HTTP/2 header list, in bytes.
const HEADER_LIST: u32 = 32 << 10;
/// Response buffer per stream, in bytes.
const SEND_BUFFER: usize = 32 << 10;
/// Maximum unread request data per connection, in bytes.
const CONNECTION_WINDOW: u32 = 8 << 20;
/// Maximum number of streams that the peer reset before they were accepted.
const PENDING_RESETS: usize = 64;
/// Maximum number of streams reset because of the peer's protocol errors.
const ERROR_RESETS: usize = 1024;

/// Configurable limits of a server. Fixed limits are constants in this module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Maximum number of open connections. Additional connections wait.
    pub max_connections: usize,
    /// Maximum number of concurrent requests per HTTP/2 connection.
    pub max_streams: u32,
    /// Maximum time for a TLS handshake, and until a connection's first request.
    pub header_timeout: Duration,
    /// Maximum time between two requests. An HTTP/2 connection without requests may stay open for twice as long.
    pub idle_timeout: Duration,
    /// Maximum time a peer may stall while reading a response.
    pub write_timeout: Duration,
    /// How long a connection accepts new requests, plus or minus a tenth. `None` means no limit.
    ///
    /// Requests in flight finish. Clients then reconnect, so a load balancer can assign them to another instance.
    pub max_age: Option<Duration>,
    /// How long the port accepts connections after shutdown begins, to give load balancers time to notice.
    pub shutdown_delay: Duration,
    /// Maximum time for accepted requests to finish after the port closes.
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
    /// Returns how long the next connection accepts requests. Random jitter keeps connections from closing together.
    pub(crate) fn age(&self) -> Duration {
        // The jitter does not need high-quality randomness.
        let permille = 900 + RandomState::new().hash_one(()) % 201;
        self.max_age.map_or(Duration::MAX, |age| age.mul_f64(permille as f64 / 1000.0))
    }

    pub(crate) fn builder(&self, http1: bool) -> Builder<TokioExecutor> {
        let mut http = Builder::new(TokioExecutor::new());
        // The header timeout starts when the connection becomes free for the next request.
        let head_time = self.idle_timeout;
        http.http1().timer(TokioTimer::new()).header_read_timeout(head_time).max_buf_size(HTTP1_BUFFER);
        http.http2()
            .timer(TokioTimer::new())
            // Without these limits, a peer could open and reset any number of streams.
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
