//! What operators see of a running program.

use std::net::SocketAddr;

use clap::Args;
use compliance_api::PrivateUrl;
use http::Uri;

use super::listen::listen_address;
use crate::Port;

/// Where metrics are served and traces are sent.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Observability")]
pub struct TelemetryArgs {
    /// Address of metrics for Prometheus (`/metrics`). Without it, nothing is measured.
    #[arg(long, env = "COMPLIANCE_ADMIN_ADDR", value_name = "ADDR", value_parser = listen_address)]
    admin_addr: Option<SocketAddr>,
    /// Address of an OpenTelemetry collector (OTLP over gRPC) for traces: `http://host:4317`. Without it, nothing is
    /// traced.
    #[arg(long, env = "COMPLIANCE_OTLP_ENDPOINT", hide_env_values = true, value_name = "URL",
          value_parser = collector)]
    otlp_endpoint: Option<PrivateUrl>,
    /// Fraction of the requests without a trace context that are traced, from 0 to 1. A request with a context is traced if
    /// its sender traces it.
    #[arg(long, env = "COMPLIANCE_TRACE_RATIO", default_value_t = 1.0, value_name = "PART", value_parser = ratio)]
    pub(crate) trace_ratio: f64,
}

impl TelemetryArgs {
    /// Binds the admin port, if one is given.
    pub(crate) fn bind(&self) -> anyhow::Result<Option<Port>> {
        self.admin_addr.map(|addr| Port::bind(addr, false, "--admin-addr", "COMPLIANCE_ADMIN_ADDR")).transpose()
    }

    /// The address of the collector, if one is given.
    pub(crate) fn endpoint(&self) -> Option<&str> {
        self.otlp_endpoint.as_ref().map(PrivateUrl::reveal).filter(|url| !url.is_empty())
    }
}

fn collector(text: &str) -> Result<PrivateUrl, String> {
    let url = text.parse::<Uri>().ok().filter(|url| url.scheme_str() == Some("http") && url.host().is_some());
    match url {
        Some(_) => Ok(PrivateUrl::from(text.to_owned())),
        None => Err("must be http://host:port, such as http://127.0.0.1:4317".to_owned()),
    }
}

fn ratio(text: &str) -> Result<f64, String> {
    let part = text.parse().ok().filter(|part| (0.0..=1.0).contains(part));
    part.ok_or_else(|| "must be a number between 0 and 1, such as 0.1".to_owned())
}
