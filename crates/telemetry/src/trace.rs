//! Exports traces over OTLP. Propagates the trace context as W3C Trace Context (`traceparent`).

use std::{env, sync::Arc, time::Duration};

use opentelemetry::{KeyValue, trace::TracerProvider as _};
use opentelemetry_otlp::{ExporterBuildError, SpanExporter, WithExportConfig as _, WithTonicConfig as _};
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    trace::{self, Sampler, SdkTracerProvider, SpanData},
};
use tonic::transport::Channel;

pub use crate::record::{Span, inherit, inject};
use crate::{background::Task, record::TRACER};

/// Timeout for one export to the collector.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout for the final export when the program ends.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(3);

/// Exports traces until dropped. Dropping it sends the remaining spans within a bounded time.
#[derive(Debug)]
pub struct Traces(SdkTracerProvider);

/// Program that sends spans.
#[derive(Clone, Copy, Debug)]
pub struct Sender<'s> {
    /// Service name, unless `OTEL_SERVICE_NAME` is set.
    pub service: &'static str,
    /// Service version.
    pub version: &'static str,
    /// Unique ID of this process.
    pub instance: &'s str,
}

/// Starts tracing. Call it once per process, within a Tokio runtime.
///
/// `collector` accepts OTLP over gRPC. `part` (0 to 1) is the sampling ratio for requests without a trace context.
pub fn start(
    collector: Channel,
    Sender { service, version, instance }: Sender<'_>,
    part: f64,
) -> Result<Traces, ExporterBuildError> {
    let exporter = SpanExporter::builder().with_tonic().with_channel(collector).with_timeout(EXPORT_TIMEOUT).build()?;
    let named = env::var("OTEL_SERVICE_NAME").ok().filter(|name| !name.is_empty());
    let service = named.unwrap_or_else(|| service.to_owned());
    let resource = Resource::builder().with_service_name(service).with_attributes([
        KeyValue::new("service.version", version),
        KeyValue::new("service.instance.id", instance.to_owned()),
    ]);
    let provider = SdkTracerProvider::builder()
        .with_batch_exporter(Reported { exporter, task: Task::new("trace export") })
        .with_sampler(Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(part))))
        .with_resource(resource.build())
        .build();
    let _ = TRACER.set(provider.tracer("compliance"));
    Ok(Traces(provider))
}

/// Exporter that reports failed exports. The SDK drops their spans silently.
#[derive(Debug)]
struct Reported {
    exporter: SpanExporter,
    task: Arc<Task>,
}

impl trace::SpanExporter for Reported {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let exported = self.exporter.export(batch).await;
        match &exported {
            Ok(()) => self.task.succeeded(),
            Err(error) => self.task.failed(error),
        }
        exported
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

impl Drop for Traces {
    fn drop(&mut self) {
        // When the program ends, nothing can handle the error.
        let _ = self.0.shutdown_with_timeout(FLUSH_TIMEOUT);
    }
}
