//! Tests the telemetry of two tiers: metrics, traces from client to database, and the access log.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use nix::sys::signal::Signal;
use opentelemetry_proto::tonic::{
    collector::trace::v1::{
        ExportTraceServiceRequest, ExportTraceServiceResponse,
        trace_service_server::{TraceService, TraceServiceServer},
    },
    trace::v1::Span,
};
use serde_json::Value;
use tokio::{net::TcpListener, runtime::Runtime};
use tokio_rustls::rustls;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status, transport::Server};

use crate::{
    common::{Service, output, wait_until},
    programs::{Programs, token},
};

/// A trace collector that stores received spans with their service names.
#[derive(Clone, Default)]
pub(crate) struct Collector(Arc<Mutex<Vec<(String, Span)>>>);

#[tonic::async_trait]
impl TraceService for Collector {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        for resource in request.into_inner().resource_spans {
            let attributes = resource.resource.unwrap_or_default().attributes;
            assert!(attributes.iter().any(|attribute| attribute.key == "service.instance.id"), "{attributes:?}");
            let name = attributes.into_iter().find(|attribute| attribute.key == "service.name").unwrap();
            let name = format!("{:?}", name.value.unwrap());
            let spans = resource.scope_spans.into_iter().flat_map(|scope| scope.spans);
            self.0.lock().unwrap().extend(spans.map(|span| (name.clone(), span)));
        }
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

impl Collector {
    /// Starts the collector on a free port.
    pub(crate) fn start(threads: &Runtime) -> (Self, String) {
        let collector = Self::default();
        let listener = threads.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let server = Server::builder().add_service(TraceServiceServer::new(collector.clone()));
        threads.spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
        (collector, address)
    }

    /// Returns the received spans with their service names.
    pub(crate) fn spans(&self) -> Vec<(String, Span)> {
        self.0.lock().unwrap().clone()
    }

    /// Waits until spans with these name endings have arrived. Returns all spans of the trace.
    fn wait_for(&self, trace_id: &[u8], names: &[&str]) -> Vec<(String, Span)> {
        let of_trace = || self.spans().into_iter().filter(|(_, span)| span.trace_id == trace_id).collect::<Vec<_>>();
        wait_until("the spans have arrived", || {
            let spans = of_trace();
            names.iter().all(|name| spans.iter().any(|(_, span)| span.name.ends_with(name)))
        });
        of_trace()
    }
}

/// Starts a TLS relay in front of a collector, and writes its authority to a file. Returns the address.
fn secured(threads: &Runtime, collector: &str, authority: &std::path::Path) -> String {
    let issuer = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(authority, issuer.cert.pem()).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::Pkcs8(issuer.signing_key.serialize_der().into());
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let chain = vec![issuer.cert.der().clone()];
    let mut config = config.with_no_client_auth().with_single_cert(chain, key).unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = threads.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = format!("https://localhost:{}", listener.local_addr().unwrap().port());
    let collector = collector.strip_prefix("http://").unwrap().to_owned();
    threads.spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let (acceptor, collector) = (acceptor.clone(), collector.clone());
            tokio::spawn(async move {
                // Clients that do not trust the certificate disconnect.
                let Ok(mut stream) = acceptor.accept(stream).await else { return };
                let mut collector = tokio::net::TcpStream::connect(collector).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut stream, &mut collector).await;
            });
        }
    });
    address
}

/// Returns a service's span with this name ending.
fn span_of<'s>(spans: &'s [(String, Span)], service: &str, name: &str) -> &'s Span {
    let found = spans.iter().find(|(of, span)| of.contains(service) && span.name.ends_with(name));
    &found.unwrap_or_else(|| panic!("no {name} of {service} in {spans:#?}")).1
}

/// Sends a raw request head. Returns the raw response.
pub(crate) fn raw(address: SocketAddr, head: &str) -> String {
    raw_with_body(address, head, "")
}

/// Returns the status of a read. Works on any thread.
pub(crate) fn status_of(address: SocketAddr, path: &str, token: &str) -> u16 {
    let response = raw(address, &format!("GET {path} HTTP/1.1\r\nAuthorization: Bearer {token}"));
    response.split(' ').nth(1).unwrap().parse().unwrap()
}

