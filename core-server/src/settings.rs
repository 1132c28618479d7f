//! Core settings. Each field defines its flag, environment variable, default and bounds.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use clap::Args;
use flags::{ANY_TIME, MAX_COUNT, count, duration, listen_address, size};
use http_server::ConnectionLimits;
use ipnet::IpNet;

use crate::{CompanyLimit, access::RateLimit};

/// Default number of companies with their own metric labels. Each label adds nine series.
const COMPANIES_WITH_METRICS: usize = 200;

const SECOND: Duration = Duration::from_secs(1);
/// Maximum number of concurrent requests on one connection. A client with several streams also makes other calls on the connection.
const STREAMS_PER_CONNECTION: u32 = 1024;

/// Core settings.
#[derive(Args, Clone, Debug)]
pub struct CoreSettings {
    /// Address of the gRPC server; port 0 chooses a free port.
    #[arg(id = "grpc-addr", long, env = "COMPLIANCE_GRPC_ADDR", default_value = "127.0.0.1:50051", value_name = "ADDR",
          value_parser = listen_address)]
    pub address: SocketAddr,
    /// Rate limit per company, across REST and gRPC: N/s, N/m or off. The cores behind a gateway share the limit.
    #[arg(long, env = "COMPLIANCE_RATE_LIMIT", default_value = "1000/s", value_name = "LIMIT")]
    pub rate_limit: RateLimit,
    /// Limit for one company, which overrides the general limit: COMPANY:LIMIT=VALUE, such as 17:rate-limit=200/s. The limits are
    /// rate-limit (N/s, N/m or off) and in-flight. Separate multiple limits with commas, or repeat the flag.
    #[arg(
        id = "company-limit",
        long,
        env = "COMPLIANCE_COMPANY_LIMIT",
        value_name = "COMPANY:LIMIT=VALUE",
        value_delimiter = ','
    )]
    pub company_limits: Vec<CompanyLimit>,
    /// Maximum number of companies with their own metrics; all other companies count together as `other`. Companies with their own limits
    /// come first.
    #[arg(id = "company-metrics", long, env = "COMPLIANCE_COMPANY_METRICS", default_value_t = COMPANIES_WITH_METRICS, value_name = "N",
          value_parser = count(0..=MAX_COUNT))]
    pub company_metrics: usize,
    /// Maximum number of database connections.
    #[arg(long, env = "COMPLIANCE_DATABASE_CONNECTIONS", default_value_t = 16, value_name = "N",
          value_parser = count(2..=1000_u32))]
    pub database_connections: u32,
    /// Maximum number of calls in flight; more are rejected with 503.
    #[arg(long, env = "COMPLIANCE_MAX_IN_FLIGHT", default_value_t = 4096, value_name = "N", value_parser = count(1..=MAX_COUNT))]
    pub max_in_flight: usize,
    /// Maximum duration of a call. Callers can set a shorter deadline.
    #[arg(long, env = "COMPLIANCE_CALL_TIMEOUT", default_value = "30s", value_name = "TIME",
          value_parser = duration(SECOND..=3600 * SECOND))]
    pub call_timeout: Duration,
    /// Maximum duration of a streamed list, including its reader's pauses.
    #[arg(long, env = "COMPLIANCE_LIST_TIMEOUT", default_value = "10m", value_name = "TIME",
          value_parser = duration(SECOND..=86_400 * SECOND))]
    pub list_timeout: Duration,
    /// Maximum duration of an observation stream.
    #[arg(long, env = "COMPLIANCE_STREAM_TIMEOUT", default_value = "1h", value_name = "TIME",
          value_parser = duration(SECOND..=86_400 * SECOND))]
    pub stream_timeout: Duration,
    /// Maximum size of a gRPC message.
    #[arg(long, env = "COMPLIANCE_MESSAGE_LIMIT", default_value = "64MiB", value_name = "SIZE",
          value_parser = size(1 << 10..=u64::MAX))]
    pub message_limit: usize,
    /// Maximum memory for a decoded gRPC message.
    #[arg(long, env = "COMPLIANCE_MESSAGE_MEMORY", default_value = "128MiB", value_name = "SIZE",
          value_parser = size(1 << 20..=u64::MAX))]
    pub message_memory: usize,
    /// Maximum memory for all requests, encoded and decoded. A company can use at most half of it.
    #[arg(long, env = "COMPLIANCE_REQUEST_MEMORY", default_value = "384MiB", value_name = "SIZE",
          value_parser = size(1 << 20..=u64::MAX))]
    pub request_memory: usize,
    /// Minimum number of days that the database must keep changes. If it keeps them for less time, the core does not start.
    /// `compliance migrate --change-retention` sets the retention in the database [default: 90]. `compliance serve` sets it in its own
    /// database.
    #[arg(long, env = "COMPLIANCE_CHANGE_RETENTION", value_name = "DAYS", value_parser = count(1..=36_500))]
    pub change_retention: Option<i32>,
    /// Maximum number of open lists, exports and observation streams per company.
    #[arg(id = "company-streams", long, env = "COMPLIANCE_COMPANY_STREAMS", default_value_t = 64, value_name = "N",
          value_parser = count(1..=MAX_COUNT))]
    pub max_streams: usize,
    /// Webhook delivery.
    #[command(flatten)]
    pub webhooks: WebhookSettings,
    /// Client connection limits.
    #[command(flatten)]
    pub connections: GrpcConnections,
}

