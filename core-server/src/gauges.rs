//! The state of the core, measured whenever metrics are asked for.

use metrics::{describe_gauge, gauge};
use telemetry::metrics::{is_installed, on_render};

use crate::{database::Connections, shares::Shares};

/// Measures how much waits in a queue, until `length` returns `None`.
pub(crate) fn report_queue(name: &'static str, length: impl Fn() -> Option<usize> + Send + 'static) {
    on_render(gauge!("compliance_core_queue_length", "queue" => name), move || Some(length()? as f64));
}

/// Measures the state of a core until it is dropped.
pub(crate) fn report(connections: &Connections, shares: &Shares) {
    if !is_installed() {
        return;
    }
    describe_gauge!("compliance_database_up", "Whether the database responds.");
    describe_gauge!("compliance_database_connections", "Connections to the database: in use by a statement, or idle.");
    describe_gauge!("compliance_database_connections_max", "Maximum number of connections to the database.");
    describe_gauge!("compliance_core_queue_length", "Reads, writes or batches that wait for a statement.");
    describe_gauge!("compliance_core_running", "Running work, by the queue that it waited in.");
    describe_gauge!("compliance_core_calls_in_flight", "Calls of the core in flight.");
    describe_gauge!("compliance_core_streams_open", "Lists, exports and streams of observations that are open.");
    describe_gauge!("compliance_core_memory_held_bytes", "Memory that requests and their responses hold.");

    gauge!("compliance_database_connections_max").set(f64::from(connections.most()));
    let state = connections.state();
    on_render(gauge!("compliance_database_up"), move || Some(f64::from(u8::from(state()?.answers))));
    let state = connections.state();
    on_render(gauge!("compliance_database_connections", "state" => "in_use"), move || Some(state()?.in_use as f64));
    let state = connections.state();
    on_render(gauge!("compliance_database_connections", "state" => "idle"), move || Some(state()?.idle as f64));

    for (name, work) in shares.queues() {
        let running = work.clone();
        report_queue(name, move || Some(work.waiting()));
        on_render(gauge!("compliance_core_running", "queue" => name), move || Some(running.running() as f64));
    }
    let shares_of = |read: fn(&Shares) -> usize| {
        let shares = shares.clone();
        move || Some(read(&shares) as f64)
    };
    on_render(gauge!("compliance_core_calls_in_flight"), shares_of(Shares::calls_in_flight));
    on_render(gauge!("compliance_core_streams_open"), shares_of(Shares::streams_open));
    on_render(gauge!("compliance_core_memory_held_bytes"), shares_of(|shares| shares.memory.held()));
}