/// Sends a raw request head and a body. Returns the raw response.
pub(crate) fn raw_with_body(address: SocketAddr, head: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    let length = body.len();
    let json = "Content-Type: application/json";
    let request =
        format!("{head}\r\nHost: test\r\n{json}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}");
    // Send everything in one write, because the service can reject the first line and close the connection.
    stream.write_all(request.as_bytes()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response
}

/// Returns a program's metrics as integers, by name and labels.
pub(crate) fn metrics(admin: SocketAddr) -> BTreeMap<String, i64> {
    let response = raw(admin, "GET /metrics HTTP/1.1");
    assert!(response.starts_with("HTTP/1.1 200 "), "{response}");
    let (_, body) = response.split_once("\r\n\r\n").unwrap();
    let lines = body.lines().filter(|line| !line.starts_with('#') && line.contains(' '));
    lines
        .map(|line| line.rsplit_once(' ').unwrap())
        .map(|(name, value)| (name.to_owned(), value.parse::<f64>().unwrap() as i64))
        .collect()
}

#[test]
fn both_tiers_export_request_metrics() {
    let programs = Programs::new();
    let admin = ["--admin-addr", "127.0.0.1:0"];
    let core = Service::start_as(programs.core(&admin).env("COMPLIANCE_RATE_LIMIT", "6/m"));
    let gateway = Service::start_as(&mut programs.gateway_of(&[core.grpc], &admin));
    let statuses: Vec<_> =
        ["/api/affiliates/1", "/api/urls", "/api/urls?page=x", "/api/affiliates", "/nothing?secret=1"]
            .into_iter()
            .map(|path| gateway.request("GET", path, &token(), "").0)
            .collect();
    assert_eq!(statuses, [404, 200, 422, 200, 404]);
    assert_eq!(gateway.request("GET", "/api/cases", "no token", "").0, 401);
    while gateway.request("GET", "/api/cases/1", &token(), "").0 != 429 {}

    let seen = metrics(gateway.admin);
    let count = |method: &str, route: &str, status: u16| {
        let labels = format!("{{method=\"{method}\",route=\"{route}\",status=\"{status}\"}}");
        seen.get(&format!("compliance_rest_request_duration_seconds_count{labels}")).copied()
    };
    assert_eq!(count("GET", "/api/affiliates/{id}", 404), Some(1), "{seen:#?}");
    assert_eq!(count("GET", "/api/urls", 200), Some(1));
    assert_eq!(count("GET", "/api/urls", 422), Some(1));
    assert_eq!(count("GET", "/api/affiliates", 200), Some(1));
    assert_eq!(count("GET", "/api/cases", 401), Some(1));
    assert_eq!(count("GET", "(unknown path)", 404), Some(1));
    assert!(seen["compliance_received_bytes_total{port=\"REST\"}"] > 500);
    assert!(seen["compliance_sent_bytes_total{port=\"REST\"}"] > 500);
    assert_eq!(seen["compliance_gateway_queue_length{queue=\"single reads\"}"], 0);
    assert!(!seen.keys().any(|name| name.contains("secret") || name.contains("nothing")), "{seen:#?}");

    let seen = metrics(core.admin);
    let count = |service: &str, method: &str, code: &str| {
        let labels = format!("{{service=\"compliance.v1.{service}\",method=\"{method}\",code=\"{code}\"}}");
        seen.get(&format!("compliance_grpc_call_duration_seconds_count{labels}")).copied()
    };
    // A read in a batch from the gateway still counts as one read.
    assert_eq!(count("AffiliateService", "GetAffiliate", "NOT_FOUND"), Some(1), "{seen:#?}");
    assert_eq!(count("ComplianceUrlService", "StreamComplianceUrls", "OK"), Some(1));
    assert_eq!(count("AffiliateService", "ListAffiliates", "OK"), Some(1));
    assert!(seen["compliance_refusals_total{reason=\"RATE_LIMITED\"}"] >= 1, "{seen:#?}");
    for never in ["refusals_total{reason=\"OVERLOADED\"}", "statement_retries_total{reason=\"conflict\"}"] {
        assert_eq!(seen[&format!("compliance_{never}")], 0);
    }
    assert_eq!(seen["compliance_database_up"], 1);
    assert!(seen["process_resident_memory_bytes"] > 1_000_000);
    assert!(raw(core.admin, "GET /other HTTP/1.1").starts_with("HTTP/1.1 404 "));
    // A call is in flight until the core has sent the response. A background task can briefly use the only connection.
    wait_until("no call is in flight", || metrics(core.admin)["compliance_core_calls_in_flight"] == 0);
    let idle = "compliance_database_connections{state=\"idle\"}";
    wait_until("a connection is idle", || metrics(core.admin)[idle] >= 1);
    // All metrics in alerts and the dashboard exist. The core counts failing webhooks after the first round of deliveries.
    wait_until("the core counts failing webhooks", || metrics(core.admin).contains_key("compliance_webhooks_failing"));
    let tiers = [metrics(gateway.admin), metrics(core.admin)];
    for (file, most) in [(ALERTS, 10), (DASHBOARD, 20)] {
        let mut names = metric_names(file);
        // These metrics exist only with certificates or key sets. The modules `certificates` and `keys` test them.
        let conditional = ["_certificate_", "_token_key", "_tls_"];
        names.retain(|name| !conditional.iter().any(|part| name.contains(part)));
        assert!(names.len() >= most, "{names:?}");
        for name in names {
            let is_there = tiers.iter().flat_map(BTreeMap::keys).any(|metric| metric.split('{').next() == Some(name));
            assert!(is_there, "no tier exports {name}");
        }
    }
}

const ALERTS: &str = include_str!("../../../deploy/observability/alerts.yml");
const DASHBOARD: &str = include_str!("../../../deploy/observability/dashboard.json");

/// Returns the names of the service's metrics in a text.
fn metric_names(text: &str) -> BTreeSet<&str> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.filter(|word| word.starts_with("compliance_") || word.starts_with("process_")).collect()
}

