//! The limits of a server.

use std::{
    hash::{BuildHasher as _, RandomState},
    time::Duration,
};

use hyper_util::{
    rt::{TokioExecutor, TokioTimer},
    server::conn::auto::Builder,
};

/// Connections beyond the limit that may only ask for health.
pub const HEALTH_CONNECTIONS: usize = 16;
/// How many of them one peer may have.
pub(crate) const HEALTH_CONNECTIONS_PER_PEER: usize = 4;
/// How long each of them stays open.
pub(crate) const HEALTH_CONNECTION_TIME: Duration = Duration::from_secs(3);
/// How long a request on one of them waits for an ordinary permit.
pub(crate) const PERMIT_WAIT: Duration = Duration::from_secs(1);
/// Bytes that an HTTP/2 connection may send while it has no request: pings, settings and the like, and the rest of the bodies
/// of requests that were refused, which its window bounds.
pub(crate) const MAX_BYTES_WITHOUT_REQUEST: u64 = 2 * CONNECTION_WINDOW as u64;
/// From this number of cancelled requests on, a connection that cancels more than half of its requests is closed.
pub(crate) const MAX_CANCELLED: u64 = 500;
/// A request that is cancelled after this time was of use to its client.
pub(crate) const EARLY: Duration = Duration::from_secs(1);

/// The largest head of an HTTP/1 request, and what one of its connections buffers of a response beyond one piece.
const HTTP1_BUFFER: usize = 16 << 10;
/// The largest header list of an HTTP/2 request.
const HEADER_LIST: u32 = 32 << 10;
/// What one stream buffers of its response beyond the piece that is being sent.
const SEND_BUFFER: usize = 32 << 10;
/// How much of the bodies of requests a connection takes before it is read.
const CONNECTION_WINDOW: u32 = 8 << 20;
/// Streams that the peer has opened and reset before they were accepted.
const PENDING_RESETS: usize = 64;
/// Streams that were reset because the peer broke the protocol.
const ERROR_RESETS: usize = 1024;

/// The limits of a server. What they leave open is a constant of this module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Connections that are open at once. Further ones wait; a few are accepted and may only ask for health.
    pub max_connections: usize,
    /// Those of one address (of an IPv6 network of 64 bits); further ones may only ask for health. `None`: half of all.
    pub max_connections_per_peer: Option<usize>,
    /// Requests of one HTTP/2 connection that run at once.
    pub max_streams: u32,
    /// How long the head of a request may take. On HTTP/1 it counts from when the connection is free for it, so that
    /// the first byte and a connection that is kept alive have the same time.
    pub header_timeout: Duration,
    /// How long a connection may stay without a request.
    pub idle_timeout: Duration,
    /// How long a peer may read nothing while something is to be sent to it. It is checked at half of this interval.
    pub write_timeout: Duration,
    /// How long a connection takes new requests, give or take a tenth: clients connect again, and balancers of connections choose
    /// again. Its requests and streams go on to their own end. `None`: for ever.
    pub max_age: Option<Duration>,
    /// How long accepted requests may take after a shutdown has begun.
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
    /// How long the next connection takes new requests: connections that were opened together do not end together.
    pub(crate) fn age(&self) -> Option<Duration> {
        // Nothing is protected by this number.
        let permille = 900 + RandomState::new().hash_one(()) % 201;
        self.max_age.map(|age| age.mul_f64(permille as f64 / 1000.0))
    }

    pub(crate) fn builder(&self, http1: bool) -> Builder<TokioExecutor> {
        let mut http = Builder::new(TokioExecutor::new());
        http.http1().timer(TokioTimer::new()).header_read_timeout(self.header_timeout).max_buf_size(HTTP1_BUFFER);
        http.http2()
            .timer(TokioTimer::new())
            // Without these a peer may open and reset any number of streams.
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
