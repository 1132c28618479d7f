//! Records running requests' spans, durations and counts.
//!
//! Until a program starts metrics and traces, recording costs almost nothing.

use std::{collections::HashMap, fmt, hash::Hash, sync::OnceLock, time::Duration};

use ::metrics::{Histogram, Label, Unit, counter, describe_histogram, histogram};
use futures::future::Either;
use http::HeaderMap;
use metrics_exporter_prometheus::PrometheusHandle;
use opentelemetry::{
    Context, KeyValue,
    propagation::TextMapPropagator as _,
    trace::{FutureExt as _, SpanKind, Status, TraceContextExt as _, Tracer as _},
};
use opentelemetry_http::{HeaderExtractor, HeaderInjector};
use opentelemetry_sdk::{propagation::TraceContextPropagator, trace::SdkTracer};
use parking_lot::RwLock;

pub(crate) static RECORDER: OnceLock<PrometheusHandle> = OnceLock::new();
pub(crate) static TRACER: OnceLock<SdkTracer> = OnceLock::new();

/// Returns whether metrics are recorded.
pub fn is_installed() -> bool {
    RECORDER.get().is_some()
}

/// Counts an event with one constant label.
pub fn count(name: &'static str, label: &'static str, value: &'static str) {
    if is_installed() {
        counter!(name, label => value).increment(1);
    }
}

/// Duration histograms with one name, one per combination of labels.
#[derive(Debug)]
pub struct Durations<K> {
    name: &'static str,
    labels: fn(&K) -> Vec<Label>,
    histograms: RwLock<HashMap<K, Histogram>>,
}

impl<K: Eq + Hash + Copy> Durations<K> {
    /// Creates the histograms. `name` must end in `_seconds`. Labels must have few values, none of them chosen by callers.
    pub fn new(name: &'static str, description: &'static str, labels: fn(&K) -> Vec<Label>) -> Self {
        describe_histogram!(name, Unit::Seconds, description);
        Self { name, labels, histograms: RwLock::default() }
    }

    /// Records a duration.
    pub fn record(&self, key: K, duration: Duration) {
        if !is_installed() {
            return;
        }
        let histograms = self.histograms.read();
        if let Some(histogram) = histograms.get(&key) {
            histogram.record(duration);
            return;
        }
        drop(histograms);
        let mut histograms = self.histograms.write();
        let histogram = histograms.entry(key).or_insert_with(|| histogram!(self.name, (self.labels)(&key)));
        histogram.record(duration);
    }
}

/// A span that ends when dropped. It costs nothing if its request is not traced.
#[derive(Clone, Default)]
pub struct Span(Option<Context>);

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Span").field(&self.trace_id()).finish()
    }
}

impl Span {
    /// Starts the span of a request with these headers.
    pub fn server(headers: &HeaderMap, name: impl FnOnce() -> String) -> Self {
        let Some(tracer) = TRACER.get() else { return Self(None) };
        let parent = TraceContextPropagator::new().extract_with_context(&Context::new(), &HeaderExtractor(headers));
        Self::open(tracer, SpanKind::Server, name(), Vec::new(), &parent)
    }

    /// Returns the current span.
    fn current() -> Self {
        Self(TRACER.get().map(|_| Context::current()))
    }

    /// Starts a statement span within the current span.
    pub fn of_statement(name: &'static str) -> Self {
        Self::current().statement(name)
    }

    /// Starts a statement span within this span.
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

    /// Starts a span for work shared by several requests: a child of the first traced request, with links to and from all of them.
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

    /// Marks the span as failed.
    pub fn fail(&self, description: &'static str) {
        if let Some(context) = &self.0 {
            context.span().set_status(Status::error(description));
        }
    }

    /// Returns the trace ID in hexadecimal, if the trace is exported.
    pub fn trace_id(&self) -> Option<String> {
        let context = self.0.as_ref()?.span().span_context().clone();
        context.is_sampled().then(|| context.trace_id().to_string())
    }

    /// Runs work within this span. Spans that start during the work become its children.
    pub fn run<F: Future>(&self, work: F) -> impl Future<Output = F::Output> + use<F> {
        // An `async fn` future would reserve space for the work three times.
        match &self.0 {
            Some(context) => Either::Left(work.with_context(context.clone())),
            None => Either::Right(work),
        }
    }
}

/// Adds the current trace context to a call's headers.
pub fn inject(headers: &mut HeaderMap) {
    if TRACER.get().is_some() {
        TraceContextPropagator::new().inject_context(&Context::current(), &mut HeaderInjector(headers));
    }
}

/// Passes the current span to a different thread or task.
pub fn inherit<F: Future>(work: F) -> impl Future<Output = F::Output> {
    Span::current().run(work)
}
