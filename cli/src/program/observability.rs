//! Serves metrics at the admin address, and exports traces.

use std::{io, net::SocketAddr, path::PathBuf, time::Duration};

use axum::{
    Router,
    body::{Body, to_bytes},
    response::{IntoResponse as _, Response},
    routing::get,
};
use clap::Args;
use compliance_api::PrivateUrl;
use flags::listen_address;
use http::{StatusCode, Uri, header::CONTENT_TYPE};
use http_server::{App, ConnectionLimits};
use hyper_util::rt::TokioIo;
use telemetry::{
    background, metrics,
    trace::{self, Sender},
};
use tls::{ClientTls, TlsError};
use tokio::{net::TcpStream, time::timeout};
use tokio_util::{either::Either, sync::CancellationToken, task::AbortOnDropHandle};
use tonic::transport::{Channel, Endpoint};
use tower::service_fn;

use super::{
    failure::{InvalidSetting, named},
    logging,
    ports::Port,
};
use crate::version::COMMIT;

/// Maximum connections to the admin port, for a few metric collectors and a person.
const MAX_CONNECTIONS: usize = 32;

/// Maximum size of a log filter, in bytes, and the timeout for receiving it.
const MAX_FILTER: usize = 1024;
const BODY_TIMEOUT: Duration = Duration::from_secs(5);

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Where to serve metrics and send traces.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Observability")]
pub(crate) struct TelemetryArgs {
    /// Unique name of this process in metrics, traces and logs [default: host name and process ID].
    #[arg(long, env = "COMPLIANCE_INSTANCE", value_name = "NAME")]
    instance: Option<String>,
    /// Listen address for Prometheus metrics (`/metrics`) and the log filter (`/log`). Without an address, the service collects no metrics.
    #[arg(long, env = "COMPLIANCE_ADMIN_ADDR", value_name = "ADDR", value_parser = listen_address)]
    admin_addr: Option<SocketAddr>,
    /// Address of an OpenTelemetry collector (OTLP over gRPC) for traces: `http://host:4317` or `https://host:4317`. Without an address,
    /// the service sends no traces.
    #[arg(long, env = "COMPLIANCE_OTLP_ENDPOINT", hide_env_values = true, value_name = "URL",
          value_parser = collector_address)]
    otlp_endpoint: Option<PrivateUrl>,
    /// PEM file with the authorities of an https --otlp-endpoint [default: the system's authorities].
    #[arg(long, env = "COMPLIANCE_OTLP_CA", value_name = "FILE")]
    otlp_ca: Option<PathBuf>,
    /// Fraction of requests without a trace context to trace, from 0 to 1. If a request has a trace context, its sender decides.
    #[arg(long, env = "COMPLIANCE_TRACE_RATIO", default_value_t = 1.0, value_name = "PART", value_parser = ratio)]
    trace_ratio: f64,
}

/// Serves metrics and sends traces until dropped.
#[derive(Debug)]
pub(crate) struct Telemetry {
    _admin: Option<[AbortOnDropHandle<()>; 2]>,
    _traces: Option<trace::Traces>,
}

impl TelemetryArgs {
    /// Starts the enabled metrics and traces. They cover only later events. `program` names the service in traces.
    pub(crate) fn start(&self, program: &'static str) -> anyhow::Result<Telemetry> {
        let port = self.admin_addr.map(|addr| Port::bind(addr, false, "admin-addr"));
        let port = port.transpose()?;
        let address = self.otlp_endpoint.as_ref().and_then(|url| url.reveal().parse().ok());
        let channel = address.map(|address| connect_collector(address, self.otlp_ca.clone())).transpose();
        let channel = channel.map_err(InvalidSetting::of(named("otlp-ca")))?;
        let instance = self.instance();
        let sender = Sender { service: program, version: VERSION, instance: &instance };
        // Traces report failures as metrics.
        let admin = port.map(|port| serve_admin(port, &instance)).transpose()?;
        let traces = channel.map(|channel| trace::start(channel, sender, self.trace_ratio)).transpose();
        let traces = traces.map_err(InvalidSetting::of(named("otlp-endpoint")))?;
        Ok(Telemetry { _admin: admin, _traces: traces })
    }

    /// Returns the admin address, if given.
    pub(crate) fn admin_addr(&self) -> Option<SocketAddr> {
        self.admin_addr
    }

    /// Returns the unique name of this process.
    pub(crate) fn instance(&self) -> String {
        self.instance.clone().filter(|name| !name.is_empty()).unwrap_or_else(|| {
            let host = nix::unistd::gethostname().map(|host| host.to_string_lossy().into_owned());
            format!("{}-{}", host.unwrap_or_default(), std::process::id())
        })
    }
}