/// Webhook delivery settings.
#[derive(Args, Clone, Debug)]
pub struct WebhookSettings {
    /// Do not deliver changes to webhooks from this core; other cores deliver them.
    #[arg(id = "no-webhook-delivery", long, env = "COMPLIANCE_NO_WEBHOOK_DELIVERY")]
    pub no_delivery: bool,
    /// Private networks to allow for webhook endpoints, in addition to the internet, such as 10.1.0.0/16. Separate multiple networks with
    /// commas, or repeat the flag.
    #[arg(
        id = "webhook-networks",
        long,
        env = "COMPLIANCE_WEBHOOK_NETWORKS",
        value_name = "NETWORK",
        value_delimiter = ',',
        value_parser = network
    )]
    pub networks: Vec<IpNet>,
    /// PEM file with the certificate authorities for webhook endpoints, in addition to the system's.
    #[arg(id = "webhook-ca", long, env = "COMPLIANCE_WEBHOOK_CA", value_name = "FILE")]
    pub ca: Option<PathBuf>,
}

/// Parses a network. The parser's error names only the address.
fn network(text: &str) -> Result<IpNet, &'static str> {
    text.parse().map_err(|_| "must be a network with its prefix length, such as 10.1.0.0/16")
}

/// Connection limits for the gRPC port.
#[derive(Args, Clone, Debug)]
pub struct GrpcConnections {
    /// Maximum time to receive the headers of a gRPC connection's first request.
    #[arg(id = "grpc-header-timeout", long, env = "COMPLIANCE_GRPC_HEADER_TIMEOUT", default_value = "30s", value_name = "TIME",
          value_parser = duration(ANY_TIME))]
    pub header_timeout: Duration,
    /// Maximum time between two calls on a gRPC connection.
    #[arg(id = "grpc-idle-timeout", long, env = "COMPLIANCE_GRPC_IDLE_TIMEOUT", default_value = "5m", value_name = "TIME",
          value_parser = duration(ANY_TIME))]
    pub idle_timeout: Duration,
    /// Time after which a gRPC connection accepts no new calls (±10%). Clients then reconnect, so a load balancer can assign them to
    /// other cores. Running calls and streams continue. With 0, connections have no maximum age.
    #[arg(id = "grpc-max-connection-age", long, env = "COMPLIANCE_GRPC_MAX_CONNECTION_AGE", default_value = "30m", value_name = "TIME",
          value_parser = duration(Duration::ZERO..=Duration::from_hours(24)))]
    pub max_connection_age: Duration,
    /// Maximum time that a gRPC client can stall while reading a response.
    #[arg(id = "grpc-write-timeout", long, env = "COMPLIANCE_GRPC_WRITE_TIMEOUT", default_value = "30s", value_name = "TIME",
          value_parser = duration(ANY_TIME))]
    pub write_timeout: Duration,
    /// How long the gRPC port stays open after shutdown begins, so load balancers can notice the shutdown.
    #[arg(id = "grpc-shutdown-delay", long, env = "COMPLIANCE_GRPC_SHUTDOWN_DELAY", default_value = "5s", value_name = "TIME",
          value_parser = duration(Duration::ZERO..=Duration::from_mins(10)))]
    pub shutdown_delay: Duration,
    /// Maximum time to finish accepted gRPC calls after the port has closed.
    #[arg(id = "grpc-shutdown-grace", long, env = "COMPLIANCE_GRPC_SHUTDOWN_GRACE", default_value = "30s", value_name = "TIME",
          value_parser = duration(ANY_TIME))]
    pub shutdown_grace: Duration,
    /// Maximum number of open gRPC connections.
    #[arg(id = "grpc-max-connections", long, env = "COMPLIANCE_GRPC_MAX_CONNECTIONS", default_value_t = 10_000,
          value_name = "N", value_parser = count(1..=MAX_COUNT))]
    pub max_connections: usize,
    /// Allow several processes to serve the same gRPC address; the operating system distributes connections among them.
    #[arg(id = "grpc-reuse-port", long, env = "COMPLIANCE_GRPC_REUSE_PORT")]
    pub reuse_port: bool,
}

impl Default for CoreSettings {
    fn default() -> Self {
        flags::defaults()
    }
}

impl From<&GrpcConnections> for ConnectionLimits {
    fn from(settings: &GrpcConnections) -> Self {
        Self {
            max_connections: settings.max_connections,
            max_streams: STREAMS_PER_CONNECTION,
            header_timeout: settings.header_timeout,
            idle_timeout: settings.idle_timeout,
            write_timeout: settings.write_timeout,
            max_age: Some(settings.max_connection_age).filter(|age| !age.is_zero()),
            shutdown_delay: settings.shutdown_delay,
            shutdown_grace: settings.shutdown_grace,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::CoreSettings;

    #[derive(clap::Parser)]
    struct Command {
        #[command(flatten)]
        core: CoreSettings,
    }

    #[test]
    fn timeouts_accept_plain_seconds_or_units() {
        let timeout =
            |text| Command::try_parse_from(["test", "--call-timeout", text]).unwrap().core.call_timeout.as_secs();
        assert_eq!((timeout("45"), timeout("45s"), timeout("2m")), (45, 45, 120));
        for wrong in ["0", "3601", "500ms"] {
            assert!(Command::try_parse_from(["test", "--call-timeout", wrong]).is_err(), "{wrong}");
        }
    }
}
