//! Traces, sent to a collector with OTLP. The context of a trace travels as W3C Trace Context (`traceparent`).

use std::{fmt, sync::OnceLock, time::Duration};

use futures::future::Either;
use http::HeaderMap;
use opentelemetry::{
    Context, KeyValue,
    propagation::TextMapPropagator as _,
    trace::{FutureExt as _, SpanKind, Status, TraceContextExt as _, Tracer as _, TracerProvider as _},
};
use opentelemetry_http::{HeaderExtractor, HeaderInjector};
use opentelemetry_otlp::{ExporterBuildError, SpanExporter, WithExportConfig as _, WithTonicConfig as _};
use opentelemetry_sdk::{
    Resource,
    propagation::TraceContextPropagator,
    trace::{Sampler, SdkTracer, SdkTracerProvider},
};
use tonic::transport::Channel;

/// Timeout of one export to the collector.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout of the last export when the program ends.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(3);

static TRACER: OnceLock<SdkTracer> = OnceLock::new();

/// Sends traces until this is dropped. The drop sends the remaining spans, within a bounded time.
#[derive(Debug)]
pub struct Traces(SdkTracerProvider);

/// The program that sends spans.
#[derive(Clone, Copy, Debug)]
pub struct Sender<'s> {
    /// Name of the service.
    pub service: &'static str,
    /// Version of the service.
    pub version: &'static str,
    /// Unique ID of this process.
    pub instance: &'s str,
}

/// Starts to trace, once per process, within a Tokio runtime.
///
/// `collector` accepts OTLP over gRPC. `part` (0 to 1) is the ratio of traced requests among requests without a context.
pub fn start(
    collector: Channel,
    Sender { service, version, instance }: Sender<'_>,
    part: f64,
) -> Result<Traces, ExporterBuildError> {
    let exporter = SpanExporter::builder().with_tonic().with_channel(collector).with_timeout(EXPORT_TIMEOUT).build()?;
    let resource = Resource::builder().with_service_name(service).with_attributes([
        KeyValue::new("service.version", version),
        KeyValue::new("service.instance.id", instance.to_owned()),
    ]);
    let provider = SdkTracerProvider::builder()
        .with_batch_exporter(exporter)
        .with_sampler(Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(part))))
        .with_resource(resource.build())
        .build();
    let _ = TRACER.set(provider.tracer("compliance"));
    Ok(Traces(provider))
}

impl Drop for Traces {
    fn drop(&mut self) {
        // At the end of the program, nobody can react to an error.
        let _ = self.0.shutdown_with_timeout(FLUSH_TIMEOUT);
    }
}

/// A span that ends when it is dropped. It costs nothing if its request is not traced.
#[derive(Clone, Default)]
pub struct Span(Option<Context>);

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Span").field(&self.trace_id()).finish()
    }
}

impl Span {
    /// Begins the span of a request with these headers.
    pub fn server(headers: &HeaderMap, name: impl FnOnce() -> String) -> Self {
        let Some(tracer) = TRACER.get() else { return Self(None) };
        let parent = TraceContextPropagator::new().extract_with_context(&Context::new(), &HeaderExtractor(headers));
        Self::open(tracer, SpanKind::Server, name(), Vec::new(), &parent)
    }

    /// Returns the current span.
    fn current() -> Self {
        Self(TRACER.get().map(|_| Context::current()))
    }

    /// Begins the span of a statement within the current span.
    pub fn of_statement(name: &'static str) -> Self {
        Self::current().statement(name)
    }

    /// Begins the span of a statement within this span.
    #[must_use]
    pub fn statement(&self, name: &'static str) -> Self {
        match (TRACER.get(), &self.0) {
            (Some(tracer), Some(parent)) if parent.span().span_context().is_sampled() => {
                let attributes = vec![KeyValue::new("db.system.name", "postgresql")];
                Self::open(tracer, SpanKind::Client, name.to_owned(), attributes, parent)
            }
            _ => Self(None),
        }
    }

    /// Begins the span of work for several requests. It is within the first traced request, and linked with each.
    pub fn shared<'s>(name: &'static str, requests: impl Iterator<Item = &'s Self>) -> Self {
        let Some(tracer) = TRACER.get() else { return Self(None) };
        let contexts = requests.filter_map(|request| request.0.as_ref());
        let mut sampled = contexts.filter(|context| context.span().span_context().is_sampled());
        let Some(first) = sampled.next() else { return Self(None) };
        let shared = Self::open(tracer, SpanKind::Internal, name.to_owned(), Vec::new(), first);
        if let Some(context) = &shared.0 {
            for request in std::iter::once(first).chain(sampled) {
                context.span().add_link(request.span().span_context().clone(), Vec::new());
                request.span().add_link(context.span().span_context().clone(), Vec::new());
            }
        }
        shared
    }

    fn open(tracer: &SdkTracer, kind: SpanKind, name: String, attributes: Vec<KeyValue>, parent: &Context) -> Self {
        let span = tracer.span_builder(name).with_kind(kind).with_attributes(attributes);
        Self(Some(parent.with_span(span.start_with_context(tracer, parent))))
    }

    /// Adds an attribute.
    pub fn set(&self, name: &'static str, value: impl Into<opentelemetry::Value>) {
        if let Some(context) = &self.0 {
            context.span().set_attribute(KeyValue::new(name, value));
        }
    }

    /// Records that the work of the span has failed.
    pub fn fail(&self, description: &'static str) {
        if let Some(context) = &self.0 {
            context.span().set_status(Status::error(description));
        }
    }

    /// Returns the trace ID in hexadecimal digits, if it is exported.
    pub fn trace_id(&self) -> Option<String> {
        let context = self.0.as_ref()?.span().span_context().clone();
        context.is_sampled().then(|| context.trace_id().to_string())
    }

    /// Runs work within the span. Spans that begin in it are children of this span.
    pub fn run<F: Future>(&self, work: F) -> impl Future<Output = F::Output> + use<F> {
        // The future of an `async fn` would have space for the work three times.
        match &self.0 {
            Some(context) => Either::Left(work.with_context(context.clone())),
            None => Either::Right(work),
        }
    }
}

/// Adds the current trace context to the headers of a call.
pub fn inject(headers: &mut HeaderMap) {
    if TRACER.get().is_some() {
        TraceContextPropagator::new().inject_context(&Context::current(), &mut HeaderInjector(headers));
    }
}

/// Passes the current span to another thread or task.
pub fn inherit<F: Future>(work: F) -> impl Future<Output = F::Output> {
    Span::current().run(work)
}
