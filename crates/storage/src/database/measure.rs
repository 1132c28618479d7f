//! Metrics of connections, measured when metrics are rendered.

use metrics::{describe_gauge, gauge};
use telemetry::metrics::on_render;

use super::{connections::Connections, pool::Pool};
use crate::metrics::describe_counts;

/// Measures the connections of a service, until they are dropped.
pub fn measure(connections: &Connections) {
    let replicas = connections.measure_replicas();
    describe_counts(connections.is_divided(), replicas.is_some());
    describe_gauge!("compliance_database_connections", "Connections to the database: in use by a statement, or idle.");
    describe_gauge!("compliance_core_queue_length", "Calls that wait for a statement, by queue.");
    let name = "compliance_database_connections_max";
    describe_gauge!(name, "Maximum number of connections to the database.");
    gauge!(name).set(f64::from(connections.most()));
    let name = "compliance_database_up";
    describe_gauge!(name, "Whether the database responds: 1 if it does.");
    on_render(gauge!(name), connections.measure(|pool| usize::from(pool.responds())));
    let name = "compliance_database_connections";
    on_render(gauge!(name, "state" => "in_use"), connections.measure(Pool::in_use));
    on_render(gauge!(name, "state" => "idle"), connections.measure(Pool::idle_count));
    if let Some(replicas) = replicas {
        let name = "compliance_replicas_in_use";
        describe_gauge!(name, "Replicas that serve reads now.");
        on_render(gauge!(name), replicas);
    }
}