#[test]
fn traces_link_client_requests_to_sql_statements() {
    let threads = Runtime::new().unwrap();
    let (collector, address) = Collector::start(&threads);
    let programs = Programs::new();
    // Trace only requests with a sampled trace context.
    let tracing = ["--otlp-endpoint", &address, "--trace-ratio", "0"];
    let core = Service::start_as(programs.core(&tracing).env("OTEL_BSP_SCHEDULE_DELAY", "100"));
    let gateway = programs.gateway_of(&[core.grpc], &tracing);
    let gateway = Service::start_as(
        { gateway }.envs([("OTEL_BSP_SCHEDULE_DELAY", "100"), ("OTEL_SERVICE_NAME", "gateway of partners")]),
    );
    let get = |path: &str, context: &str| {
        let token = token();
        let traced = format!("traceparent: {context}\r\nAuthorization: Bearer {token}");
        raw(gateway.rest, &format!("GET {path} HTTP/1.1\r\n{traced}"))
    };
    assert!(get("/api/urls", "00-0123456789abcdef0123456789abcdef-00000000000000aa-00").contains("\"1026\""));
    assert!(get("/api/urls", "nonsense").contains("\"1026\""));

    let has = |span: &Span, key: &str| span.attributes.iter().any(|attribute| attribute.key == key);
    let trace = || {
        let trace_id = rand::random::<[u8; 16]>();
        (trace_id, format!("00-{:032x}-00000000000000aa-01", u128::from_be_bytes(trace_id)))
    };
    for (path, operation, single_read) in [
        ("/api/urls", "ComplianceUrlService/StreamComplianceUrls", None),
        ("/api/affiliates/1", "AffiliateService/GetAffiliate", Some("reads of affiliates")),
        ("/api/affiliates", "AffiliateService/ListAffiliates", None),
    ] {
        let (trace_id, context) = trace();
        get(path, &context);
        let route = format!("GET {}", path.replace("/1", "/{id}"));
        let spans = collector.wait_for(&trace_id, &[&*route, operation, "statement"]);
        let span = |service: &str, name: &str| span_of(&spans, service, name);
        let of_gateway = span("gateway of partners", &route);
        let of_core = span("compliance-core", operation);
        let of_statement = span("compliance-core", "statement");
        assert_eq!(of_gateway.parent_span_id, [0, 0, 0, 0, 0, 0, 0, 0xaa], "{path}");
        assert_eq!(of_core.parent_span_id, of_gateway.span_id, "{path}");
        assert_eq!(of_statement.parent_span_id, of_core.span_id, "{path}");
        assert!(has(of_gateway, "http.response.status_code") && has(of_gateway, "compliance.company_id"));
        assert!(has(of_core, "rpc.response.status_code") && has(of_statement, "db.system.name"));
        let name = of_statement.attributes.iter().find(|attribute| attribute.key == "db.query.summary").unwrap();
        assert!(format!("{name:?}").contains(single_read.unwrap_or(operation)), "{of_statement:#?}");
        assert!(has(of_statement, "compliance.connection_wait_ms"), "{of_statement:#?}");
        assert!(has(of_core, "compliance.queue_wait_ms"), "{spans:#?}");
    }

    // Concurrent reads share a statement.
    let (trace_id, context) = trace();
    let ends = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !ends.load(Ordering::Relaxed) {
                    get("/api/affiliates/1", &context);
                }
            });
        }
        collector.wait_for(&trace_id, &["coalesced read", "reads of affiliates"]);
        ends.store(true, Ordering::Relaxed);
    });
    // A request links to its shared statement, and the statement links to its requests.
    wait_until("the spans of a shared statement and its requests have arrived", || {
        let spans = collector.spans();
        let batches = spans.iter().filter(|(_, span)| span.name.ends_with("reads of affiliates"));
        batches.into_iter().any(|(_, batch)| {
            let linked = |(_, of_request): &&(String, Span)| {
                of_request.name.ends_with("coalesced read")
                    && has(of_request, "compliance.queue_wait_ms")
                    && of_request.links.iter().map(|link| &link.span_id).eq([&batch.span_id])
                    && batch.links.iter().any(|link| link.span_id == of_request.span_id)
            };
            let of_statement = spans.iter().find(|(_, span)| span.parent_span_id == batch.span_id);
            spans.iter().filter(linked).count() == batch.links.len()
                && of_statement.is_some_and(|(_, span)| {
                    span.name.ends_with("statement") && has(span, "compliance.connection_wait_ms")
                })
        })
    });
    let untraced = |(_, span): &(String, Span)| span.parent_span_id.is_empty() || span.trace_id.starts_with(&[1, 0x23]);
    assert!(!collector.spans().iter().any(untraced), "{:#?}", collector.spans());
}

