//! Gateway settings. Each field declares its flag, variable, default and bounds.

use std::{net::SocketAddr, ops::RangeInclusive, time::Duration};

use clap::Args;
use flags::{ANY_TIME, MAX_COUNT, count, duration, listen_address, size};
use http::{HeaderValue, Uri};
use http_server::ConnectionLimits;
use tls::ClientTls;

use crate::sign_in::ConsoleSignIn;

const MIB: usize = 1 << 20;
const ANY_SIZE: RangeInclusive<u64> = 1 << 10..=1 << 40;
/// Maximum time to connect to a core.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// Settings of the REST server.
#[derive(Args, Clone, Debug)]
pub struct Settings {
    /// Address of the REST server; port 0 chooses a free port.
    #[arg(id = "rest-addr", long, env = "COMPLIANCE_REST_ADDR", default_value = "127.0.0.1:8080", value_name = "ADDR",
          value_parser = listen_address)]
    pub address: SocketAddr,
    /// Maximum size of a request body; a larger body is rejected with 413.
    #[arg(long, env = "COMPLIANCE_BODY_LIMIT", default_value = "32MiB", value_name = "SIZE",
          value_parser = size(ANY_SIZE))]
    pub body_limit: usize,
    /// Maximum memory for all REST requests, encoded and decoded. A company can use at most half of it. If the core runs in the same
    /// process, --request-memory covers both tiers instead.
    #[arg(long, env = "COMPLIANCE_BODY_MEMORY", default_value = "384MiB", value_name = "SIZE",
          value_parser = size(ANY_SIZE))]
    pub body_memory: usize,
    /// Maximum time to receive a request body.
    #[arg(long, env = "COMPLIANCE_BODY_TIMEOUT", default_value = "60s", value_name = "TIME",
          value_parser = duration(ANY_TIME))]
    pub body_timeout: Duration,
    /// Maximum duration of a call to the core.
    #[arg(id = "rest-request-timeout", long, env = "COMPLIANCE_REST_REQUEST_TIMEOUT", default_value = "30s", value_name = "TIME",
          value_parser = duration(ANY_TIME))]
    pub request_timeout: Duration,
    /// Maximum duration of a streamed list.
    #[arg(id = "rest-list-timeout", long, env = "COMPLIANCE_REST_LIST_TIMEOUT", default_value = "10m", value_name = "TIME",
          value_parser = duration(ANY_TIME))]
    pub list_timeout: Duration,
    /// Limits of client connections.
    #[command(flatten)]
    pub connections: RestConnections,
    /// Origin of web pages that can call the REST API from a browser, such as `https://partner.example`; `*` allows any. Separate multiple
    /// origins with commas.
    #[arg(id = "cors-origin", long, env = "COMPLIANCE_CORS_ORIGIN", value_name = "ORIGIN", value_delimiter = ',', value_parser = origin)]
    pub cors_origins: Vec<HeaderValue>,
    /// How officers sign in to the console.
    #[command(flatten)]
    pub console: ConsoleSignIn,
    /// Number of connections to each core in another process.
    #[arg(long, env = "COMPLIANCE_CORE_CONNECTIONS", default_value_t = 2, value_name = "N", value_parser = count(1..=MAX_COUNT))]
    pub core_connections: usize,
    /// Maximum time to connect to a core.
    #[arg(skip = CONNECT_TIMEOUT)]
    pub connect_timeout: Duration,
    /// Certificates for connections to cores at `https` addresses.
    #[arg(skip)]
    pub core_tls: Option<ClientTls>,
}

