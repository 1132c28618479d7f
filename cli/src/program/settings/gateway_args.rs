//! The settings of the gateway.

use std::{net::SocketAddr, ops::RangeInclusive, time::Duration};

use clap::Args;
use http::{HeaderValue, Uri};
use http_server::ConnectionLimits;
use rest_gateway::Settings;

use super::units::{ANY_TIME, MAX_COUNT, count, duration, listen_address, size};
use crate::program::Port;

const ANY_SIZE: RangeInclusive<u64> = 1 << 10..=1 << 40;

/// How REST is served.
#[derive(Args, Clone, Debug)]
pub(crate) struct GatewayArgs {
    /// Address of REST; port 0 chooses a free port.
    #[arg(long, env = "COMPLIANCE_REST_ADDR", default_value = "127.0.0.1:8080", value_name = "ADDR",
          value_parser = listen_address)]
    rest_addr: SocketAddr,
    /// Largest request body; a larger one gets 413.
    #[arg(long, env = "COMPLIANCE_BODY_LIMIT", default_value = "32MiB", value_name = "SIZE",
          value_parser = size(ANY_SIZE))]
    body_limit: usize,
    /// Memory of all REST requests together, encoded and decoded. One company gets at most half of what the others leave
    /// free. With the core in this process, --request-memory applies to both.
    #[arg(long, env = "COMPLIANCE_BODY_MEMORY", default_value = "384MiB", value_name = "SIZE",
          value_parser = size(ANY_SIZE))]
    body_memory: usize,
    /// Longest time to receive a request body.
    #[arg(long, env = "COMPLIANCE_BODY_TIMEOUT", default_value = "60s", value_name = "TIME",
          value_parser = duration(ANY_TIME))]
    body_timeout: Duration,
    /// Longest duration of one call of the core.
    #[arg(long, env = "COMPLIANCE_REST_REQUEST_TIMEOUT", default_value = "30s", value_name = "TIME",
          value_parser = duration(ANY_TIME))]
    rest_request_timeout: Duration,
    /// Longest duration of a streamed list.
    #[arg(long, env = "COMPLIANCE_REST_LIST_TIMEOUT", default_value = "10m", value_name = "TIME",
          value_parser = duration(ANY_TIME))]
    rest_list_timeout: Duration,
    /// Longest time to receive the head of a request.
    #[arg(long, env = "COMPLIANCE_REST_HEADER_TIMEOUT", default_value = "30s", value_name = "TIME",
          value_parser = duration(ANY_TIME))]
    rest_header_timeout: Duration,
    /// Longest time that a connection may be idle.
    #[arg(long, env = "COMPLIANCE_REST_IDLE_TIMEOUT", default_value = "60s", value_name = "TIME",
          value_parser = duration(ANY_TIME))]
    rest_idle_timeout: Duration,
    /// Longest time to finish accepted requests at shutdown.
    #[arg(long, env = "COMPLIANCE_REST_SHUTDOWN_GRACE", default_value = "30s", value_name = "TIME",
          value_parser = duration(ANY_TIME))]
    rest_shutdown_grace: Duration,
    /// Longest time that a client may read nothing of a response.
    #[arg(long, env = "COMPLIANCE_REST_WRITE_TIMEOUT", default_value = "30s", value_name = "TIME",
          value_parser = duration(ANY_TIME))]
    rest_write_timeout: Duration,
    /// Maximum number of open connections.
    #[arg(long, env = "COMPLIANCE_REST_MAX_CONNECTIONS", default_value_t = ConnectionLimits::default().max_connections,
          value_name = "N", value_parser = count(1..=MAX_COUNT))]
    rest_max_connections: usize,
    /// Maximum number of open connections from one address [default: half of all]. Behind a proxy, set it to the same
    /// number as --rest-max-connections.
    #[arg(long, env = "COMPLIANCE_REST_MAX_CONNECTIONS_PER_PEER", value_name = "N", value_parser = count(1..=MAX_COUNT))]
    rest_max_connections_per_peer: Option<usize>,
    /// Let several processes serve the same REST address; the system distributes connections among them.
    #[arg(long, env = "COMPLIANCE_REST_REUSE_PORT")]
    rest_reuse_port: bool,
    /// Origin of web pages that may call REST from a browser, such as `https://partner.example`; `*` for any. Several are
    /// separated by commas.
    #[arg(long, env = "COMPLIANCE_CORS_ORIGIN", value_name = "ORIGIN", value_delimiter = ',', value_parser = origin)]
    cors_origin: Vec<HeaderValue>,
    /// Number of connections to each core in another process.
    #[arg(long, env = "COMPLIANCE_CORE_CONNECTIONS", default_value_t = Settings::default().core_connections,
          value_name = "N", value_parser = count(1..=MAX_COUNT))]
    core_connections: usize,
}

impl GatewayArgs {
    /// The address of REST.
    pub(crate) fn address(&self) -> SocketAddr {
        self.rest_addr
    }

    /// Binds the port of REST.
    pub(crate) fn bind(&self) -> anyhow::Result<Port> {
        Port::bind(self.rest_addr, self.rest_reuse_port, "--rest-addr", "COMPLIANCE_REST_ADDR")
    }
}

impl From<&GatewayArgs> for Settings {
    fn from(args: &GatewayArgs) -> Self {
        Self {
            body_limit: args.body_limit,
            body_memory: args.body_memory.max(args.body_limit),
            body_timeout: args.body_timeout,
            request_timeout: args.rest_request_timeout,
            list_timeout: args.rest_list_timeout,
            cors_origins: args.cors_origin.clone(),
            connections: ConnectionLimits {
                max_connections: args.rest_max_connections,
                max_connections_per_peer: args.rest_max_connections_per_peer,
                header_timeout: args.rest_header_timeout,
                idle_timeout: args.rest_idle_timeout,
                write_timeout: args.rest_write_timeout,
                shutdown_grace: args.rest_shutdown_grace,
                ..ConnectionLimits::default()
            },
            core_connections: args.core_connections,
            ..Self::default()
        }
    }
}

/// An origin as browsers send it: scheme, host and port alone.
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

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use rest_gateway::Settings;

    use super::GatewayArgs;

    #[derive(clap::Parser)]
    struct Command {
        #[command(flatten)]
        gateway: GatewayArgs,
    }

    #[test]
    fn the_flags_have_the_defaults_of_the_settings() {
        let args = Command::try_parse_from(["test"]).unwrap().gateway;
        assert_eq!(Settings::from(&args), Settings::default());
    }
}
