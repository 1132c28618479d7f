//! The settings of the core.

use std::{net::SocketAddr, time::Duration};

use clap::Args;
use core_server::{CoreSettings, access::RateLimit};

use super::units::{duration, size};
use crate::Port;

const SECOND: Duration = Duration::from_secs(1);

/// How the core serves.
#[derive(Args, Clone, Debug)]
pub struct CoreArgs {
    /// Address that gRPC is served at; port 0 takes a free one.
    #[arg(long, env = "COMPLIANCE_GRPC_ADDR", default_value = "127.0.0.1:50051", value_name = "ADDR")]
    grpc_addr: SocketAddr,
    /// Requests that a company may make: N/s, N/m or off.
    #[arg(long, env = "COMPLIANCE_RATE_LIMIT", default_value = "1000/s", value_name = "LIMIT")]
    rate_limit: RateLimit,
    /// Connections to the database, at most.
    #[arg(long, env = "COMPLIANCE_DATABASE_CONNECTIONS", default_value_t = 16, value_name = "N",
          value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub database_connections: u32,
    /// Calls in flight, at most; more are refused as overload.
    #[arg(long, env = "COMPLIANCE_MAX_IN_FLIGHT", default_value_t = 4096, value_name = "N")]
    max_in_flight: usize,
    /// Time that a call may take when its caller sets no shorter deadline.
    #[arg(long, env = "COMPLIANCE_CALL_TIMEOUT", default_value = "30s", value_name = "TIME",
          value_parser = duration(SECOND..=3600 * SECOND))]
    call_timeout: Duration,
    /// Time that a whole streamed list may take, its reader's pauses included.
    #[arg(long, env = "COMPLIANCE_LIST_TIMEOUT", default_value = "10m", value_name = "TIME",
          value_parser = duration(SECOND..=86_400 * SECOND))]
    list_timeout: Duration,
    /// Size of one gRPC message, at most.
    #[arg(long, env = "COMPLIANCE_MESSAGE_LIMIT", default_value = "64MiB", value_name = "SIZE",
          value_parser = size(0..=u64::MAX))]
    message_limit: usize,
}

impl CoreArgs {
    /// Binds the port of gRPC.
    pub fn bind(&self) -> anyhow::Result<Port> {
        Port::bind(self.grpc_addr, "--grpc-addr", "COMPLIANCE_GRPC_ADDR")
    }
}

impl From<&CoreArgs> for CoreSettings {
    fn from(args: &CoreArgs) -> Self {
        Self {
            rate_limit: args.rate_limit,
            max_in_flight: args.max_in_flight,
            call_timeout: args.call_timeout,
            list_timeout: args.list_timeout,
            message_limit: args.message_limit,
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
