//! Gauges of the core's state, measured when metrics are rendered.

use metrics::{Unit, describe_counter, describe_gauge, describe_histogram, gauge};
use storage::{
    database::{Connections, measure},
    metrics::report_queue,
};
use telemetry::metrics::{describe, on_render};

use crate::quotas::{CALLS, DURATION, Quotas, WRITTEN};

/// The most common rejection reasons.
const REJECTIONS: [&str; 6] =
    ["TOKEN_MISSING", "TOKEN_INVALID", "TOKEN_EXPIRED", "SCOPE_MISSING", "RATE_LIMITED", "OVERLOADED"];

/// Reports the core's state as gauges.
pub(crate) fn report(connections: &Connections, quotas: &Quotas) {
    measure(connections);
    let description = "Calls rejected before any work began, by reason.";
    describe("compliance_refusals_total", description, "reason", &REJECTIONS);
    describe_gauge!("compliance_core_running", "Work in progress, by queue.");

    describe_counter!(
        CALLS,
        "A company's calls, by result: ok, rejected, limited (by one of the company's limits) or failed."
    );
    describe_histogram!(
        DURATION,
        Unit::Seconds,
        "Duration of a company's calls, from the request head to the end of the response."
    );
    describe_counter!(
        WRITTEN,
        "Items in a company's write requests: records, and parts of records such as infractions."
    );

    let Quotas { statements, large_pages, .. } = quotas;
    for (name, queue) in [("statements", statements), ("large pages", large_pages)] {
        let (waiting, running) = (queue.clone(), queue.clone());
        report_queue(name, move || Some(waiting.waiting()));
        on_render(gauge!("compliance_core_running", "queue" => name), move || Some(running.running() as f64));
    }
    let report = |name, description, read: fn(&Quotas) -> usize| {
        let quotas = quotas.clone();
        describe_gauge!(name, description);
        on_render(gauge!(name), move || Some(read(&quotas) as f64));
    };
    let description = "Open list, export and observation streams.";
    report("compliance_core_calls_in_flight", "Calls in flight in the core.", |quotas| quotas.calls.running());
    report("compliance_core_streams_open", description, |quotas| quotas.streams.running());
    report("compliance_core_watchers", "Open change watches.", |quotas| quotas.watchers.running());
    let description = "Memory in use by requests and their responses, in bytes.";
    report("compliance_core_memory_held_bytes", description, |quotas| quotas.memory.reserved());
}
