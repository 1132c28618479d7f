//! The settings of the core.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use clap::Args;
use core_server::{CoreSettings, WebhookSettings, access::RateLimit};
use http_server::ConnectionLimits;
use ipnet::IpNet;

use super::units::{ANY_TIME, MAX_COUNT, count, duration, listen_address, size};
use crate::program::{InvalidSetting, Port};

const SECOND: Duration = Duration::from_secs(1);

/// How the core serves.
#[derive(Args, Clone, Debug)]
pub(crate) struct CoreArgs {
    /// Address of gRPC; port 0 chooses a free port.
    #[arg(long, env = "COMPLIANCE_GRPC_ADDR", default_value = "127.0.0.1:50051", value_name = "ADDR",
          value_parser = listen_address)]
    grpc_addr: SocketAddr,
    /// Rate limit of each company, over REST and gRPC together: N/s, N/m or off. The cores behind a gateway divide it among themselves.
    #[arg(long, env = "COMPLIANCE_RATE_LIMIT", default_value = "1000/s", value_name = "LIMIT")]
    rate_limit: RateLimit,
    /// Maximum number of connections to the database.
    #[arg(long, env = "COMPLIANCE_DATABASE_CONNECTIONS", default_value_t = 16, value_name = "N",
          value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub(crate) database_connections: u32,
    /// Maximum number of calls in flight; more are rejected with 503.
    #[arg(long, env = "COMPLIANCE_MAX_IN_FLIGHT", default_value_t = 4096, value_name = "N", value_parser = count(1..=MAX_COUNT))]
    max_in_flight: usize,
    /// Longest duration of a call whose caller sets no shorter deadline.
    #[arg(long, env = "COMPLIANCE_CALL_TIMEOUT", default_value = "30s", value_name = "TIME",
          value_parser = duration(SECOND..=3600 * SECOND))]
    call_timeout: Duration,
    /// Longest duration of a streamed list, including its reader's pauses.
    #[arg(long, env = "COMPLIANCE_LIST_TIMEOUT", default_value = "10m", value_name = "TIME",
          value_parser = duration(SECOND..=86_400 * SECOND))]
    list_timeout: Duration,
    /// Longest duration of a stream of observations.
    #[arg(long, env = "COMPLIANCE_STREAM_TIMEOUT", default_value = "1h", value_name = "TIME",
          value_parser = duration(SECOND..=86_400 * SECOND))]
    stream_timeout: Duration,
    /// Largest size of one gRPC message.
    #[arg(long, env = "COMPLIANCE_MESSAGE_LIMIT", default_value = "64MiB", value_name = "SIZE",
          value_parser = size(1 << 10..=u64::MAX))]
    message_limit: usize,
    /// Largest memory of one gRPC message after decoding.
    #[arg(long, env = "COMPLIANCE_MESSAGE_MEMORY", default_value = "128MiB", value_name = "SIZE",
          value_parser = size(1 << 20..=u64::MAX))]
    message_memory: usize,
    /// Memory of all requests together, encoded and decoded. One company gets at most half of what the others leave free.
    #[arg(long, env = "COMPLIANCE_REQUEST_MEMORY", default_value = "384MiB", value_name = "SIZE",
          value_parser = size(1 << 20..=u64::MAX))]
    request_memory: usize,
    /// On Citus, connect to the coordinator alone, and not to the nodes themselves.
    #[arg(long, env = "COMPLIANCE_COORDINATOR_ONLY")]
    coordinator_only: bool,
    /// How many days changes must be kept: the core does not start if the database keeps them for a shorter time. `compliance migrate
    /// --change-retention` sets how long it keeps them [default: 90], and so does `compliance serve` for its own database.
    #[arg(long, env = "COMPLIANCE_CHANGE_RETENTION", value_name = "DAYS", value_parser = clap::value_parser!(i32).range(1..=36_500))]
    pub(crate) change_retention: Option<i32>,
    /// Maximum number of lists, exports and streams of observations that a company has open.
    #[arg(long, env = "COMPLIANCE_COMPANY_STREAMS", default_value_t = CoreSettings::default().max_streams,
          value_name = "N", value_parser = count(1..=MAX_COUNT))]
    company_streams: usize,
    /// Leave the delivery to webhooks to other cores.
    #[arg(long, env = "COMPLIANCE_NO_WEBHOOK_DELIVERY")]
    no_webhook_delivery: bool,
    /// Networks in which webhooks may be, besides the internet, such as 10.1.0.0/16.
    #[arg(long, env = "COMPLIANCE_WEBHOOK_NETWORKS", value_name = "NETWORK", value_delimiter = ',')]
    webhook_networks: Vec<IpNet>,
    /// PEM file with authorities of webhooks, besides those that the system trusts.
    #[arg(long, env = "COMPLIANCE_WEBHOOK_CA", value_name = "FILE")]
    webhook_ca: Option<PathBuf>,
    /// Longest time to receive the head of a gRPC request, and until the first request of a connection.
    #[arg(long, env = "COMPLIANCE_GRPC_HEADER_TIMEOUT", default_value = "30s", value_name = "TIME",
          value_parser = duration(ANY_TIME))]
    grpc_header_timeout: Duration,
    /// Longest time that a gRPC connection may be idle.
    #[arg(long, env = "COMPLIANCE_GRPC_IDLE_TIMEOUT", default_value = "5m", value_name = "TIME",
          value_parser = duration(ANY_TIME))]
    grpc_idle_timeout: Duration,
    /// Longest time that a gRPC client may read nothing of a response.
    #[arg(long, env = "COMPLIANCE_GRPC_WRITE_TIMEOUT", default_value = "30s", value_name = "TIME",
          value_parser = duration(ANY_TIME))]
    grpc_write_timeout: Duration,
    /// Longest time to finish accepted gRPC calls at shutdown.
    #[arg(long, env = "COMPLIANCE_GRPC_SHUTDOWN_GRACE", default_value = "30s", value_name = "TIME",
          value_parser = duration(ANY_TIME))]
    grpc_shutdown_grace: Duration,
    /// Maximum number of open gRPC connections.
    #[arg(long, env = "COMPLIANCE_GRPC_MAX_CONNECTIONS", default_value_t = ConnectionLimits::default().max_connections,
          value_name = "N", value_parser = count(1..=MAX_COUNT))]
    grpc_max_connections: usize,
    /// Maximum number of open gRPC connections from one address [default: half of all].
    #[arg(long, env = "COMPLIANCE_GRPC_MAX_CONNECTIONS_PER_PEER", value_name = "N", value_parser = count(1..=MAX_COUNT))]
    grpc_max_connections_per_peer: Option<usize>,
    /// Let several processes serve the same gRPC address; the system distributes connections among them.
    #[arg(long, env = "COMPLIANCE_GRPC_REUSE_PORT")]
    grpc_reuse_port: bool,
}