#[test]
fn each_tier_logs_each_request_once() {
    let programs = Programs::new();
    let with_log = |mut command: std::process::Command| Service::start_as(command.env("COMPLIANCE_LOG", "info"));
    let core = with_log(programs.core(&[]));
    let gateway = with_log(programs.gateway_of(&[core.grpc], &[]));
    let paths = [("/api/affiliates/1", 404), ("/api/urls", 200), ("/api/affiliates", 200), ("/api/cases?page=0", 422)];
    for (path, _) in paths {
        let head = format!("GET {path} HTTP/1.1\r\nX-Request-Id: of{path}\r\nAuthorization: Bearer {}", token());
        raw(gateway.rest, &head);
    }
    let logs = [gateway, core].map(|program| {
        program.signal(Signal::SIGTERM);
        let (_, log) = program.end_with_log();
        let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|line| line["target"] == "access").collect::<Vec<_>>()
    });
    for (path, status) in paths {
        let line_of = |log: &[Value]| -> Value {
            let of: Vec<_> = log.iter().filter(|line| line["request_id"] == format!("of{path}")).cloned().collect();
            let [line] = &of[..] else { panic!("{path}: {of:#?} of {log:#?}") };
            assert!(line["duration_ms"].as_f64().unwrap() > 0.0 && line["company"] == 7, "{line}");
            line.clone()
        };
        let [of_gateway, of_core] = [line_of(&logs[0]), line_of(&logs[1])];
        assert_eq!(of_gateway["status"], status, "{of_gateway}");
        assert!(of_gateway["operation"].as_str().unwrap().starts_with("GET /api/"), "{of_gateway}");
        assert!(of_core["operation"].as_str().unwrap().starts_with("compliance.v1."), "{of_core}");
    }
}

#[test]
fn traces_are_exported_over_tls() {
    let threads = Runtime::new().unwrap();
    let (collector, address) = Collector::start(&threads);
    let programs = Programs::new();
    let authority = std::env::temp_dir().join(format!("compliance-collector-{}.pem", std::process::id()));
    let address = secured(&threads, &address, &authority);
    let stranger = authority.with_extension("stranger.pem");
    std::fs::write(&stranger, rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap().cert.pem())
        .unwrap();
    let spans = |ca: &std::path::Path, trace: u128| {
        let tracing = ["--otlp-endpoint", &address, "--otlp-ca", ca.to_str().unwrap()];
        let core = Service::start_as(&mut programs.core(&[]));
        let gateway = programs.gateway_of(&[core.grpc], &tracing);
        let gateway = Service::start_as({ gateway }.env("OTEL_BSP_SCHEDULE_DELAY", "100"));
        let traced = format!("traceparent: 00-{trace:032x}-00000000000000aa-01\r\nAuthorization: Bearer {}", token());
        raw(gateway.rest, &format!("GET /api/urls HTTP/1.1\r\n{traced}"));
        // The gateway sends the remaining spans when it stops.
        gateway.signal(Signal::SIGTERM);
        let (status, log) = gateway.end_with_log();
        assert!(status.success(), "{log}");
        assert_eq!(log.contains("trace export"), ca == stranger, "{log}");
        collector.spans().iter().filter(|(_, span)| span.trace_id == trace.to_be_bytes()).count()
    };
    assert_eq!(spans(&stranger, 7), 0);
    assert_eq!(spans(&authority, 8), 1);
    for file in [authority, stranger] {
        std::fs::remove_file(file).unwrap();
    }
}

#[test]
fn invalid_observability_settings_are_rejected() {
    let programs = Programs::new();
    let (status, _, errors) =
        output(&mut programs.core(&["--otlp-endpoint", "https://localhost:1", "--otlp-ca", "/no/such/file"]));
    assert!(status.code() == Some(2) && errors.contains("--otlp-ca"), "{errors}");
    for (flag, value, allowed) in [
        ("--otlp-endpoint", "localhost:4317", "must be http://host:port"),
        ("--trace-ratio", "2", "between 0 and 1"),
        ("--admin-addr", "9090", "must be host:port"),
    ] {
        let (status, _, errors) = output(&mut programs.core(&[flag, value]));
        assert!(status.code() == Some(2) && errors.contains(flag) && errors.contains(allowed), "{errors}");
    }
}
