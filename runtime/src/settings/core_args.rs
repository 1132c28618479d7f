//! The settings of the core.

use std::{net::SocketAddr, ops::RangeInclusive, time::Duration};

use clap::Args;
use core_server::{CoreSettings, access::RateLimit};
use http_server::Limits;

use super::{
    listen::listen_address,
    units::{count, duration, size},
};
use crate::Port;

const SECOND: Duration = Duration::from_secs(1);
/// The largest number that a limit may be.
const MAX_COUNT: usize = 1 << 30;
const ANY_TIME: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_hours(24);

/// How the core serves.
#[derive(Args, Clone, Debug)]
pub struct CoreArgs {
    /// Address that gRPC is served at; port 0 takes a free one.
    #[arg(long, env = "COMPLIANCE_GRPC_ADDR", default_value = "127.0.0.1:50051", value_name = "ADDR",
          value_parser = listen_address)]
    grpc_addr: SocketAddr,
    /// Requests that a company may make: N/s, N/m or off.
    #[arg(long, env = "COMPLIANCE_RATE_LIMIT", default_value = "1000/s", value_name = "LIMIT")]
    rate_limit: RateLimit,
    /// Connections to the database, at most.
    #[arg(long, env = "COMPLIANCE_DATABASE_CONNECTIONS", default_value_t = 16, value_name = "N",
          value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub database_connections: u32,
    /// Calls in flight, at most; more are refused as overload.
    #[arg(long, env = "COMPLIANCE_MAX_IN_FLIGHT", default_value_t = 4096, value_name = "N", value_parser = count(1..=MAX_COUNT))]
    max_in_flight: usize,
    /// Time that a call may take when its caller sets no shorter deadline.
    #[arg(long, env = "COMPLIANCE_CALL_TIMEOUT", default_value = "30s", value_name = "TIME",
          value_parser = duration(SECOND..=3600 * SECOND))]
    call_timeout: Duration,
    /// Time that a whole streamed list may take, its reader's pauses included.
    #[arg(long, env = "COMPLIANCE_LIST_TIMEOUT", default_value = "10m", value_name = "TIME",
          value_parser = duration(SECOND..=86_400 * SECOND))]
    list_timeout: Duration,
    /// Time that a stream of observations may take.
    #[arg(long, env = "COMPLIANCE_STREAM_TIMEOUT", default_value = "1h", value_name = "TIME",
          value_parser = duration(SECOND..=86_400 * SECOND))]
    stream_timeout: Duration,
    /// Size of one gRPC message, at most.
    #[arg(long, env = "COMPLIANCE_MESSAGE_LIMIT", default_value = "64MiB", value_name = "SIZE",
          value_parser = size(0..=u64::MAX))]
    message_limit: usize,
    /// Memory that one gRPC message may take once it is decoded.
    #[arg(long, env = "COMPLIANCE_MESSAGE_MEMORY", default_value = "128MiB", value_name = "SIZE",
          value_parser = size(1 << 20..=u64::MAX))]
    message_memory: usize,
    /// Memory that requests may take together, encoded and decoded; half of it those of one company.
    #[arg(long, env = "COMPLIANCE_REQUEST_MEMORY", default_value = "384MiB", value_name = "SIZE",
          value_parser = size(1 << 20..=u64::MAX))]
    request_memory: usize,
    /// Lists, exports and streams of observations that a company may have open.
    #[arg(long, env = "COMPLIANCE_COMPANY_STREAMS", default_value_t = CoreSettings::default().max_streams,
          value_name = "N", value_parser = count(1..=MAX_COUNT))]
    company_streams: usize,
    /// Time that the head of a gRPC request may take, and the first request of a connection.
    #[arg(long, env = "COMPLIANCE_GRPC_HEADER_TIMEOUT", default_value = "30s", value_name = "TIME",
          value_parser = duration(ANY_TIME))]
    grpc_header_timeout: Duration,
    /// Time that a gRPC connection may stay without a request.
    #[arg(long, env = "COMPLIANCE_GRPC_IDLE_TIMEOUT", default_value = "5m", value_name = "TIME",
          value_parser = duration(ANY_TIME))]
    grpc_idle_timeout: Duration,
    /// Time that a gRPC client may read nothing while a response is sent to it.
    #[arg(long, env = "COMPLIANCE_GRPC_WRITE_TIMEOUT", default_value = "30s", value_name = "TIME",
          value_parser = duration(ANY_TIME))]
    grpc_write_timeout: Duration,
    /// Time that accepted gRPC calls may take after shutdown was requested.
    #[arg(long, env = "COMPLIANCE_GRPC_SHUTDOWN_GRACE", default_value = "30s", value_name = "TIME",
          value_parser = duration(ANY_TIME))]
    grpc_shutdown_grace: Duration,
    /// Open gRPC connections, at most.
    #[arg(long, env = "COMPLIANCE_GRPC_MAX_CONNECTIONS", default_value_t = Limits::default().max_connections,
          value_name = "N", value_parser = count(1..=MAX_COUNT))]
    grpc_max_connections: usize,
    /// Open gRPC connections of one address, at most; the default is half of all.
    #[arg(long, env = "COMPLIANCE_GRPC_MAX_CONNECTIONS_PER_PEER", value_name = "N", value_parser = count(1..=MAX_COUNT))]
    grpc_max_connections_per_peer: Option<usize>,
    /// Let several processes serve the same gRPC address, each with its share of the connections.
    #[arg(long, env = "COMPLIANCE_GRPC_REUSE_PORT")]
    grpc_reuse_port: bool,
}

impl CoreArgs {
    /// Binds the port of gRPC.
    pub fn bind(&self) -> anyhow::Result<Port> {
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
            max_streams: args.company_streams,
            connections: Limits {
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
