//! What operators see of a running program: metrics at the admin address, and traces.

use axum::{
    Router,
    body::Body,
    response::{IntoResponse as _, Response},
    routing::get,
};
use http::{StatusCode, header::CONTENT_TYPE};
use http_server::{App, Limits, Protocols};
use telemetry::{metrics, trace};
use tokio::time::sleep;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use crate::{InvalidSetting, Port, settings::TelemetryArgs};

/// Connections of the admin port: a few collectors of metrics, and a person.
const MAX_CONNECTIONS: usize = 32;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Metrics that are served and traces that are sent until it is dropped.
#[derive(Debug)]
pub struct Telemetry {
    _admin: Option<[AbortOnDropHandle<()>; 2]>,
    _traces: Option<trace::Traces>,
}

impl Telemetry {
    /// Starts what the settings ask for. Must come before what is measured. `program` names the service in traces.
    pub fn start(args: &TelemetryArgs, program: &'static str) -> anyhow::Result<Self> {
        let port = args.bind()?;
        let traces = match args.endpoint() {
            Some(endpoint) => {
                let traces = trace::start(endpoint, program, VERSION, args.trace_ratio);
                Some(traces.map_err(InvalidSetting::of("--otlp-endpoint (COMPLIANCE_OTLP_ENDPOINT)"))?)
            }
            None => None,
        };
        let admin = match port {
            Some(port) => Some(serve_metrics(port)?),
            None => None,
        };
        Ok(Self { _admin: admin, _traces: traces })
    }
}

/// Starts to record metrics and to serve them.
fn serve_metrics(port: Port) -> anyhow::Result<[AbortOnDropHandle<()>; 2]> {
    metrics::install(VERSION)?;
    let listener = port.listen()?;
    tracing::info!(admin = %listener.local_addr()?, "metrics are served at /metrics");
    let app = App {
        name: "admin",
        protocols: Protocols::Http1AndHttp2,
        service: Router::new().route("/metrics", get(answer)),
        is_health_check: |_| false,
        full: || Response::builder().status(StatusCode::SERVICE_UNAVAILABLE).body(Body::empty()).unwrap_or_default(),
        refuse: None,
        request_time: None,
    };
    let limits = Limits { max_connections: MAX_CONNECTIONS, ..Limits::default() };
    // They are served to the end of the shutdown.
    let served = tokio::spawn(async move {
        if let Err(error) = http_server::serve(listener, app, limits, CancellationToken::new()).await {
            tracing::warn!(%error, "metrics cannot be served any longer");
        }
    });
    let upkeep = tokio::spawn(async {
        loop {
            sleep(metrics::UPKEEP_INTERVAL).await;
            metrics::upkeep();
        }
    });
    Ok([served, upkeep].map(AbortOnDropHandle::new))
}

async fn answer() -> Response {
    ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], metrics::render()).into_response()
}