/// Limits of connections to the REST port.
#[derive(Args, Clone, Debug)]
pub struct RestConnections {
    /// Maximum time to receive the headers of a connection's first request.
    #[arg(id = "rest-header-timeout", long, env = "COMPLIANCE_REST_HEADER_TIMEOUT", default_value = "30s", value_name = "TIME",
          value_parser = duration(ANY_TIME))]
    pub header_timeout: Duration,
    /// Maximum time between two requests on a connection. A load balancer in front must close idle connections earlier. AWS ALB closes them after
    /// 60s, so the default works. Google Cloud closes them after 600s, so set 620s.
    #[arg(id = "rest-idle-timeout", long, env = "COMPLIANCE_REST_IDLE_TIMEOUT", default_value = "75s", value_name = "TIME",
          value_parser = duration(ANY_TIME))]
    pub idle_timeout: Duration,
    /// How long the REST port stays open after shutdown begins, so load balancers can notice the shutdown.
    #[arg(id = "rest-shutdown-delay", long, env = "COMPLIANCE_REST_SHUTDOWN_DELAY", default_value = "5s", value_name = "TIME",
          value_parser = duration(Duration::ZERO..=Duration::from_mins(10)))]
    pub shutdown_delay: Duration,
    /// Maximum time to finish accepted requests after the port has closed.
    #[arg(id = "rest-shutdown-grace", long, env = "COMPLIANCE_REST_SHUTDOWN_GRACE", default_value = "30s", value_name = "TIME",
          value_parser = duration(ANY_TIME))]
    pub shutdown_grace: Duration,
    /// Maximum time that a client can stall while reading a response.
    #[arg(id = "rest-write-timeout", long, env = "COMPLIANCE_REST_WRITE_TIMEOUT", default_value = "30s", value_name = "TIME",
          value_parser = duration(ANY_TIME))]
    pub write_timeout: Duration,
    /// Maximum number of open connections.
    #[arg(id = "rest-max-connections", long, env = "COMPLIANCE_REST_MAX_CONNECTIONS", default_value_t = 10_000,
          value_name = "N", value_parser = count(1..=MAX_COUNT))]
    pub max_connections: usize,
    /// Allow several processes to serve the same REST address; the operating system distributes connections among them.
    #[arg(id = "rest-reuse-port", long, env = "COMPLIANCE_REST_REUSE_PORT")]
    pub reuse_port: bool,
}

impl Default for Settings {
    fn default() -> Self {
        flags::defaults()
    }
}

impl Default for RestConnections {
    fn default() -> Self {
        flags::defaults()
    }
}

impl From<&RestConnections> for ConnectionLimits {
    fn from(settings: &RestConnections) -> Self {
        Self {
            max_connections: settings.max_connections,
            header_timeout: settings.header_timeout,
            idle_timeout: settings.idle_timeout,
            write_timeout: settings.write_timeout,
            shutdown_delay: settings.shutdown_delay,
            shutdown_grace: settings.shutdown_grace,
            ..Self::default()
        }
    }
}

impl Settings {
    /// Returns the memory for all requests, in bytes: at least one body of maximum size.
    pub(crate) fn memory(&self) -> usize {
        self.body_memory.max(self.body_limit)
    }

    /// Returns the maximum size of a message to or from the core, in bytes. A result can be longer than its item.
    pub(crate) fn message_limit(&self) -> usize {
        self.body_limit.saturating_mul(8).max(64 * MIB)
    }

    /// Returns the maximum memory for one request's message, in bytes.
    ///
    /// Short JSON items become large records, so the body limit alone does not limit the memory.
    pub(crate) fn message_memory(&self) -> usize {
        self.body_limit.saturating_mul(16).min(128 * MIB)
    }
}

/// Parses an origin as browsers send it: scheme, host and port only.
fn origin(text: &str) -> Result<HeaderValue, String> {
    let allowed = "must be * or scheme://host[:port], such as https://partner.example";
    let is_origin = |url: Uri| {
        let scheme_and_host = url.scheme_str().zip(url.authority());
        scheme_and_host.is_some_and(|(scheme, host)| text == format!("{scheme}://{host}"))
    };
    if text != "*" && !text.parse().is_ok_and(is_origin) {
        return Err(allowed.to_owned());
    }
    HeaderValue::from_str(text).map_err(|_| allowed.to_owned())
}
