//! The limits of a server.

use std::{
    hash::{BuildHasher as _, RandomState},
    time::Duration,
};

use hyper_util::{
    rt::{TokioExecutor, TokioTimer},
    server::conn::auto::Builder,
};

/// Connections beyond the limit, for health checks only.
pub const HEALTH_CONNECTIONS: usize = 16;
/// Health connections of one peer.
pub(crate) const HEALTH_CONNECTIONS_PER_PEER: usize = 4;
/// How long a health connection stays open.
pub(crate) const HEALTH_CONNECTION_TIME: Duration = Duration::from_secs(3);
/// How long a request on a health connection waits for an ordinary permit.
pub(crate) const PERMIT_WAIT: Duration = Duration::from_secs(1);
/// Bytes that an HTTP/2 connection may send without a request: pings, settings, and the rest of refused bodies, up to the window.
pub(crate) const MAX_BYTES_WITHOUT_REQUEST: u64 = 2 * CONNECTION_WINDOW as u64;
/// Minimum number of cancelled requests for which a connection that cancels most of its requests is closed.
pub(crate) const MAX_CANCELLED: u64 = 500;
/// A request that is cancelled after this time was useful to its client.
pub(crate) const EARLY: Duration = Duration::from_secs(1);

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
    /// Maximum number of open connections. Further connections wait, except a few for health checks.
    pub max_connections: usize,
    /// Maximum number of connections of one peer; `None`: half of all.
    ///
    /// A peer is an IPv4 address, or an IPv6 network of 64 bits.
    pub max_connections_per_peer: Option<usize>,
    /// Maximum number of concurrent requests of one HTTP/2 connection.
    pub max_streams: u32,
    /// Longest time to receive the head of a request. On HTTP/1, the time begins when the connection is free for it.
    pub header_timeout: Duration,
    /// Longest time of a connection without a request.
    pub idle_timeout: Duration,
    /// Longest time that a peer may read nothing of a response. It is checked at half of this interval.
    pub write_timeout: Duration,
    /// How long a connection takes new requests, plus or minus a tenth. `None`: no limit.
    ///
    /// Requests in flight finish. Clients connect again, so connection balancers choose again.
    pub max_age: Option<Duration>,
    /// Longest time of accepted requests after the shutdown has begun.
    pub shutdown_grace: Duration,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            max_connections: 10_000,
            max_connections_per_peer: None,
            max_streams: 256,
            header_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(75),
            write_timeout: Duration::from_secs(30),
            max_age: None,
            shutdown_grace: Duration::from_secs(30),
        }
    }
}

impl ConnectionLimits {
    /// Returns how long the next connection takes new requests. Connections that begin together end at different times.
    pub(crate) fn age(&self) -> Option<Duration> {
        // Nothing depends on the quality of this random number.
        let permille = 900 + RandomState::new().hash_one(()) % 201;
        self.max_age.map(|age| age.mul_f64(permille as f64 / 1000.0))
    }

    pub(crate) fn builder(&self, http1: bool) -> Builder<TokioExecutor> {
        let mut http = Builder::new(TokioExecutor::new());
        http.http1().timer(TokioTimer::new()).header_read_timeout(self.header_timeout).max_buf_size(HTTP1_BUFFER);
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
