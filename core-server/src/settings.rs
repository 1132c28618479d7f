//! Settings of the core.

use std::{path::PathBuf, time::Duration};

use http_server::ConnectionLimits;
use ipnet::IpNet;

use crate::{access::RateLimit, limits::CHANGE_UPKEEP};

/// Limits of the core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreSettings {
    /// Requests that a company may make.
    pub rate_limit: RateLimit,
    /// Calls in flight, at most; more are refused as overload.
    pub max_in_flight: usize,
    /// How long a call may take when its caller sets no shorter deadline.
    pub call_timeout: Duration,
    /// How long a whole streamed list may take, its reader's pauses included.
    pub list_timeout: Duration,
    /// How long a stream of observations may take.
    pub stream_timeout: Duration,
    /// Size of one message, at most, in bytes.
    pub message_limit: usize,
    /// Limits of clients' connections.
    pub connections: ConnectionLimits,
    /// What one message may take in memory once it is decoded, in bytes.
    pub message_memory: usize,
    /// What requests may take in memory at the same time, in bytes: encoded and decoded, until their responses are sent.
    pub request_memory: usize,
    /// Whether statements reach the nodes of Citus through the coordinator only.
    pub coordinator_only: bool,
    /// How long changes must be kept, in days: the owner of the schema keeps them at least as long.
    pub change_retention: Option<i32>,
    /// How often months of changes are made and dropped.
    pub change_upkeep: Duration,
    /// Streams that a company may have open: lists, exports and streams of observations.
    pub max_streams: usize,
    /// The delivery to webhooks.
    pub webhooks: WebhookSettings,
}

/// How changes are delivered to webhooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookSettings {
    /// Whether this core delivers.
    pub deliver: bool,
    /// Networks that endpoints may be in, besides the internet.
    pub networks: Vec<IpNet>,
    /// PEM file with authorities of endpoints, besides those that the system trusts.
    pub ca: Option<PathBuf>,
}

impl Default for CoreSettings {
    fn default() -> Self {
        Self {
            rate_limit: RateLimit::default(),
            max_in_flight: 4096,
            call_timeout: Duration::from_secs(30),
            list_timeout: Duration::from_mins(10),
            stream_timeout: Duration::from_hours(1),
            message_limit: 64 << 20,
            // A client with several streams of observations makes other calls on the same connection.
            connections: ConnectionLimits {
                max_streams: 1024,
                idle_timeout: Duration::from_mins(5),
                ..ConnectionLimits::default()
            },
            message_memory: 128 << 20,
            request_memory: 384 << 20,
            coordinator_only: false,
            change_retention: None,
            change_upkeep: CHANGE_UPKEEP,
            max_streams: 64,
            webhooks: WebhookSettings { deliver: true, networks: Vec::new(), ca: None },
        }
    }
}
