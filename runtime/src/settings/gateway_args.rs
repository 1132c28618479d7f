//! The settings of the gateway.

use std::{net::SocketAddr, ops::RangeInclusive, time::Duration};

use clap::Args;
use http::{HeaderValue, Uri};
use http_server::Limits;
use rest_gateway::Settings;

use super::{
    listen::listen_address,
    units::{count, duration, size},
};
use crate::Port;

/// The largest number that a limit may be.
const MAX_COUNT: usize = 1 << 30;
const ANY_TIME: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_hours(24);
const ANY_SIZE: RangeInclusive<u64> = 1 << 10..=1 << 40;

/// How REST is served.
#[derive(Args, Clone, Debug)]
pub struct GatewayArgs {
    /// Address that REST is served at; port 0 takes a free one.
    #[arg(long, env = "COMPLIANCE_REST_ADDR", default_value = "127.0.0.1:8080", value_name = "ADDR",
          value_parser = listen_address)]
    rest_addr: SocketAddr,
    /// Largest request body (`32MiB`, `500KiB`, bytes).
    #[arg(long, env = "COMPLIANCE_BODY_LIMIT", default_value = "32MiB", value_name = "SIZE",
          value_parser = size(ANY_SIZE))]
    body_limit: usize,
    /// Memory that REST requests may take together, with what is made of them; half of it those of one company. With the
    /// core in this process, --request-memory counts for both.
    #[arg(long, env = "COMPLIANCE_BODY_MEMORY", default_value = "384MiB", value_name = "SIZE",
          value_parser = size(ANY_SIZE))]
    body_memory: usize,
    /// Time that a request body may take to arrive (`60s`, `5m`, `500ms`).
    #[arg(long, env = "COMPLIANCE_BODY_TIMEOUT", default_value = "60s", value_name = "TIME",
          value_parser = duration(ANY_TIME))]
    body_timeout: Duration,
    /// Time that one call of the core may take.
    #[arg(long, env = "COMPLIANCE_REST_REQUEST_TIMEOUT", default_value = "30s", value_name = "TIME",
          value_parser = duration(ANY_TIME))]
    rest_request_timeout: Duration,
    /// Time that a whole streamed list may take.
    #[arg(long, env = "COMPLIANCE_REST_LIST_TIMEOUT", default_value = "10m", value_name = "TIME",
          value_parser = duration(ANY_TIME))]
    rest_list_timeout: Duration,
    /// Time that the head of a request may take.
    #[arg(long, env = "COMPLIANCE_REST_HEADER_TIMEOUT", default_value = "30s", value_name = "TIME",
          value_parser = duration(ANY_TIME))]
    rest_header_timeout: Duration,
    /// Time that a connection may stay without a request.
    #[arg(long, env = "COMPLIANCE_REST_IDLE_TIMEOUT", default_value = "60s", value_name = "TIME",
          value_parser = duration(ANY_TIME))]
    rest_idle_timeout: Duration,
    /// Time that accepted requests may take after shutdown was requested.
    #[arg(long, env = "COMPLIANCE_REST_SHUTDOWN_GRACE", default_value = "30s", value_name = "TIME",
          value_parser = duration(ANY_TIME))]
    rest_shutdown_grace: Duration,
    /// Time that a client may read nothing while a response is sent to it.
    #[arg(long, env = "COMPLIANCE_REST_WRITE_TIMEOUT", default_value = "30s", value_name = "TIME",
          value_parser = duration(ANY_TIME))]
    rest_write_timeout: Duration,
    /// Open connections, at most.
    #[arg(long, env = "COMPLIANCE_REST_MAX_CONNECTIONS", default_value_t = Limits::default().max_connections,
          value_name = "N", value_parser = count(1..=MAX_COUNT))]
    rest_max_connections: usize,
    /// Open connections of one address, at most; the default is half of all. Behind a proxy, set it to the same as
    /// --rest-max-connections.
    #[arg(long, env = "COMPLIANCE_REST_MAX_CONNECTIONS_PER_PEER", value_name = "N", value_parser = count(1..=MAX_COUNT))]
    rest_max_connections_per_peer: Option<usize>,
    /// Let several processes serve the same REST address, each with its share of the connections.
    #[arg(long, env = "COMPLIANCE_REST_REUSE_PORT")]
    rest_reuse_port: bool,
    /// Origin of web pages that may call REST from a browser, such as `https://partner.example`; `*` for any. Several are
    /// separated by commas.
    #[arg(long, env = "COMPLIANCE_CORS_ORIGIN", value_name = "ORIGIN", value_delimiter = ',', value_parser = origin)]
    cors_origin: Vec<HeaderValue>,
    /// Connections to a core in another process.
    #[arg(long, env = "COMPLIANCE_CORE_CONNECTIONS", default_value_t = Settings::default().core_connections,
          value_name = "N", value_parser = count(1..=MAX_COUNT))]
    core_connections: usize,
}

impl GatewayArgs {
    /// Binds the port of REST.
    pub fn bind(&self) -> anyhow::Result<Port> {
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
            connections: Limits {
                max_connections: args.rest_max_connections,
                max_connections_per_peer: args.rest_max_connections_per_peer,
                header_timeout: args.rest_header_timeout,
                idle_timeout: args.rest_idle_timeout,
                write_timeout: args.rest_write_timeout,
                shutdown_grace: args.rest_shutdown_grace,
                ..Limits::default()
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