/// Timeout for connecting to the collector.
const COLLECTOR_TIMEOUT: Duration = Duration::from_secs(5);

/// Returns a channel to the collector at an `http` or `https` address. The channel connects when it sends the first trace. The file `ca` contains the
/// authorities for `https`; by default, the channel uses the system's authorities.
fn connect_collector(address: Uri, ca: Option<PathBuf>) -> Result<Channel, TlsError> {
    let is_secure = address.scheme_str() == Some("https");
    let tls = is_secure.then(|| ClientTls::load(ca, None)).transpose()?;
    let host = address.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    let port = address.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
    let connect = service_fn(move |_| {
        let (host, tls) = (host.clone(), tls.clone());
        async move {
            timeout(COLLECTOR_TIMEOUT, async {
                let stream = TcpStream::connect((host.as_str(), port)).await?;
                let Some(tls) = tls else { return Ok::<_, io::Error>(TokioIo::new(Either::Left(stream))) };
                // The file may have changed. If reading it fails, the previous authorities stay in use.
                let _ = tls.reload();
                Ok(TokioIo::new(Either::Right(Box::new(tls.connect(&host, stream).await?))))
            })
            .await?
        }
    });
    // The endpoint adds its own TLS for `https` URIs, so connect with `http`.
    Ok(Endpoint::from_static("http://collector").origin(address).connect_with_connector_lazy(connect))
}

/// Starts recording and serving metrics.
fn serve_admin(port: Port, instance: &str) -> anyhow::Result<[AbortOnDropHandle<()>; 2]> {
    metrics::install(VERSION, COMMIT, instance)?;
    let listener = port.listen()?;
    tracing::info!(admin = %listener.local_addr()?, "serving metrics at /metrics");
    let app = App {
        name: "admin",
        http1: true,
        service: Router::new().route("/metrics", get(answer)).route("/log", get(log_filter).put(set_log_filter)),
    };
    let limits = ConnectionLimits { max_connections: MAX_CONNECTIONS, ..ConnectionLimits::default() };
    // Serve metrics until the shutdown is complete.
    #[allow(clippy::disallowed_methods, reason = "each connection has its own task")]
    let served = tokio::spawn(async move {
        if let Err(error) = http_server::serve(listener, app, limits, CancellationToken::new()).await {
            tracing::warn!(%error, "the metrics server failed");
        }
    });
    let upkeep = background::spawn("metrics upkeep", metrics::upkeep);
    Ok([served, upkeep].map(AbortOnDropHandle::new))
}

async fn answer() -> Response {
    ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], metrics::render()).into_response()
}

/// Returns the log filter.
async fn log_filter() -> String {
    format!("{}\n", logging::current_filter())
}

/// Changes the log filter until the program ends. Accepts changes only from this machine, because other machines can often reach the metrics port and
/// a verbose filter floods the log.
async fn set_log_filter(body: Body) -> Result<String, (StatusCode, String)> {
    let is_local = http_server::peer().is_some_and(|peer| peer.ip().to_canonical().is_loopback());
    if !is_local {
        return Err((StatusCode::FORBIDDEN, "the log filter can be changed only from this machine\n".to_owned()));
    }
    let invalid = |reason: String| (StatusCode::BAD_REQUEST, format!("{reason}\n"));
    let body = timeout(BODY_TIMEOUT, to_bytes(body, MAX_FILTER)).await.ok().and_then(Result::ok);
    let text = body.and_then(|body| String::from_utf8(body.to_vec()).ok());
    let text = text.ok_or_else(|| invalid(format!("the body must be a log filter of at most {MAX_FILTER} bytes")))?;
    logging::set_filter(text.trim()).map_err(invalid)?;
    let filter = logging::current_filter();
    tracing::info!(filter, "changed the log filter");
    Ok(format!("{filter}\n"))
}

fn collector_address(text: &str) -> Result<PrivateUrl, String> {
    let url = text
        .parse::<Uri>()
        .ok()
        .filter(|url| matches!(url.scheme_str(), Some("http" | "https")) && url.host().is_some());
    match url {
        Some(_) => Ok(PrivateUrl::from(text.to_owned())),
        None => Err("must be http://host:port or https://host:port, such as http://127.0.0.1:4317".to_owned()),
    }
}

fn ratio(text: &str) -> Result<f64, String> {
    let part = text.parse().ok().filter(|part| (0.0..=1.0).contains(part));
    part.ok_or_else(|| "must be a number between 0 and 1, such as 0.1".to_owned())
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use http::StatusCode;

    #[tokio::test]
    async fn log_filter_change_requires_loopback_peer() {
        // Without a connection, the peer is unknown.
        let (status, _) = super::set_log_filter(Body::from("trace")).await.unwrap_err();
        assert_eq!(status, StatusCode::FORBIDDEN);
    }
}