impl CoreArgs {
    /// The address of gRPC.
    pub(crate) fn address(&self) -> SocketAddr {
        self.grpc_addr
    }

    /// Fails if the file of --webhook-ca cannot be used.
    pub(crate) fn check_webhooks(&self) -> Result<(), InvalidSetting> {
        let checked = CoreSettings::from(self).webhooks.check();
        checked.map_err(InvalidSetting::of("--webhook-ca (COMPLIANCE_WEBHOOK_CA)"))
    }

    /// Binds the port of gRPC.
    pub(crate) fn bind(&self) -> anyhow::Result<Port> {
        Port::bind(self.grpc_addr, self.grpc_reuse_port, "--grpc-addr", "COMPLIANCE_GRPC_ADDR")
    }
}

impl From<&CoreArgs> for CoreSettings {
    fn from(args: &CoreArgs) -> Self {
        Self {
            rate_limit: args.rate_limit,
            max_in_flight: args.max_in_flight,
            call_timeout: args.call_timeout,
            list_timeout: args.list_timeout,
            stream_timeout: args.stream_timeout,
            message_limit: args.message_limit,
            message_memory: args.message_memory,
            request_memory: args.request_memory,
            coordinator_only: args.coordinator_only,
            change_retention: args.change_retention,
            change_upkeep: Self::default().change_upkeep,
            max_streams: args.company_streams,
            webhooks: WebhookSettings {
                deliver: !args.no_webhook_delivery,
                networks: args.webhook_networks.clone(),
                ca: args.webhook_ca.clone(),
            },
            connections: ConnectionLimits {
                max_connections: args.grpc_max_connections,
                max_connections_per_peer: args.grpc_max_connections_per_peer,
                header_timeout: args.grpc_header_timeout,
                idle_timeout: args.grpc_idle_timeout,
                write_timeout: args.grpc_write_timeout,
                shutdown_grace: args.grpc_shutdown_grace,
                ..Self::default().connections
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use core_server::CoreSettings;

    use super::CoreArgs;

    #[derive(clap::Parser)]
    struct Command {
        #[command(flatten)]
        core: CoreArgs,
    }

    #[test]
    fn the_flags_have_the_defaults_of_the_settings() {
        let args = Command::try_parse_from(["test"]).unwrap().core;
        assert_eq!(CoreSettings::from(&args), CoreSettings::default());
    }

    #[test]
    fn timeouts_are_seconds_or_have_a_unit() {
        let timeout = |text| {
            let args = Command::try_parse_from(["test", "--call-timeout", text]).unwrap().core;
            CoreSettings::from(&args).call_timeout.as_secs()
        };
        assert_eq!((timeout("45"), timeout("45s"), timeout("2m")), (45, 45, 120));
        for wrong in ["0", "3601", "500ms"] {
            assert!(Command::try_parse_from(["test", "--call-timeout", wrong]).is_err(), "{wrong}");
        }
    }
}
