//! What an operator can set, with the defaults that suit most.

use std::time::Duration;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// Limits of the gateway: every wait and every buffer has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The largest request body, in bytes.
    pub body_limit: usize,
    /// What all request bodies together may take while they are held, in bytes.
    pub body_memory: usize,
    /// How long a request body may take to arrive.
    pub body_timeout: Duration,
    /// How long the core may take for one call.
    pub request_timeout: Duration,
    /// How long a whole streamed list may take, the client's reading included.
    pub list_timeout: Duration,
    /// How long the head of a request may take. On HTTP/1 it counts from when the connection is free for it, so that
    /// the first byte and a connection that is kept alive have the same time.
    pub header_timeout: Duration,
    /// How long a connection may stay without a request.
    pub idle_timeout: Duration,
    /// How long requests that were accepted may take once the service is told to stop.
    pub shutdown_grace: Duration,
    /// Connections that are open at once; more wait to be accepted.
    pub max_connections: usize,
    /// Requests of one HTTP/2 connection that run at once.
    pub max_streams: u32,
    /// Connections to a core that is reached over the network.
    pub core_connections: usize,
    /// How long a connection to the core may take to be made.
    pub connect_timeout: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            body_limit: 32 * MIB,
            body_memory: 1024 * MIB,
            body_timeout: Duration::from_mins(1),
            request_timeout: Duration::from_secs(30),
            list_timeout: Duration::from_mins(10),
            header_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_mins(1),
            shutdown_grace: Duration::from_secs(30),
            max_connections: 10_000,
            max_streams: 256,
            core_connections: 2,
            connect_timeout: Duration::from_secs(3),
        }
    }
}

impl Settings {
    /// The largest message to or from the core. A result is longer than the shortest item that asks for it.
    pub(crate) fn message_limit(&self) -> usize {
        self.body_limit.saturating_mul(8).max(64 * MIB)
    }

    /// What the message of one request may take: short JSON items make large records, so the body's size alone does
    /// not bound it.
    pub(crate) fn message_memory(&self) -> usize {
        self.body_limit.saturating_mul(16)
    }
}

/// [`Settings`] as flags, each with its twin in the environment.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "REST gateway")]
pub struct GatewayArgs {
    /// Largest request body (`32MiB`, `500KiB`, bytes).
    #[arg(long, env = "COMPLIANCE_BODY_LIMIT", hide_env_values = true, default_value = "32MiB", value_parser = bytes)]
    pub body_limit: usize,
    /// What all request bodies together may take in memory.
    #[arg(long, env = "COMPLIANCE_BODY_MEMORY", hide_env_values = true, default_value = "1GiB", value_parser = bytes)]
    pub body_memory: usize,
    /// How long a request body may take to arrive (`60s`, `5m`, `500ms`).
    #[arg(long, env = "COMPLIANCE_BODY_TIMEOUT", hide_env_values = true, default_value = "60s", value_parser = duration)]
    pub body_timeout: Duration,
    /// How long one call of the core may take.
    #[arg(long, env = "COMPLIANCE_REST_REQUEST_TIMEOUT", hide_env_values = true, default_value = "30s", value_parser = duration)]
    pub rest_request_timeout: Duration,
    /// How long a whole streamed list may take.
    #[arg(long, env = "COMPLIANCE_REST_LIST_TIMEOUT", hide_env_values = true, default_value = "10m", value_parser = duration)]
    pub rest_list_timeout: Duration,
    /// How long the head of a request may take.
    #[arg(long, env = "COMPLIANCE_REST_HEADER_TIMEOUT", hide_env_values = true, default_value = "30s", value_parser = duration)]
    pub rest_header_timeout: Duration,
    /// How long a connection may stay without a request.
    #[arg(long, env = "COMPLIANCE_REST_IDLE_TIMEOUT", hide_env_values = true, default_value = "60s", value_parser = duration)]
    pub rest_idle_timeout: Duration,
    /// How long accepted requests may take once the service is told to stop.
    #[arg(long, env = "COMPLIANCE_REST_SHUTDOWN_GRACE", hide_env_values = true, default_value = "30s", value_parser = duration)]
    pub rest_shutdown_grace: Duration,
    /// Connections that are open at once.
    #[arg(long, env = "COMPLIANCE_REST_MAX_CONNECTIONS", hide_env_values = true, default_value_t = Settings::default().max_connections)]
    pub rest_max_connections: usize,
    /// Connections to a core that is reached over the network.
    #[arg(long, env = "COMPLIANCE_CORE_CONNECTIONS", hide_env_values = true, default_value_t = Settings::default().core_connections)]
    pub core_connections: usize,
}

impl From<&GatewayArgs> for Settings {
    fn from(args: &GatewayArgs) -> Self {
        Self {
            body_limit: args.body_limit,
            body_memory: args.body_memory.max(args.body_limit),
            body_timeout: args.body_timeout,
            request_timeout: args.rest_request_timeout,
            list_timeout: args.rest_list_timeout,
            header_timeout: args.rest_header_timeout,
            idle_timeout: args.rest_idle_timeout,
            shutdown_grace: args.rest_shutdown_grace,
            max_connections: args.rest_max_connections.max(1),
            core_connections: args.core_connections.max(1),
            ..Self::default()
        }
    }
}

fn bytes(text: &str) -> Result<usize, String> {
    let (number, unit) = number_and_unit(text)?;
    let factor = match unit {
        "" | "B" => 1,
        "KiB" => KIB,
        "MiB" => MIB,
        "GiB" => 1024 * MIB,
        _ => return Err(format!("{unit:?} is no unit of bytes: B, KiB, MiB or GiB")),
    };
    // A body is counted in `u32`s of KiB.
    usize::try_from(number)
        .ok()
        .and_then(|number| number.checked_mul(factor))
        .filter(|bytes| (KIB..=1 << 40).contains(bytes))
        .ok_or_else(|| "must be between 1KiB and 1024GiB".to_owned())
}

fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = number_and_unit(text)?;
    let milliseconds = match unit {
        "ms" => 1,
        "" | "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(format!("{unit:?} is no unit of time: ms, s, m or h")),
    };
    number
        .checked_mul(milliseconds)
        .filter(|time| (1..=86_400_000).contains(time))
        .map(Duration::from_millis)
        .ok_or_else(|| "must be between 1ms and 24h".to_owned())
}

fn number_and_unit(text: &str) -> Result<(u64, &str), String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    Ok((number.parse().map_err(|_| "must start with a whole number".to_owned())?, unit.trim()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clap::Parser as _;

    use super::{GatewayArgs, Settings, bytes, duration};

    #[derive(clap::Parser)]
    struct Command {
        #[command(flatten)]
        gateway: GatewayArgs,
    }

    #[test]
    fn the_flags_have_the_defaults_of_the_settings() {
        let args = Command::try_parse_from(["rest-gateway"]).unwrap().gateway;
        assert_eq!(Settings::from(&args), Settings::default());
    }

    #[test]
    fn sizes_and_times_have_units() {
        assert_eq!(bytes("32MiB"), Ok(32 << 20));
        assert_eq!(bytes("4096"), Ok(4096));
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("10m"), Ok(Duration::from_mins(10)));
        for wrong in ["", "x", "5 parsecs", "99999999999999999999", "0"] {
            assert!(bytes(wrong).is_err() && duration(wrong).is_err(), "{wrong}");
        }
    }
}
