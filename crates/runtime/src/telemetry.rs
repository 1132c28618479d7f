//! What operators see of a running program: metrics at the admin address, and traces.

use std::net::SocketAddr;

use axum::{
    Router,
    body::Body,
    response::{IntoResponse as _, Response},
    routing::get,
};
use clap::Args;
use compliance_api::PrivateUrl;
use http::{StatusCode, Uri, header::CONTENT_TYPE};
use http_server::{App, ConnectionLimits};
use telemetry::{metrics, trace};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use crate::{InvalidSetting, Port, units::listen_address};

/// Connections of the admin port: a few collectors of metrics, and a person.
const MAX_CONNECTIONS: usize = 32;

const VERSION: &str = env!("CARGO_PKG_VERSION");

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
    trace_ratio: f64,
}

/// Metrics that are served and traces that are sent until it is dropped.
#[derive(Debug)]
pub struct Telemetry {
    _admin: Option<[AbortOnDropHandle<()>; 2]>,
    _traces: Option<trace::Traces>,
}

impl TelemetryArgs {
    /// Starts what the settings ask for. Must come before what is measured. `program` names the service in traces.
    pub fn start(&self, program: &'static str) -> anyhow::Result<Telemetry> {
        let port = self.admin_addr.map(|addr| Port::bind(addr, false, "--admin-addr", "COMPLIANCE_ADMIN_ADDR"));
        let port = port.transpose()?;
        let endpoint = self.otlp_endpoint.as_ref().map(PrivateUrl::reveal);
        let traces = endpoint.map(|endpoint| trace::start(endpoint, program, VERSION, self.trace_ratio)).transpose();
        let traces = traces.map_err(InvalidSetting::of("--otlp-endpoint (COMPLIANCE_OTLP_ENDPOINT)"))?;
        Ok(Telemetry { _admin: port.map(serve_metrics).transpose()?, _traces: traces })
    }
}

/// Starts to record metrics and to serve them.
fn serve_metrics(port: Port) -> anyhow::Result<[AbortOnDropHandle<()>; 2]> {
    metrics::install(VERSION)?;
    let listener = port.listen()?;
    tracing::info!(admin = %listener.local_addr()?, "metrics are served at /metrics");
    let app = App {
        name: "admin",
        http1: true,
        service: Router::new().route("/metrics", get(answer)),
        is_health_check: |_| false,
        full: || Response::builder().status(StatusCode::SERVICE_UNAVAILABLE).body(Body::empty()).unwrap_or_default(),
        refuse: None,
        request_time: None,
    };
    let limits = ConnectionLimits { max_connections: MAX_CONNECTIONS, ..ConnectionLimits::default() };
    // They are served to the end of the shutdown.
    let served = tokio::spawn(async move {
        if let Err(error) = http_server::serve(listener, app, limits, CancellationToken::new()).await {
            tracing::warn!(%error, "metrics cannot be served any longer");
        }
    });
    Ok([served, tokio::spawn(metrics::upkeep())].map(AbortOnDropHandle::new))
}

async fn answer() -> Response {
    ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], metrics::render()).into_response()
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
